"""From the outbox into Git, exactly once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.archive.locks import ArchiveLock, ArchivesBusy
from mcp_agent_mail.archive.recovery import WINDOW_S
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.layout import project_snapshot
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.drain import SETTLE, Drain
from mcp_agent_mail.features.archiving.open_drain import open_drain
from mcp_agent_mail.features.archiving.protocol import LOCK_FILE, Committed
from tests.archive_room import ArchiveRoom, git, open_archive_room, sealed_seqs

CRASHES = [FailPoint.BEFORE_IMPORT, FailPoint.AFTER_IMPORT, FailPoint.BEFORE_MARK, FailPoint.INDEX_REFRESH]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[ArchiveRoom]:
    with open_archive_room(tmp_path) as opened:
        yield opened


def backlog(room: ArchiveRoom) -> int:
    return room.tx.outbox.backlog(room.clock()).pending_events


def fill(room: ArchiveRoom, path: str = "/code/app") -> Project:
    """A project with mail and receipts: more than one kind of file, and files written more than once."""
    project = room.add_project(path)
    blue, red, green = (room.add_agent(project, name) for name in ("BlueLake", "RedStone", "GreenField"))
    message = room.send(blue, [red], bcc=[green])
    room.read(project, red, message)
    room.describe(project, red, "Reads")
    room.send(red, [blue], subject="Answer")
    return project


def settle(room: ArchiveRoom, drain: Drain) -> None:
    """Let the pause pass that the first event after a quiet time waits."""
    drain.step()
    room.clock.step(SETTLE / SECOND)


@pytest.mark.parametrize("point", CRASHES)
def test_killed_anywhere_every_event_is_in_git_exactly_once(room: ArchiveRoom, point: FailPoint) -> None:
    project = fill(room)
    room.archive_until_killed(point)
    sender, recipients = _pair(room, project)
    room.read(project, recipients[0], room.send(sender, recipients, subject="Meanwhile"))

    assert room.archive() == 0

    commits = git(room.path(project), "log", "--reverse", "--format=%H", "main").split()
    known = room.connection.execute("SELECT hexsha, last_seq FROM commits ORDER BY last_seq").fetchall()
    assert known == list(zip(commits, sealed_seqs(room.path(project)), strict=True))
    assert backlog(room) == 0
    assert room.verify().findings == ()
    assert git(room.path(project), "status", "--porcelain") == ""


def _pair(room: ArchiveRoom, project: Project) -> tuple[Agent, list[Agent]]:
    agents = {agent.name: agent for agent in room.tx.agents.list_(project.id, include_retired=True, limit=10)}
    return agents["BlueLake"], [agents["RedStone"]]


def test_events_in_git_that_nobody_marked_are_marked_with_their_own_commits(room: ArchiveRoom) -> None:
    project = fill(room)
    first = room.tx.outbox.highest_seq()
    room.unmarked = True
    with room.drain() as drain:
        drain.flush(Micros(room.clock() + 60 * SECOND))
        later = room.send(*_pair(room, project), subject="Second batch")
        drain.flush(Micros(room.clock() + 60 * SECOND))
    room.unmarked = False

    room.archive()

    newest, oldest = git(room.path(project), "log", "--format=%H", "main").split()
    assert room.commit_of_message(project, later.id) == (newest, room.tx.outbox.highest_seq())
    assert room.commit_of_message(project, MessageId(1)) == (oldest, first)
    assert len(sealed_seqs(room.path(project))) == 2


def test_marked_events_lose_their_snapshot_and_keep_their_commit(room: ArchiveRoom) -> None:
    project = fill(room)

    room.archive()

    rows = room.connection.execute("SELECT count(*), count(snapshot), count(commit_id) FROM outbox")
    total, with_snapshot, with_commit = rows.fetchone()
    assert (with_snapshot, with_commit) == (0, total)
    last = room.tx.outbox.last_commit(project.id)
    assert last is not None
    assert last.hexsha == git(room.path(project), "rev-parse", "main").strip()


def test_a_project_that_cannot_be_written_holds_nobody_up(room: ArchiveRoom) -> None:
    broken = fill(room, "/code/broken")
    room.path(broken).parent.mkdir(parents=True)
    room.path(broken).write_text("a file where the archive should be")
    fine = fill(room, "/code/fine")

    left = room.archive()

    assert left == room.tx.outbox.count_pending(broken.id) > 0
    assert room.tx.outbox.count_pending(fine.id) == 0
    assert [failure.project for failure in room.failures] == ["code-broken"]


def test_a_project_that_failed_is_tried_again_after_a_growing_pause(room: ArchiveRoom) -> None:
    project = fill(room)
    place = room.path(project)
    place.parent.mkdir(parents=True)
    place.write_text("in the way")
    with room.drain() as drain:
        settle(room, drain)
        waits = []
        for _ in range(4):
            waits.append(drain.step())
            room.clock.step(waits[-1] or 0)
        place.unlink()

        drain.step()

    assert waits == [1.0, 2.0, 4.0, 8.0]
    assert backlog(room) == 0
    assert type(room.reports[-1]).__name__ == "Recovered"


def test_an_archive_of_another_store_is_refused_reported_and_not_written(room: ArchiveRoom, tmp_path: Path) -> None:
    with open_archive_room(tmp_path / "other") as other:
        foreign = fill(other)
        other.archive()
        room.path(foreign).parent.mkdir(parents=True)
        other.path(foreign).rename(room.path(foreign))
    project = fill(room)
    tip = git(room.path(project), "rev-parse", "main")

    room.archive()

    (failure,) = room.failures
    assert "belongs to store" in failure.message
    assert "move" in failure.hint
    assert git(room.path(project), "rev-parse", "main") == tip


def test_an_archive_newer_than_the_database_is_refused(room: ArchiveRoom) -> None:
    project = fill(room)
    room.archive()
    git(room.path(project), "commit", "-q", "--allow-empty", "-m", "archive: 9 events\n\nOutbox-Seq: 999999")
    room.send(*_pair(room, project))

    left = room.archive()

    assert left == 1
    assert "older than its archive" in room.failures[0].message


def test_mail_across_projects_is_in_both_archives(room: ArchiveRoom) -> None:
    app, lib = room.add_project("/code/app"), room.add_project("/code/lib")
    blue, fox = room.add_agent(app, "BlueLake"), room.add_agent(lib, "QuietFox")
    room.send(blue, [fox])

    room.archive()

    assert "agents/QuietFox/inbox/" in git(room.path(lib), "ls-tree", "-r", "--name-only", "main")
    assert "messages/" not in git(room.path(lib), "ls-tree", "-r", "--name-only", "main")
    assert "messages/" in git(room.path(app), "ls-tree", "-r", "--name-only", "main")
    assert room.verify().findings == ()


def test_an_archive_that_was_moved_away_is_not_begun_anew_and_gone_on_with_once_it_is_back(
    room: ArchiveRoom, tmp_path: Path
) -> None:
    project = fill(room)
    room.archive()
    room.path(project).rename(tmp_path / "away")
    room.send(*_pair(room, project))

    left = room.archive()
    (failure,) = room.failures
    was_begun = room.path(project).exists()
    (tmp_path / "away").rename(room.path(project))

    assert (left, was_begun) == (1, False)
    assert failure.hint.startswith(f"Put the archive back to {room.path(project)}")
    assert room.archive() == 0
    assert room.verify().findings == ()


def test_the_first_event_waits_briefly_and_the_next_ones_for_the_interval(room: ArchiveRoom) -> None:
    project = fill(room)
    with room.drain() as drain:
        first = drain.step()
        room.clock.step(first or 0)
        drain.step()
        room.send(*_pair(room, project))
        second = drain.step()

    assert (first, second) == (0.02, 0.5)
    assert len(sealed_seqs(room.path(project))) == 1


def test_a_burst_becomes_batches_of_bounded_size(room: ArchiveRoom) -> None:
    project = fill(room)
    room.archive()
    sender, recipients = _pair(room, project)
    with room.together():
        for number in range(1_200):
            room.send(sender, recipients, subject=f"Mail {number}")

    room.archive()

    batches = [report.events for report in room.reports if isinstance(report, Committed)][1:]
    assert batches == [500, 500, 200]


def test_a_drain_out_of_time_leaves_the_rest_for_the_next_start(room: ArchiveRoom) -> None:
    project = fill(room)
    with room.drain() as drain:
        left = drain.flush(room.clock())

    assert left == backlog(room) == room.tx.outbox.count_pending(project.id) > 0


def test_a_quiet_archive_has_its_index_refreshed(room: ArchiveRoom) -> None:
    project = fill(room)
    with room.drain() as drain:
        settle(room, drain)
        wait = drain.step()
        before = git(room.path(project), "status", "--porcelain")
        room.clock.step(wait or 0)
        room.tidy(drain)

    assert before != ""
    assert git(room.path(project), "status", "--porcelain") == ""


def test_an_archive_left_unfinished_is_mended_at_start_though_nothing_is_pending(room: ArchiveRoom) -> None:
    project = fill(room)
    room.archive_until_killed(FailPoint.INDEX_REFRESH)
    assert backlog(room) == 0

    room.archive()

    assert git(room.path(project), "status", "--porcelain") == ""


def put_aside(room: ArchiveRoom, project: Project, at: Micros | None) -> None:
    """Put the project aside, or bring it back: one file that is as it was afterwards."""
    changed = room.tx.projects.set_archived(project.id, at)
    room._event(changed, EventKind.PROJECT, project_snapshot(changed))


@pytest.mark.parametrize("point", [FailPoint.AFTER_IMPORT, FailPoint.BEFORE_MARK])
def test_killed_while_a_project_is_brought_back_the_work_tree_is_as_the_branch(
    room: ArchiveRoom, point: FailPoint
) -> None:
    """Both ends of the commits that are looked at again have the same `archive.json`: it changed in between."""
    project = fill(room)
    room.archive()
    room.clock.step(2 * WINDOW_S)
    put_aside(room, project, room.clock())
    room.archive()
    put_aside(room, project, None)
    room.archive_until_killed(point)

    room.archive()

    assert git(room.path(project), "status", "--porcelain") == ""


def test_a_new_archiver_does_not_start_while_another_holds_the_archives(room: ArchiveRoom) -> None:
    impatient = replace(room.settings, lock_timeout_s=0.0)

    with (
        ArchiveLock(room.root / LOCK_FILE, timeout_s=0),
        pytest.raises(ArchivesBusy),
        open_drain(impatient, report=room.reports.append, fault_hook=lambda _: None),
    ):
        pass
