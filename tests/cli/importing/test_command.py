"""`am import`: a report first, then everything once, whether a server runs or not, and the source as it was."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from mcp_agent_mail.cli.importing.command import _ended_in_order
from tests.cli.shell import Shell
from tests.facades.importers.mcp_store import make_mcp_store
from tests.facades.importers.small_sources import make_agentmail, make_claude_mailbox, make_postal
from tests.facades.importers.untouched import state_of
from tests.served import pause

_MAKERS: dict[str, Callable[[Path], Path]] = {
    "postal": lambda folder: make_postal(folder / "messages.sqlite"),
    "agentmail": lambda folder: make_agentmail(folder / "repo"),
    "claude-mailbox": lambda folder: make_claude_mailbox(folder / "mailbox.db"),
    "mcp-agent-mail": lambda folder: make_mcp_store(folder / "older").database.parent,
}


@pytest.mark.parametrize("system", _MAKERS)
def test_a_dry_run_changes_nothing_the_next_run_takes_all_and_a_third_one_nothing(
    system: str, at_stopped: Shell, tmp_path: Path
) -> None:
    place = tmp_path / "old"
    place.mkdir()
    source = _MAKERS[system](place)
    into = ["--archive", str(source / "archive")] if system == "mcp-agent-mail" else []
    before = state_of(place)

    dry, applied, again = (
        at_stopped.am("import", system, str(source), *into, *more, "--json").json()
        for more in ((), ("--apply",), ("--apply",))
    )

    assert state_of(place) == before
    assert (dry["applied"], applied["applied"]) == (False, True)
    assert {kind: one["added"] for kind, one in dry["counts"].items()} == {
        kind: one["added"] for kind, one in applied["counts"].items()
    }
    assert applied["counts"]["messages"]["added"] > 30
    for kind, one in again["counts"].items():
        assert (one["added"], one["known"]) == (0, applied["counts"][kind]["added"] + applied["counts"][kind]["known"])


def test_without_a_server_or_beside_one_the_same_comes_in(at_post: Shell, tmp_path: Path) -> None:
    source = make_postal(tmp_path / "messages.sqlite", messages=9, seed=5)

    into = ("--project", str(tmp_path / "mine"), "--apply")
    report = at_post.am("import", "postal", str(source), *into, "--json").json()

    assert report["counts"]["messages"]["added"] == 9
    assert report["counts"]["projects"]["added"] == 1
    shown = at_post.am("projects", "show", str(tmp_path / "mine")).out
    assert "claude-code\tpostal" in shown


def test_a_pipe_gets_a_line_for_each_count_name_reason_and_note(at_stopped: Shell, tmp_path: Path) -> None:
    made = make_mcp_store(tmp_path / "older")

    lines = at_stopped.am("import", "mcp-agent-mail", str(made.database)).lines()

    words = [line[0] for line in lines]
    assert words[:3] == ["system", "source", "applied"]
    assert list(dict.fromkeys(words[3:])) == ["count", "name", "left", "note"]
    assert ["count", "products", "1", "1", "0", "0", "0"] in lines


def test_one_project_of_several_is_taken_alone(at_stopped: Shell, tmp_path: Path) -> None:
    made = make_mcp_store(tmp_path / "older")

    report = at_stopped.am(
        "import", "mcp-agent-mail", str(made.database), "--project", "/data/web", "--apply", "--json"
    ).json()

    assert report["counts"]["projects"]["added"] == 1
    projects = at_stopped.am("projects", "list", "--json").json()
    assert [one["human_key"] for one in projects if one["human_key"].startswith("/data/")] == ["/data/web"]


@pytest.mark.parametrize("system", ["postal", "claude-mailbox", "mcp-agent-mail"])
def test_what_is_no_such_store_is_refused_with_what_was_found_without_any_server(
    system: str, shell: Shell, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "notes.db")) as connection:
        connection.execute("CREATE TABLE notes (text)")

    refused = shell.am("import", system, "notes.db")

    assert refused.code == 1
    assert "it has notes" in refused.err
    assert refused.out == ""


def test_what_is_not_there_is_refused(shell: Shell) -> None:
    for system in _MAKERS:
        refused = shell.am("import", system, "nowhere")

        assert refused.code == 1
        assert "nowhere cannot be read" in refused.err
        assert "Look at the path" in refused.err


def test_a_path_to_something_else_is_no_case_for_the_tools_of_its_system(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "zero").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("text")
    (tmp_path / "damaged").write_bytes(b"SQLite format 3\0" + b"x" * 4_000)

    hints = {name: shell.am("import", "postal", name).err for name in ("text", "zero", "folder", "link", "damaged")}

    assert {name: "Look at the path" in hint for name, hint in hints.items()} == {
        "text": True,
        "zero": True,
        "folder": True,
        "link": True,
        "damaged": False,
    }
    assert "with the tools of its own system" in hints["damaged"]


def test_one_that_is_ended_leaves_no_copy_of_the_source(tmp_path: Path) -> None:
    path, temporary = make_postal(tmp_path / "messages.sqlite", messages=20_000), tmp_path / "temporary"
    temporary.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "STORAGE_ROOT": str(tmp_path / "store")}
    process = subprocess.Popen(
        [sys.executable, "-m", "mcp_agent_mail", "import", "postal", str(path), "--apply"],
        env={**environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    for _ in range(3_000):
        if any(temporary.glob("am-import-*/source.sqlite3")):
            break
        pause()
    process.terminate()

    assert process.wait(60) == 128 + signal.SIGTERM
    assert list(temporary.glob("am-import-*")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_while_sqlite_calls_us_ends_the_command_as_any_other(number: signal.Signals) -> None:
    before = signal.getsignal(number)

    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("interrupted", 0, lambda: os.kill(os.getpid(), number))
        with pytest.raises((SystemExit, KeyboardInterrupt)) as ended, _ended_in_order():
            connection.execute("SELECT interrupted()")

    assert ended.type is (KeyboardInterrupt if number == signal.SIGINT else SystemExit)
    assert getattr(ended.value, "code", None) in (None, 128 + number)
    assert signal.getsignal(number) == before


def test_what_the_parent_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with _ended_in_order():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        assert signal.signal(signal.SIGHUP, before) == signal.SIG_IGN


def test_a_signal_that_was_swallowed_where_it_came_ends_the_command_all_the_same() -> None:
    with pytest.raises(SystemExit) as ended, _ended_in_order(), suppress(SystemExit):
        os.kill(os.getpid(), signal.SIGTERM)

    assert ended.value.code == 128 + signal.SIGTERM
