"""What a session's hooks remember: private, bounded, and believed only when it is whole."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_agent_mail.clients.hook.session_file import (
    MAX_FILE_BYTES,
    MAX_FILES,
    SessionFile,
    plain_name,
    state_folder,
)


def test_it_is_found_again_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "states"
    SessionFile(str(folder), "claude-1").change(lambda state: state.update(agent="BlueLake"))

    assert SessionFile(str(folder), "claude-1").read() == {"agent": "BlueLake"}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "claude-1.json").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "claude-1.json"]


_TOO_LARGE = b'{"a": "' + b"x" * MAX_FILE_BYTES + b'"}'


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 9_000, _TOO_LARGE])
def test_a_broken_file_is_none_and_is_replaced(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_bytes(content)
    file = SessionFile(str(tmp_path), "s")

    assert file.read() == {}
    assert file.change(lambda state: state.update(a=1)) == {"a": 1}
    assert json.loads((tmp_path / "s.json").read_text()) == {"a": 1}


@pytest.mark.parametrize(
    "content",
    [
        '{"asking":5}',
        '{"asking":{"a":1}}',
        '{"agent":["BlueLake"]}',
        '{"project":5}',
        '{"said":"x"}',
        '{"said":true}',
        '{"said":-1}',
        '{"said_at":1e999}',
        '{"turned":NaN}',
        '{"woken_at":"x"}',
        '{"row":1.5}',
        '{"must":1}',
        '{"reprimed":"startup"}',
        '{"reprimed":["startup",NaN,[]]}',
        '{"watcher":7}',
    ],
)
def test_a_value_of_another_type_makes_the_file_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(content)

    assert SessionFile(str(tmp_path), "s").read() == {}


def test_what_hooks_write_is_read(tmp_path: Path) -> None:
    state = {
        "agent": "BlueLake",
        "project": None,
        "asking": [[7, 1.5]],
        "reprimed": ["startup", 1.5],
        "compacted": True,
        "must": False,
        "said": 3,
        "said_at": 1.5,
        "row": 1,
        "turned": 2.5,
        "woken_at": 1,
        "watcher": [7, 1.5],
    }
    file = SessionFile(str(tmp_path), "s")
    file.change(lambda known: known.update(state))

    assert SessionFile(str(tmp_path), "s").read() == state


def test_a_link_is_not_followed_to_read_nor_to_write(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text('{"agent": "Evil"}')
    (tmp_path / "s.json").symlink_to(elsewhere)
    file = SessionFile(str(tmp_path), "s")

    assert file.read() == {}
    file.change(lambda state: state.update(a=1))

    assert elsewhere.read_text() == '{"agent": "Evil"}'
    assert file.read() == {"a": 1}


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.json")

    assert SessionFile(str(tmp_path), "s").read() == {}


def test_what_is_too_large_is_not_written(tmp_path: Path) -> None:
    file = SessionFile(str(tmp_path), "s")
    file.change(lambda state: state.update(a=1))

    file.change(lambda state: state.update(b="x" * MAX_FILE_BYTES))

    assert file.read() == {"a": 1}


def test_so_many_sessions_are_kept_and_the_oldest_go(tmp_path: Path) -> None:
    for number in range(MAX_FILES):
        path = tmp_path / f"old-{number}.json"
        path.write_text("{}")
        os.utime(path, (number, number))

    SessionFile(str(tmp_path), "new").change(lambda state: state.update(a=1))

    left = {path.name for path in tmp_path.iterdir()}
    assert len(left) <= MAX_FILES
    assert {"new.json", ".lock", f"old-{MAX_FILES - 1}.json"} <= left
    assert "old-0.json" not in left


def test_files_of_before_the_clock_was_set_back_go_first_and_what_is_written_stays(tmp_path: Path) -> None:
    ahead = time.time() + 86_400
    for number in range(MAX_FILES):
        path = tmp_path / f"ahead-{number}.json"
        path.write_text("{}")
        os.utime(path, (ahead, ahead))
    living = [SessionFile(str(tmp_path), f"living-{number}") for number in range(10)]

    for file in living:
        file.change(lambda state: state.update(agent="BlueLake"))

    assert [file.read() for file in living] == [{"agent": "BlueLake"}] * len(living)
    assert len(list(tmp_path.iterdir())) <= MAX_FILES


def test_without_a_folder_it_lasts_as_long_as_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    file = SessionFile(str(tmp_path / "file" / "below"), "s")

    file.change(lambda state: state.update(a=1))

    assert file.read() == {"a": 1}
    file.forget()


def test_on_a_full_disk_the_file_stays_as_it_was(tmp_path: Path) -> None:
    """A limit of a file's size does what a full disk does: a part is written, and the next write fails."""
    SessionFile(str(tmp_path), "s").change(lambda state: state.update(agent="BlueLake"))
    program = (
        "import resource, sys; from mcp_agent_mail.clients.hook import session_file\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))\n"
        "f = session_file.SessionFile(sys.argv[1], 's')\n"
        "f.change(lambda state: state.update(more='x' * 100))\n"
        "sys.exit(f.read() != {'agent': 'BlueLake', 'more': 'x' * 100})\n"
    )

    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)

    assert done.returncode == 0
    assert SessionFile(str(tmp_path), "s").read() == {"agent": "BlueLake"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "s.json"]


