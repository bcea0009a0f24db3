"""Ten clients, twelve kinds of homes: what is added, what stays, and the way back to the very bytes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS
from mcp_agent_mail.clients.setup.edits.json_text import parse
from mcp_agent_mail.clients.setup.journal import Journal
from mcp_agent_mail.clients.setup.plan import Plan, carry_out, make_plan
from mcp_agent_mail.clients.setup.status import State, look_at_client
from mcp_agent_mail.clients.setup.undo import UndoPlan, make_undo_plan, take_back
from mcp_agent_mail.clients.setup.wishes import FileFormat, FileWish
from tests.clients.setup.homes import CASES, KINDS, SETTINGS, Kind, by_file, foreign, made_up, snapshot, wishes

JOURNAL = ".config/mcp-agent-mail/setup/journal.json"


def set_up(home: Path, wanted: list[FileWish]) -> Plan:
    plan = make_plan(wanted, project=None)
    journal = Journal(home)
    with journal.held():
        carry_out(plan, journal)
    return plan


def undo(home: Path, *clients: str) -> UndoPlan:
    journal = Journal(home)
    with journal.held():
        plan = make_undo_plan(journal, clients=clients, project=None)
        take_back(plan, journal)
    return plan


def values_of(wish: FileWish) -> Any:
    text = wish.path.read_bytes().decode("utf-8-sig")
    return tomllib.loads(text) if wish.file_format is FileFormat.TOML else parse(text).value


def theirs_in(values: Any, theirs: Any, path: str = "") -> list[str]:
    """Where something of others is missing or altered in `values`."""
    if isinstance(theirs, dict):
        return [
            fault
            for name, inner in theirs.items()
            for fault in (
                theirs_in(values[name], inner, f"{path}.{name}")
                if isinstance(values, dict) and name in values
                else [f"{path}.{name}"]
            )
        ]
    if isinstance(theirs, list) and isinstance(values, list):
        return [] if values[: len(theirs)] == theirs else [path]
    return [] if values == theirs else [path]


def kept_lines(before: bytes, after: bytes) -> bool:
    """Whether all lines are still there in order, a comma at their end aside."""
    rest = iter(line.rstrip(b",") for line in after.splitlines())
    return all(any(line.rstrip(b",") == other for other in rest) for line in before.splitlines())


@pytest.mark.parametrize(("client", "kind"), CASES, ids=lambda value: getattr(value, "name", value))
def test_a_home_is_set_up_and_taken_back_to_its_bytes(client: str, kind: Kind, tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, client, kind)
    before = snapshot(home)

    plan = make_plan(wanted, project=None)
    assert snapshot(home) == before
    done = set_up(home, wanted)
    after = snapshot(home)
    again = set_up(home, wanted)
    between = snapshot(home)
    state = look_at_client(client, wanted, has_token=True, project=None)
    back = undo(home)
    twice = undo(home)

    assert snapshot(home) == before
    assert between == after
    assert (twice.changes, twice.idle, twice.left_alone) == ([], [], [])
    if kind.is_refused:
        assert (plan.changes, again.changes, back.changes) == ([], [], [])
        assert {left.path for left in done.left_alone} == {wish.path for wish in wanted}
        assert all(left.reason for left in done.left_alone)
        assert after == before
        return
    assert (done.left_alone, again.left_alone, again.changes, back.left_alone) == ([], [], [], [])
    assert {change.target.path for change in done.changes} == {wish.path for wish in wanted}
    assert all("\n--- " in f"\n{change.diff()}" for change in plan.changes)
    assert state.state is State.INSTALLED


@pytest.mark.parametrize(
    ("client", "kind"),
    [
        (client, kind)
        for client, kind in CASES
        if kind.name not in ("absent", "empty", "tables") and not kind.is_refused
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_what_is_of_others_stays_in_its_lines(client: str, kind: Kind, tmp_path: Path) -> None:
    wanted = made_up(tmp_path / "home", client, kind)
    before = {wish.path: wish.path.read_bytes() for wish in wanted}

    set_up(tmp_path / "home", wanted)

    for wish in by_file(wanted).values():
        if wish.file_format is FileFormat.FILE:
            continue
        after = wish.path.read_bytes()
        assert kept_lines(before[wish.path], after), wish.path
        assert after.startswith(b"\xef\xbb\xbf") == before[wish.path].startswith(b"\xef\xbb\xbf")
        assert (b"\r\n" in after) == (b"\r\n" in before[wish.path])
        assert b"\r\n" not in after or after.count(b"\n") == after.count(b"\r\n")
        assert after.endswith(b"\n") == before[wish.path].endswith(b"\n")
        if wish.file_format is FileFormat.JSON:
            assert theirs_in(values_of(wish), foreign(wish)) == []
        if kind.name == "tabs" and wish.file_format is FileFormat.JSON:
            assert b"\n  " not in after


@pytest.mark.parametrize("client", CLIENTS)
def test_what_others_add_after_us_stays_when_ours_goes(client: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (kind,) = (kind for kind in KINDS if kind.name == "foreign entries")
    wanted = [wish for wish in made_up(home, client, kind) if wish.file_format is not FileFormat.FILE]
    before = {wish.path: wish.path.read_bytes() for wish in wanted}
    set_up(home, wanted)
    for path in before:
        text = path.read_text()
        added = text + "\n[later]\nx = 1\n" if path.suffix == ".toml" else text.replace("{", '{\n  "later": 1,', 1)
        path.write_text(added)

    back = undo(home)

    assert back.left_alone == []
    for path, content in before.items():
        text = content.decode()
        expected = text + "\n[later]\nx = 1\n" if path.suffix == ".toml" else text.replace("{", '{\n  "later": 1,', 1)
        assert path.read_text() == expected
    assert not (home / JOURNAL).exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_files_of_ours_that_others_wrote_into_keep_what_is_theirs(client: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = [wish for wish in made_up(home, client, KINDS[0]) if wish.file_format is FileFormat.JSON]
    set_up(home, wanted)
    for path in {wish.path for wish in wanted}:
        path.write_text(path.read_text().replace("{", '{\n  "later": 1,', 1))

    undo(home)

    for wish in wanted:
        held = json.loads(wish.path.read_text())
        assert held.pop("later") == 1
        # What the file has to say to be read at all goes with the last of ours, but not from under others.
        assert held in ({}, {"version": 1})


def test_one_client_goes_and_another_in_the_same_file_stays(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    home.mkdir()
    both = [*wishes(home, "claude", project), *wishes(home, "copilot", project)]
    alone = tmp_path / "alone"
    alone.mkdir()
    journal = Journal(home)
    with journal.held():
        carry_out(make_plan(both, project=project), journal)

    with journal.held():
        take_back(make_undo_plan(journal, clients=["claude"], project=project), journal)

    entry = json.loads((project / ".mcp.json").read_text())["mcpServers"]["agent-mail"]
    assert (entry["url"], entry["tools"]) == (SETTINGS.url, ["*"])
    assert not (project / ".claude").exists()
    with journal.held():
        take_back(make_undo_plan(journal, clients=[], project=project), journal)
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_drift_is_found_with_its_line(client: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, client, KINDS[0])
    set_up(home, wanted)
    changed = {}
    for path in dict.fromkeys(wish.path for wish in wanted):
        lines = path.read_text().split("\n")
        at = next(at for at, line in enumerate(lines) if SETTINGS.url in line or SETTINGS.am in line)
        lines[at] = lines[at].replace(SETTINGS.url, "http://elsewhere/mcp").replace(SETTINGS.am, "/old/am")
        path.write_text("\n".join(lines))
        changed[path] = at + 1

    state = look_at_client(client, wanted, has_token=True, project=None)

    assert state.state is State.DRIFTED
    found = {file.path: [one.line for one in file.differences] for file in state.files if file.state is State.DRIFTED}
    assert set(found) == set(changed)
    for path, line in changed.items():
        (told,) = found[path]
        assert told is not None
        # A hook is named by the line where its item begins.
        assert line - 6 <= told <= line


def test_a_file_that_others_change_meanwhile_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, "cursor", KINDS[2])
    plan = make_plan(wanted, project=None)
    path = plan.changes[0].target.path
    path.write_text(path.read_text() + "\n")
    before = path.read_bytes()

    journal = Journal(home)
    with journal.held():
        carry_out(plan, journal)

    assert path.read_bytes() == before
    assert [left.path for left in plan.left_alone] == [path]
    assert str(path) not in journal.records
