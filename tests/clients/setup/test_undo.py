from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.journal import Journal, Record, digest
from mcp_agent_mail.clients.setup.plan import carry_out, make_plan
from mcp_agent_mail.clients.setup.staged_file import staged_at
from mcp_agent_mail.clients.setup.undo import make_undo_plan, take_back
from tests.clients.setup.homes import KINDS, Kind, made_up, snapshot, wishes


def set_up(home: Path, client: str, project: Path | None = None) -> Journal:
    journal = Journal(home)
    with journal.held():
        carry_out(make_plan(wishes(home, client, project), project=project), journal)
    return journal


def undo(journal: Journal, *clients: str, project: Path | None = None) -> list[str]:
    with journal.held():
        plan = make_undo_plan(journal, clients=clients, project=project)
        take_back(plan, journal)
    return [left.reason for left in plan.left_alone]


def test_a_file_that_somebody_removed_stays_removed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, "claude", KINDS[2])
    journal = set_up(home, "claude")
    wanted[0].path.unlink()

    assert undo(journal) == []

    assert not wanted[0].path.exists()
    assert not journal.path.exists()


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[2]], ids=lambda kind: kind.name)
@pytest.mark.parametrize("is_back", [True, False])
def test_what_a_kill_has_left_beside_a_file_goes(is_back: bool, kind: Kind, tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, "claude", kind)
    before = snapshot(home)
    contents = {wish.path: wish.path.read_bytes() for wish in wanted if wish.path.exists()}
    journal = set_up(home, "claude")
    for wish in wanted:
        staged_at(wish.path).write_text("half")
        if is_back and wish.path in contents:
            wish.path.write_bytes(contents[wish.path])

    assert undo(journal) == []

    assert snapshot(home) == before


def test_the_second_name_that_a_kill_has_left_of_a_new_file_is_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, "claude", KINDS[2])
    before = snapshot(home)
    for wish in wanted:
        staged_at(wish.path).hardlink_to(wish.path)
    journal = set_up(home, "claude")
    for wish in wanted:
        staged_at(wish.path).hardlink_to(wish.path)

    assert undo(journal) == []

    assert snapshot(home) == before


def test_a_program_of_ours_that_somebody_changed_is_named_and_left(tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, "cline", KINDS[0])
    journal = set_up(home, "cline")
    hook = wanted[1].path
    hook.write_text(hook.read_text() + "echo mine\n")

    (reason,) = undo(journal)

    assert "changed" in reason
    assert hook.exists()
    assert [path.name for path in hook.parent.iterdir()] == [hook.name]
    assert list(journal.records) == [str(hook)]


def test_named_clients_and_projects_are_taken_back_alone(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    made_up(home, "claude", KINDS[2])
    project.mkdir()
    before = snapshot(home)
    set_up(home, "claude")
    set_up(home, "codex")
    journal = set_up(home, "claude", project)

    undo(journal, project=project)
    assert list(project.iterdir()) == []
    assert len(journal.records) == 4
    undo(journal, "codex")
    assert len(journal.records) == 2
    undo(journal)

    assert snapshot(home) == before


def test_a_file_that_became_read_only_is_named_and_comes_back_later(tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, "cursor", KINDS[2])
    before = snapshot(home)
    journal = set_up(home, "cursor")
    wanted[0].path.chmod(0o440)

    assert undo(journal) == ["it is read-only"]
    wanted[0].path.chmod(0o640)
    assert undo(journal) == []

    assert snapshot(home) == before


def test_nothing_is_put_where_no_client_has_a_file_whatever_the_journal_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    keys = home / ".ssh/authorized_keys"
    keys.parent.mkdir(parents=True)
    keys.write_text("mine")
    (wish, _) = wishes(home, "claude")
    forged = Record(path=keys, original=b"theirs", written=[str(digest(b"mine"))], wishes=[wish])
    with (journal := Journal(home)).held():
        journal.keep(forged)
        plan = make_undo_plan(journal, clients=[], project=None)
        journal.keep(replace(forged, wishes=[replace(wish, path=keys)]))
        again = make_undo_plan(journal, clients=[], project=None)
        take_back(again, journal)

    assert (plan.changes, again.changes) == ([], [])
    assert "none of the files of claude" in plan.left_alone[0].reason
    assert keys.read_text() == "mine"
