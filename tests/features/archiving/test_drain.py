"""From the outbox into Git, exactly once, whatever happens in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.recovery import WINDOW_S
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.layout import project_snapshot
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.drain import SETTLE, Drain
from mcp_agent_mail.features.archiving.protocol import Committed
from tests.archive_harness import ArchiveHarness, git, open_archive_harness, sealed_seqs

CRASHES = [FailPoint.BEFORE_IMPORT, FailPoint.AFTER_IMPORT, FailPoint.BEFORE_MARK, FailPoint.INDEX_REFRESH]


def backlog(harness: ArchiveHarness) -> int:
    return harness.tx.outbox.backlog(harness.clock()).pending_events


def fill(harness: ArchiveHarness, path: str = "/code/app") -> Project:
    """A project with mail and receipts: more than one kind of file, and files written more than once."""
    project = harness.add_project(path)
    blue, red, green = (harness.add_agent(project, name) for name in ("BlueLake", "RedStone", "GreenField"))
    message = harness.send(blue, [red], bcc=[green])
    harness.read(project, red, message)
    harness.describe(project, red, "Reads")
    harness.send(red, [blue], subject="Answer")
    return project


def settle(harness: ArchiveHarness, drain: Drain) -> None:
    """Let the pause pass that the first event after a quiet time waits."""
    drain.step()
    harness.clock.step(SETTLE / SECOND)


@pytest.mark.parametrize("point", CRASHES)
def test_killed_anywhere_every_event_is_in_git_exactly_once(harness: ArchiveHarness, point: FailPoint) -> None:
    project = fill(harness)
    harness.archive_until_killed(point)
    sender, recipients = _pair(harness, project)
    harness.read(project, recipients[0], harness.send(sender, recipients, subject="Meanwhile"))

    assert harness.archive() == 0

    commits = git(harness.path(project), "log", "--reverse", "--format=%H", "main").split()
    known = harness.connection.execute("SELECT hexsha, last_seq FROM commits ORDER BY last_seq").fetchall()
    assert known == list(zip(commits, sealed_seqs(harness.path(project)), strict=True))
    assert backlog(harness) == 0
    assert harness.verify().findings == ()
    assert git(harness.path(project), "status", "--porcelain") == ""


def _pair(harness: ArchiveHarness, project: Project) -> tuple[Agent, list[Agent]]:
    agents = {agent.name: agent for agent in harness.tx.agents.list_(project.id, include_retired=True, limit=10)}
    return agents["BlueLake"], [agents["RedStone"]]


def test_events_in_git_that_nobody_marked_are_marked_with_their_own_commits(harness: ArchiveHarness) -> None:
    project = fill(harness)
    first = harness.tx.outbox.highest_seq()
    harness.unmarked = True
    with harness.drain() as drain:
        drain.flush(Micros(harness.clock() + 60 * SECOND))
        later = harness.send(*_pair(harness, project), subject="Second batch")
        drain.flush(Micros(harness.clock() + 60 * SECOND))
    harness.unmarked = False

    harness.archive()

    newest, oldest = git(harness.path(project), "log", "--format=%H", "main").split()
    assert harness.commit_of_message(project, later.id) == (newest, harness.tx.outbox.highest_seq())
    assert harness.commit_of_message(project, MessageId(1)) == (oldest, first)
    assert len(sealed_seqs(harness.path(project))) == 2


def test_marked_events_lose_their_snapshot_and_keep_their_commit(harness: ArchiveHarness) -> None:
    project = fill(harness)

    harness.archive()

    rows = harness.connection.execute("SELECT count(*), count(snapshot), count(commit_id) FROM outbox")
    total, with_snapshot, with_commit = rows.fetchone()
    assert (with_snapshot, with_commit) == (0, total)
    last = harness.tx.outbox.last_commit(project.id)
    assert last is not None
    assert last.hexsha == git(harness.path(project), "rev-parse", "main").strip()


def test_a_project_that_cannot_be_written_holds_nobody_up(harness: ArchiveHarness) -> None:
    broken = fill(harness, "/code/broken")
    harness.path(broken).parent.mkdir(parents=True)
    harness.path(broken).write_text("a file where the archive should be")
    fine = fill(harness, "/code/fine")

    left = harness.archive()

    assert left == harness.tx.outbox.count_pending(broken.id) > 0
    assert harness.tx.outbox.count_pending(fine.id) == 0
    assert [failure.project for failure in harness.failures] == ["code-broken"]


def test_a_project_that_failed_is_tried_again_after_a_growing_pause(harness: ArchiveHarness) -> None:
    project = fill(harness)
    place = harness.path(project)
    place.parent.mkdir(parents=True)
    place.write_text("in the way")
    with harness.drain() as drain:
        settle(harness, drain)
        waits = []
        for _ in range(4):
            waits.append(drain.step())
            harness.clock.step(waits[-1] or 0)
        place.unlink()

        drain.step()

    assert waits == [1.0, 2.0, 4.0, 8.0]
    assert backlog(harness) == 0
    assert type(harness.reports[-1]).__name__ == "Recovered"


def test_an_archive_of_another_store_is_refused_reported_and_not_written(
    harness: ArchiveHarness, tmp_path: Path
) -> None:
    with open_archive_harness(tmp_path / "other") as other:
        foreign = fill(other)
        other.archive()
        harness.path(foreign).parent.mkdir(parents=True)
        other.path(foreign).rename(harness.path(foreign))
    project = fill(harness)
    tip = git(harness.path(project), "rev-parse", "main")

    harness.archive()

    (failure,) = harness.failures
    assert "belongs to store" in failure.message
    assert "move" in failure.hint
    assert git(harness.path(project), "rev-parse", "main") == tip


def test_an_archive_newer_than_the_database_is_refused(harness: ArchiveHarness) -> None:
    project = fill(harness)
    harness.archive()
    git(harness.path(project), "commit", "-q", "--allow-empty", "-m", "archive: 9 events\n\nOutbox-Seq: 999999")
    harness.send(*_pair(harness, project))

    left = harness.archive()

    assert left == 1
    assert "older than its archive" in harness.failures[0].message


def test_mail_across_projects_is_in_both_archives(harness: ArchiveHarness) -> None:
    app, lib = harness.add_project("/code/app"), harness.add_project("/code/lib")
    blue, fox = harness.add_agent(app, "BlueLake"), harness.add_agent(lib, "QuietFox")
    harness.send(blue, [fox])

    harness.archive()

    assert "agents/QuietFox/inbox/" in git(harness.path(lib), "ls-tree", "-r", "--name-only", "main")
    assert "messages/" not in git(harness.path(lib), "ls-tree", "-r", "--name-only", "main")
    assert "messages/" in git(harness.path(app), "ls-tree", "-r", "--name-only", "main")
    assert harness.verify().findings == ()


def test_an_archive_that_was_moved_away_is_not_begun_anew_and_gone_on_with_once_it_is_back(
    harness: ArchiveHarness, tmp_path: Path
) -> None:
    project = fill(harness)
    harness.archive()
    harness.path(project).rename(tmp_path / "away")
    harness.send(*_pair(harness, project))

    left = harness.archive()
    (failure,) = harness.failures
    was_begun = harness.path(project).exists()
    (tmp_path / "away").rename(harness.path(project))

    assert (left, was_begun) == (1, False)
    assert failure.hint.startswith(f"Put the archive back to {harness.path(project)}")
    assert harness.archive() == 0
    assert harness.verify().findings == ()


def test_the_first_event_waits_briefly_and_the_next_ones_for_the_interval(harness: ArchiveHarness) -> None:
    project = fill(harness)
    with harness.drain() as drain:
        first = drain.step()
        harness.clock.step(first or 0)
        drain.step()
        harness.send(*_pair(harness, project))
        second = drain.step()

    assert (first, second) == (0.02, 0.5)
    assert len(sealed_seqs(harness.path(project))) == 1


def test_a_burst_becomes_batches_of_bounded_size(harness: ArchiveHarness) -> None:
    project = fill(harness)
    harness.archive()
    sender, recipients = _pair(harness, project)
    with harness.together():
        for number in range(1_200):
            harness.send(sender, recipients, subject=f"Mail {number}")

    harness.archive()

    batches = [report.events for report in harness.reports if isinstance(report, Committed)][1:]
    assert batches == [500, 500, 200]


def test_a_drain_out_of_time_leaves_the_rest_for_the_next_start(harness: ArchiveHarness) -> None:
    project = fill(harness)
    with harness.drain() as drain:
        left = drain.flush(harness.clock())

    assert left == backlog(harness) == harness.tx.outbox.count_pending(project.id) > 0


def test_a_quiet_archive_has_its_index_refreshed(harness: ArchiveHarness) -> None:
    project = fill(harness)
    with harness.drain() as drain:
        settle(harness, drain)
        wait = drain.step()
        before = git(harness.path(project), "status", "--porcelain")
        harness.clock.step(wait or 0)
        harness.tidy(drain)

    assert before != ""
    assert git(harness.path(project), "status", "--porcelain") == ""


def test_an_archive_left_unfinished_is_mended_at_start_though_nothing_is_pending(harness: ArchiveHarness) -> None:
    project = fill(harness)
    harness.archive_until_killed(FailPoint.INDEX_REFRESH)
    assert backlog(harness) == 0

    harness.archive()

    assert git(harness.path(project), "status", "--porcelain") == ""


def put_aside(harness: ArchiveHarness, project: Project, at: Micros | None) -> None:
    """Put the project aside, or bring it back: one file that is as it was afterwards."""
    changed = harness.tx.projects.set_archived(project.id, at)
    harness._event(changed, EventKind.PROJECT, project_snapshot(changed))


@pytest.mark.parametrize("point", [FailPoint.AFTER_IMPORT, FailPoint.BEFORE_MARK])
def test_killed_while_a_project_is_brought_back_the_work_tree_is_as_the_branch(
    harness: ArchiveHarness, point: FailPoint
) -> None:
    """Both ends of the commits that are looked at again have the same `archive.json`: it changed in between."""
    project = fill(harness)
    harness.archive()
    harness.clock.step(2 * WINDOW_S)
    put_aside(harness, project, harness.clock())
    harness.archive()
    put_aside(harness, project, None)
    harness.archive_until_killed(point)

    harness.archive()

    assert git(harness.path(project), "status", "--porcelain") == ""
