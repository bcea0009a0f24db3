"""All that is done to one archive, step by step, by the one who does it: committed to, mended, looked after, let go."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_agent_mail.archive.locks import ArchiveLock, ArchivesBusy
from mcp_agent_mail.archive.ownership import ArchiveOwner
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.events import OutboxEvent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving import committer as committers
from mcp_agent_mail.features.archiving.archives import ArchiveState
from mcp_agent_mail.features.archiving.committer import ArchiveCommitter
from mcp_agent_mail.features.archiving.committer_context import CommitterContext, DrainPlan
from mcp_agent_mail.features.archiving.protocol import (
    LOCKS_FOLDER,
    PROJECTS_FOLDER,
    CheckedOut,
    CheckOut,
    Committed,
    Recovered,
)
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.outbox import Outbox
from tests.archive_harness import ArchiveHarness, Killed, fill, git, killed_at, write

INTERVAL = Micros(SECOND // 2)


@dataclass
class Desk:
    """One archive with the one who works on it."""

    harness: ArchiveHarness
    project: Project
    shared: CommitterContext
    committer: ArchiveCommitter
    noted: list[OutboxSeq] = field(default_factory=list)

    @property
    def archive(self) -> ArchiveState:
        return self.committer.archive

    @property
    def path(self) -> Path:
        return self.harness.path(self.project)

    def until(self) -> Micros:
        return Micros(self.harness.clock() + 60 * SECOND)

    def pending(self) -> int:
        return self.harness.tx.outbox.count_pending(self.project.id)

    def checked_out(self) -> list[CheckedOut]:
        return [report for report in self.harness.reports if isinstance(report, CheckedOut)]


@contextmanager
def open_desk(harness: ArchiveHarness, project: Project, fault_hook: FaultHook = no_fault) -> Iterator[Desk]:
    plan = DrainPlan(
        projects_path=harness.root / PROJECTS_FOLDER,
        owner=ArchiveOwner(store_id=harness.store_id, author_name="mcp-agent", author_email="a@example.com"),
        interval=INTERVAL,
        max_tracked_files=harness.max_tracked_files,
        database_path=harness.database,
    )
    plan.projects_path.mkdir(exist_ok=True)
    plan.locks_path.mkdir(exist_ok=True)
    noted: list[OutboxSeq] = []

    def note(_: Project, events: Sequence[OutboxEvent]) -> None:
        noted.extend(event.seq for event in events)

    with closing(open_reading(harness.database)) as connection:
        shared = CommitterContext(
            plan, Outbox(connection), report=harness._hear, note=note, clock=harness.clock, fault_hook=fault_hook
        )
        last = harness.tx.outbox.last_commit(project.id)
        reported = OutboxSeq(0) if last is None else last.last_seq
        committer = ArchiveCommitter(shared, ArchiveState(project=project, reported=reported))
        with closing(committer):
            yield Desk(harness, project, shared, committer, noted)


@pytest.fixture
def desk(harness: ArchiveHarness) -> Iterator[Desk]:
    with open_desk(harness, fill(harness, Path("/code/app"))) as opened:
        yield opened


def test_a_batch_is_committed_told_and_noted_and_the_next_waits_for_the_interval(desk: Desk) -> None:
    waiting = desk.pending()

    desk.committer.commit()

    assert desk.pending() == 0
    assert desk.noted == list(range(1, waiting + 1))
    told = [report for report in desk.harness.reports if isinstance(report, Committed)]
    assert [(commit.events, commit.oldest_ts) for commit in told] == [(waiting, desk.harness.clock())]
    assert desk.archive.reported == waiting
    assert desk.archive.commit.due == desk.harness.clock() + INTERVAL
    assert git(desk.path, "rev-list", "--count", "main").strip() == "1"


def test_after_a_full_batch_the_next_one_waits_for_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committers, "MAX_EVENTS", desk.pending())

    desk.committer.commit()

    assert desk.archive.commit.due == desk.harness.clock()


def test_all_that_is_pending_is_committed_unless_the_time_is_up(desk: Desk) -> None:
    desk.committer.commit_all(desk.harness.clock())
    without_time = desk.pending()

    desk.committer.commit_all(desk.until())

    assert (without_time > 0, desk.pending()) == (True, 0)


def test_an_archive_begins_with_who_it_belongs_to_whatever_comes_first(desk: Desk) -> None:
    desk.harness.connection.execute("DELETE FROM outbox WHERE kind != 'mail'")

    desk.committer.commit()

    assert "archive.json" in git(desk.path, "ls-tree", "--name-only", "main").splitlines()


def test_where_nothing_is_pending_nothing_is_committed(desk: Desk) -> None:
    desk.committer.commit()
    desk.committer.commit()

    assert git(desk.path, "rev-list", "--count", "main").strip() == "1"


def test_what_cannot_be_written_is_told_and_so_is_its_end(desk: Desk) -> None:
    desk.path.write_text("in the way")
    desk.committer.commit()
    failures = [failed.project for failed in desk.harness.failures]
    rest_while_failing = desk.committer.is_at_rest
    desk.path.unlink()

    desk.committer.commit()

    assert (failures, rest_while_failing) == ([desk.project.slug], False)
    assert Recovered(project=desk.project.slug) in desk.harness.reports
    assert desk.pending() == 0


def test_an_archive_is_whole_when_its_index_follows_and_at_rest_when_nothing_is_left(desk: Desk) -> None:
    unopened = (desk.committer.is_whole, desk.committer.is_at_rest)
    desk.committer.commit()
    behind = desk.committer.is_whole

    desk.committer.finish(desk.until(), desk.until())

    assert (unopened, behind) == ((True, True), False)
    assert (desk.committer.is_whole, desk.committer.is_at_rest) == (True, True)
    assert git(desk.path, "status", "--porcelain") == ""


def test_what_nobody_foresaw_is_this_archives_failure_and_its_permits_are_given_back(desk: Desk) -> None:
    desk.committer.commit()
    desk.shared.care.take(desk.project.slug)
    desk.shared.refreshes.take(desk.project.slug)

    def fail() -> None:
        raise RuntimeError("nobody foresaw this")

    pause = desk.committer.guard(fail)

    assert pause is not None
    assert pause > 0
    assert desk.harness.failures[0].message == "RuntimeError: nobody foresaw this"
    assert desk.shared.care.take("another")
    assert not desk.committer.is_at_rest
    assert desk.archive.writer is None


def test_what_works_answers_through_the_guard(desk: Desk) -> None:
    assert desk.committer.guard(lambda: 7.0) == 7.0
    assert desk.harness.failures == []


def test_after_what_nobody_foresaw_it_is_opened_anew_and_is_well(desk: Desk) -> None:
    desk.committer.commit()

    def fail() -> None:
        raise RuntimeError("nobody foresaw this")

    desk.committer.guard(fail)
    desk.committer.look_after()

    assert desk.archive.writer is not None
    assert desk.harness.reports[-1] == Recovered(project=desk.project.slug)


def test_an_archive_that_was_left_well_is_not_opened_to_be_mended(desk: Desk) -> None:
    desk.committer.commit()
    desk.committer.finish(desk.until(), desk.until())
    desk.committer.close()

    with open_desk(desk.harness, desk.project) as later:
        wait = later.committer.mend()

        assert (wait, later.archive.writer) == (None, None)


def test_what_an_earlier_process_left_in_git_is_told_when_the_archive_is_mended(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))
    with open_desk(harness, project, killed_at(FailPoint.BEFORE_MARK)) as desk, pytest.raises(Killed):
        desk.committer.commit()
    unmarked = harness.tx.outbox.count_pending(project.id)

    with open_desk(harness, project) as desk:
        desk.committer.mend()
        mending = desk.archive.is_mending
        desk.committer.finish(desk.until(), desk.until())

    assert (unmarked > 0, harness.tx.outbox.count_pending(project.id)) == (True, 0)
    assert mending
    assert git(harness.path(project), "status", "--porcelain") == ""


def test_what_cannot_be_mended_is_told_and_tried_again(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))
    with open_desk(harness, project, killed_at(FailPoint.AFTER_IMPORT)) as desk, pytest.raises(Killed):
        desk.committer.commit()
    head = harness.path(project) / ".git" / "HEAD"
    content = head.read_bytes()
    head.unlink()
    with open_desk(harness, project) as desk:
        pause = desk.committer.mend()
        failures = len(harness.failures)
        head.write_bytes(content)

        desk.committer.mend()

        assert pause is not None
        assert (failures, len(harness.failures)) == (1, 1)
        assert harness.tx.outbox.count_pending(project.id) == 0


def test_an_archive_that_somebody_moved_is_looked_at_anew_before_anything_is_written(desk: Desk) -> None:
    desk.committer.commit()
    moved = desk.path.with_name("moved")
    desk.path.rename(moved)
    write(desk.harness, desk.project)

    desk.committer.commit()
    told = desk.harness.failures[0].message
    desk.committer.finish(desk.until(), desk.until())
    moved.rename(desk.path)
    desk.committer.commit()

    assert str(desk.path) in told
    assert desk.pending() == 0
    assert git(desk.path, "rev-list", "--count", "main").strip() == "2"


def test_an_archive_that_somebody_moved_is_noticed_without_a_commit(desk: Desk) -> None:
    desk.committer.commit()
    desk.path.rename(desk.path.with_name("moved"))

    desk.committer.look_after()

    assert [failed.project for failed in desk.harness.failures] == [desk.project.slug]


def test_while_it_is_open_nobody_else_works_on_it_and_afterwards_anybody_may(desk: Desk) -> None:
    desk.committer.commit()
    lock = desk.harness.root / LOCKS_FOLDER / desk.project.slug
    with pytest.raises(ArchivesBusy), ArchiveLock(lock, timeout_s=0):
        pass

    desk.committer.close()

    with ArchiveLock(lock, timeout_s=0):
        pass


def test_a_month_that_is_shown_is_answered_with_its_files(desk: Desk) -> None:
    desk.committer.commit()
    desk.committer.finish(desk.until(), desk.until())

    desk.committer.check_out(CheckOut(number=3, project=desk.project.slug, month="2027-01"))
    desk.committer.finish(desk.until(), desk.until())

    (answer,) = desk.checked_out()
    assert (answer.request, answer.problem) == (3, "")
    assert answer.files >= 3


@pytest.mark.parametrize(("is_there", "is_unknown"), [(True, True), (False, False)])
def test_a_month_that_cannot_be_brought_back_is_refused_with_why(is_there: bool, is_unknown: bool, desk: Desk) -> None:
    desk.committer.commit()
    desk.committer.finish(desk.until(), desk.until())
    if not is_there:
        shutil.rmtree(desk.path)

    desk.committer.check_out(CheckOut(number=3, project=desk.project.slug, month="1999-01"))

    (answer,) = desk.checked_out()
    assert (answer.request, answer.files, answer.is_unknown) == (3, 0, is_unknown)
    assert answer.problem
    assert answer.hint
