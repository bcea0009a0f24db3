"""A dry run is the run itself over a copy that is thrown away: it says what the run says, and leaves nothing behind."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.importing import command
from tests.cli.shell import Shell
from tests.facades.importers.mcp_store import make_mcp_store
from tests.facades.importers.small_sources import make_agentmail, make_claude_mailbox, make_postal

AGENT = "INSERT INTO agents VALUES (?, 1, ?, 'codex', 'gpt', 't', ?, ?, 'auto', 'auto', NULL)"
LEASE = "INSERT INTO file_reservations VALUES (?, 1, ?, ?, 1, 'r', '2026-11-27 10:00:00', '2099-01-01 00:00:00', NULL)"
MAIL = "INSERT INTO messages VALUES (?, 1, 1, NULL, NULL, 's', 'b', 'normal', 0, '2026-11-27 10:00:00.000000', ?)"
WHEN = "2026-11-27 09:00:00.000000"
PICTURE = '[{"name": "a.txt", "data_base64": "QUJD"}, {"name": "b.txt", "data_base64": "QUJD"}]'


def biting(folder: Path) -> list[str]:
    """With all that generators have, and what meets itself: leases, names, equal attachments."""
    made = make_mcp_store(folder / "older")
    with closing(sqlite3.connect(made.database)) as connection, connection:
        for number, name in ((9_001, "Meeting One"), (9_002, "MEETING ONE"), (9_003, "Meeting-One"), (9_004, "x!")):
            connection.execute(AGENT, (number, name, WHEN, WHEN))
        for number, (holder, pattern) in enumerate(((9_001, "met/*.py"), (9_003, "met/a.py"), (9_001, "met/*.py"))):
            connection.execute(LEASE, (9_000 + number, holder, pattern))
        connection.execute(MAIL, (900_001, PICTURE))
        connection.execute("INSERT INTO message_recipients VALUES (900001, 9001, 'to', NULL, NULL)")
    return ["mcp-agent-mail", str(made.database), "--archive", str(made.archive)]


SOURCES: dict[str, Callable[[Path], list[str]]] = {
    "postal": lambda folder: ["postal", str(make_postal(folder / "messages.sqlite"))],
    "agentmail": lambda folder: ["agentmail", str(make_agentmail(folder / "repo"))],
    "claude-mailbox": lambda folder: ["claude-mailbox", str(make_claude_mailbox(folder / "mailbox.db"))],
    "mcp-agent-mail": biting,
}


def told(report: dict[str, Any]) -> dict[str, Any]:
    """But for what is drawn: the names that are made."""
    names = [one | {"agent": None} for one in report["names"]]
    return report | {"applied": None, "names": names}


def state_of(shell: Shell) -> tuple[list[str], list[Any]]:
    root = shell.context().storage_root
    with closing(sqlite3.connect(root / "mail.sqlite3")) as connection:
        own = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%fts%'"
        tables = [name for (name,) in connection.execute(own)]
        counts = [connection.execute(f"SELECT count(*) FROM '{name}'").fetchone() for name in sorted(tables)]
    return sorted(str(one) for one in root.rglob("*") if ".sqlite3" not in one.name), counts


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.mark.parametrize("system", SOURCES)
def test_a_dry_run_says_what_the_run_says(system: str, at_stopped: Shell, tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "old").mkdir()
    source = SOURCES[system](tmp_path / "old")
    before = state_of(at_stopped)

    dry = at_stopped.am("import", *source, "--json").json()
    left = (list(temporary.iterdir()), state_of(at_stopped))
    applied = at_stopped.am("import", *source, "--apply", "--json").json()
    dry_again = at_stopped.am("import", *source, "--json").json()
    again = at_stopped.am("import", *source, "--apply", "--json").json()

    assert (dry["applied"], applied["applied"]) == (False, True)
    assert told(dry) == told(applied)
    assert left == ([], before)
    assert told(dry_again) == told(again)


def test_beside_a_server_it_is_the_same(at_post: Shell, tmp_path: Path) -> None:
    source = [*biting(tmp_path), "--project", "/data/api"]

    dry = at_post.am("import", *source, "--json").json()
    applied = at_post.am("import", *source, "--apply", "--json").json()

    assert told(dry) == told(applied)
    assert [one["why"] for one in dry["left"] if one["kind"] == "leases"]


def test_into_a_project_that_was_set_aside_it_is_refused_as_the_run_is(at_stopped: Shell, tmp_path: Path) -> None:
    source = make_postal(tmp_path / "messages.sqlite", messages=5)
    at_stopped.call("ensure_project", human_key="/code/aside")
    at_stopped.am("projects", "archive", "/code/aside")

    dry = at_stopped.am("import", "postal", str(source), "--project", "/code/aside")
    applied = at_stopped.am("import", "postal", str(source), "--project", "/code/aside", "--apply")

    assert (dry.code, dry.err) == (applied.code, applied.err)
    assert dry.code != 0


def test_where_no_copy_can_be_made_it_counts_and_says_so(
    at_stopped: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_postal(tmp_path / "messages.sqlite", messages=5)
    monkeypatch.setattr("mcp_agent_mail.cli.gateway.store_copy._SPARE", 1 << 60)

    dry = at_stopped.am("import", "postal", str(source), "--json").json()

    assert dry["counts"]["messages"]["added"] == 5
    assert dry["notes"][-1] == command._ONLY_COUNTED
