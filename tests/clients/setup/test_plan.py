from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.journal import Journal
from mcp_agent_mail.clients.setup.plan import carry_out, make_plan
from mcp_agent_mail.clients.setup.undo import make_undo_plan, take_back
from mcp_agent_mail.core.failpoints import FailPoint
from tests.clients.setup.homes import KINDS, made_up, snapshot, wishes


def test_one_file_at_fault_keeps_no_other_from_being_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, "claude", KINDS[0])
    wanted[0].path.write_text('{\n  "mcpServers": 1\n}')

    plan = make_plan(wanted, project=None)
    with (journal := Journal(home)).held():
        carry_out(plan, journal)

    assert [(left.path, left.line) for left in plan.left_alone] == [(wanted[0].path, 2)]
    assert [change.target.path for change in plan.changes] == [wanted[1].path]
    assert wanted[1].path.exists()


def test_a_disk_that_refuses_leaves_the_file_and_no_word_in_the_journal(tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, "cursor", KINDS[2])
    before = snapshot(home)
    plan = make_plan(wanted, project=None)

    def full(point: FailPoint) -> None:
        if point is FailPoint.SETUP_STAGED:
            raise OSError(28, "No space left on device")

    with (journal := Journal(home)).held():
        carry_out(plan, journal, full)

    assert snapshot(home) == before
    assert [left.reason for left in plan.left_alone] == ["it cannot be written: No space left on device"] * 2


def test_the_journal_knows_of_a_file_before_it_is_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, "codex", KINDS[2])
    seen: list[tuple[str, list[str], bool]] = []

    def look(point: FailPoint) -> None:
        journal = Journal(home)
        journal.read()
        newest = list(journal.records.values())[-1]
        seen.append(
            (
                point.value,
                sorted(Path(path).name for path in journal.records),
                newest.path.read_bytes() == newest.original,
            )
        )

    with (journal := Journal(home)).held():
        carry_out(make_plan(wanted, project=None), journal, look)

    first, both = ["config.toml"], ["config.toml", "hooks.json"]
    assert seen == [
        ("setup-noted", first, True),
        ("setup-staged", first, True),
        ("setup-named", first, False),
        ("setup-written", first, False),
        ("setup-noted", both, True),
        ("setup-staged", both, True),
        ("setup-named", both, False),
        ("setup-written", both, False),
    ]


def test_a_diff_says_that_a_file_comes_and_that_no_line_end_follows(tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, "codex", KINDS[0])
    wanted[1].path.parent.mkdir()
    wanted[1].path.write_text("{}")

    new, changed = [change.diff() for change in make_plan(wanted, project=None).changes]

    assert new.startswith(f"--- /dev/null\n+++ {wanted[0].path}\n")
    assert changed.startswith(f"--- {wanted[1].path}\n+++ {wanted[1].path}\n")
    assert "-{}\n\\ No newline at end of file\n" in changed


def test_a_newer_wish_after_changes_of_others_keeps_their_changes_on_the_way_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    wanted = made_up(home, "cursor", KINDS[2])[:1]
    before = wanted[0].path.read_text()
    with (journal := Journal(home)).held():
        carry_out(make_plan(wanted, project=None), journal)
    wanted[0].path.write_text(wanted[0].path.read_text().replace("dünkel", "light"))
    entry = wanted[0].entries[0]
    newer = [replace(wanted[0], entries=[replace(entry, value={**entry.value, "url": "http://newer/mcp"})])]

    with journal.held():
        carry_out(make_plan(newer, project=None), journal)
    assert "http://newer/mcp" in wanted[0].path.read_text()
    with journal.held():
        take_back(make_undo_plan(journal, clients=[], project=None), journal)

    assert wanted[0].path.read_text() == before.replace("dünkel", "light")


@pytest.mark.parametrize("leads_to", [".git/hooks/post-checkout", ".husky/post-checkout", ".husky/there"])
def test_a_program_is_written_where_it_should_be_and_nowhere_else(leads_to: str, tmp_path: Path) -> None:
    project = tmp_path / "app"
    (project / ".clinerules/hooks").mkdir(parents=True)
    for folder in (".git/hooks", ".husky"):
        (project / folder).mkdir(parents=True)
    (project / ".husky/there").write_text("")
    (project / ".clinerules/hooks/PreToolUse").symlink_to(project / leads_to)
    before = snapshot(project)

    plan = make_plan(
        [wish for wish in wishes(tmp_path, "cline", project) if wish.path.name == "PreToolUse"], project=project
    )

    assert plan.changes == []
    assert [left.path.name for left in plan.left_alone] == ["PreToolUse"]
    assert snapshot(project) == before
