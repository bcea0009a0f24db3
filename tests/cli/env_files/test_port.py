from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Post
from tests.cli.shell import Shell
from tests.served import Served


@pytest.fixture
def path(shell: Shell) -> Path:
    shell.unset("HTTP_PORT")
    return shell.home / ".config" / "mcp-agent-mail" / ".env"


def test_the_port_is_shown_with_what_says_so(shell: Shell, path: Path) -> None:
    assert shell.am("config", "show-port").out == "8765\tdefault\n"

    assert shell.am("config", "set-port", "9000").code == 0
    assert shell.am("config", "show-port", "--json").json() == {"port": 9000, "source": f"{path}:{_line_of(path)}"}

    shell.set(HTTP_PORT="7000")
    assert shell.am("config", "show-port").out == "7000\tenvironment\n"


def _line_of(path: Path) -> int:
    return path.read_text().splitlines().index("HTTP_PORT=9000") + 1


def test_without_a_file_one_is_written_as_by_init_and_then_changed(shell: Shell, path: Path) -> None:
    made = shell.am("config", "set-port", "9000", "--json").json()
    text = path.read_text()
    changed = shell.am("config", "set-port", "9001", "--json").json()

    assert (made, changed) == (
        {"port": 9000, "path": str(path), "created": True},
        {"port": 9001, "path": str(path), "created": False},
    )
    assert path.read_text() == text.replace("\nHTTP_PORT=9000\n", "\nHTTP_PORT=9001\n")
    assert path.stat().st_mode & 0o777 == 0o600


def test_who_has_the_port_now_is_said(shell: Shell, path: Path, tmp_path: Path) -> None:
    with Served(tmp_path / "other", HOME=str(tmp_path), HTTP_BEARER_TOKEN="theirs" * 8) as server:
        theirs = shell.am("config", "set-port", str(server.port))
        asked = [shell.am(*words) for words in (("token", "list"), ("token", "create"), ("top", "--once"), ("status",))]
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        taken = shell.am("config", "set-port", str(stranger.getsockname()[1]))
    free = shell.am("config", "set-port", str(server.port))

    assert (theirs.code, taken.code) == (0, 0)
    assert f"An agent-mail server of another store listens on port {server.port} now" in theirs.err
    assert "Another program listens on port" in taken.err
    assert free.err == ""
    assert path.exists()
    for ended in asked:
        told = " ".join((ended.out + ended.err).split())
        assert "am config set-port PORT" in told
        assert f"AGENT_MAIL_URL=http://127.0.0.1:{server.port}" in told
        assert "(am token create)" not in told


def test_what_stands_against_the_line_is_said(shell: Shell, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("HTTP_PORT=1\nHTTP_PORT=2\n")
    shell.set(HTTP_PORT="7000")

    done = shell.am("config", "set-port", "9000")

    assert path.read_text() == "HTTP_PORT=1\nHTTP_PORT=9000\n"
    assert "HTTP_PORT=7000 in the environment beats the file" in done.err
    assert "It stands more than once; line 1 does not count." in done.err


def test_a_link_to_nothing_is_not_said_to_be_set(shell: Shell, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.symlink_to("nowhere")

    done = shell.am("config", "set-port", "9000")

    assert (done.code, done.out) == (1, "")
    assert str(path) in done.err
    assert [one.name for one in path.parent.iterdir()] == [".env"]


_AT_ONCE = """
import sys
from pathlib import Path
from mcp_agent_mail.cli.env_files.port import _set
path, own = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for nth in range(10):
    _set(path, 9000 + nth)
    text = path.read_text()
    assert text.endswith("# whole\\n") if own == "kept" else text.count("\\nHTTP_PORT=") == 1, text
"""
"""As so many commands one after the other: the start of an interpreter between them would hide what they do."""


@pytest.mark.parametrize(("many", "own"), [(2, "kept"), (8, "kept"), (8, "none")])
def test_of_many_at_once_each_is_done_and_the_file_is_always_a_whole_one(path: Path, many: int, own: str) -> None:
    path.parent.mkdir(parents=True)
    if own == "kept":
        path.write_text(f"HTTP_PORT=1\n{'#' * 100_000}\n# whole\n")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _AT_ONCE, str(path), own],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(many)
    ]

    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    ended = []
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        _, told = writer.communicate(timeout=120)
        ended.append((writer.returncode, told))

    assert ended == [(0, "")] * many
    assert "\nHTTP_PORT=9009\n" in f"\n{path.read_text()}"
    assert [one.name for one in path.parent.iterdir()] == [".env"]


@pytest.mark.usefixtures("path")
def test_a_running_server_keeps_its_port(at_post: Shell, post: Post) -> None:
    done = at_post.am("config", "set-port", "9000")

    assert done.code == 0
    assert f"The server at http://127.0.0.1:{post.server.port} keeps its port" in done.err


def test_a_port_that_was_a_mistake_is_mended_and_mistakes_elsewhere_are_told_of(shell: Shell, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("HTTP_PORT=none\nLOG_LEVEL=LOUD\n")

    done = shell.am("config", "set-port", "9000")

    assert (done.code, path.read_text()) == (0, "HTTP_PORT=9000\nLOG_LEVEL=LOUD\n")
    assert "1 of the settings cannot be used" in done.err


def test_the_port_of_a_door_is_refused_and_nothing_is_changed(shell: Shell, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("POSTAL_ENABLED=true\nPOSTAL_PORT=7777\n")

    done = shell.am("config", "set-port", "7777")

    assert done.code == 78
    assert "HTTP_PORT and POSTAL_PORT both name it." in done.err
    assert path.read_text() == "POSTAL_ENABLED=true\nPOSTAL_PORT=7777\n"


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_what_is_no_port_is_a_mistake_of_the_command_line(shell: Shell, path: Path, port: str) -> None:
    assert shell.am("config", "set-port", "--", port).code == 2
    assert not path.exists()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("command", ["show-port", "set-port 9000", "check"])
def test_a_pipe_in_the_place_of_the_file_is_refused_with_the_next_step(shell: Shell, command: str) -> None:
    pipe = shell.home / "pipe"
    os.mkfifo(pipe)
    shell.set(AGENT_MAIL_ENV_FILE=str(pipe))

    done = shell.am("config", *command.split())

    assert done.code in (1, 78)
    assert str(pipe) in done.err
    assert "ame a file" in done.err
    assert pipe.is_fifo()


def test_the_null_device_is_no_file_and_stays(shell: Shell) -> None:
    shell.unset("HTTP_PORT")
    shell.set(AGENT_MAIL_ENV_FILE=os.devnull)

    assert shell.am("config", "show-port").out == "8765\tdefault\n"
    assert shell.am("config", "set-port", "9000").code == 1


@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_that_stands_where_the_new_file_is_written_is_named(
    shell: Shell, path: Path, *, is_there: bool
) -> None:
    path.parent.mkdir(parents=True)
    if is_there:
        path.write_text("HTTP_PORT=8000\n")
    in_the_way = path.with_name("..env.agent-mail-new")
    in_the_way.mkdir()

    done = shell.am("config", "set-port", "9000")

    assert done.code == 1
    assert "Errno" not in done.err
    assert f"the folder {in_the_way} is in the way" in done.err
    assert in_the_way.is_dir()
    assert path.exists() == is_there
    assert not is_there or path.read_text() == "HTTP_PORT=8000\n"