def test_without_the_lock_each_hook_still_leaves_a_whole_file(tmp_path: Path) -> None:
    """Somebody holds the lock for long: what another wrote in between may be lost, and nothing else is."""
    SessionFile(str(tmp_path), "s").change(lambda state: state.update(agent="BlueLake"))
    program = (
        "import sys; from mcp_agent_mail.clients.hook import session_file\n"
        "session_file._LOCK_TRIES = 1\n"
        "f = session_file.SessionFile(sys.argv[1], 's')\n"
        "for n in range(100):\n"
        "    state = f.change(lambda state: state.update({sys.argv[2]: n + 1, 'pad': 'x' * 4_000}))\n"
        "    assert state[sys.argv[2]] == n + 1\n"
        "    assert f.read()['agent'] == 'BlueLake'\n"
    )
    holding = os.open(tmp_path / ".lock", os.O_RDWR)
    try:
        fcntl.flock(holding, fcntl.LOCK_EX)
        running = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in "abc"]
        assert [one.wait(60) for one in running] == [0, 0, 0]
    finally:
        os.close(holding)

    left = SessionFile(str(tmp_path), "s").read()
    assert left["agent"] == "BlueLake"
    assert 100 in [left.get(name) for name in "abc"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "s.json"]


def test_hooks_of_one_session_change_it_one_after_the_other(tmp_path: Path) -> None:
    program = (
        "import sys; from mcp_agent_mail.clients.hook import session_file\n"
        "session_file._LOCK_TRIES = 20_000  # However busy the machine is.\n"
        "f = session_file.SessionFile(sys.argv[1], 's')\n"
        "for _ in range(50): f.change(lambda state: state.update(n=state.get('n', 0) + 1))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(3)]

    assert [one.wait(60) for one in running] == [0, 0, 0]
    assert SessionFile(str(tmp_path), "s").read() == {"n": 150}


def test_the_folder_is_where_xdg_says_unless_that_is_relative() -> None:
    assert state_folder({"HOME": "/h", "XDG_STATE_HOME": "/s"}) == "/s/mcp-agent-mail/hooks"
    assert state_folder({"HOME": "/h", "XDG_STATE_HOME": "s"}) == "/h/.local/state/mcp-agent-mail/hooks"


def test_a_name_is_a_files_name_whatever_the_session_is_called() -> None:
    odd = ["../../etc/passwd", "a/b", "", ".", "x" * 200, "a\0b", "\ud800", "ü"]
    names = [plain_name("claude", session) for session in odd]

    assert plain_name("claude", "0a-1B_c") == "claude-0a-1B_c"
    assert len(set(names)) == len(odd)
    assert all("/" not in name and "\0" not in name and len(name) <= 100 for name in names)
    assert all(name.startswith("claude.") for name in names if name != "claude-")
