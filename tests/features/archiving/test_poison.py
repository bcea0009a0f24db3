"""A fault of ours in one archive is that archive's failure: told, tried again later, and nobody else's."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.git.process import GitJob
from mcp_agent_mail.domain.archive_format.layout import Changes, batch_files
from mcp_agent_mail.domain.events import OutboxEvent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving import committer as committers
from mcp_agent_mail.features.archiving.committer import ArchiveCommitter
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.index_refresh import MOST_AT_ONCE
from mcp_agent_mail.features.archiving.protocol import CareFailed, Committed, Failed, Recovered
from tests.archive_harness import ENDLESS_S, LONG, ArchiveHarness

POISON = "nobody foresaw this"


def add(harness: ArchiveHarness, path: str) -> Project:
    project = harness.add_project(path)
    blue, red = (harness.add_agent(project, name) for name in ("BlueLake", "RedStone"))
    harness.send(blue, [red])
    return project


def poison(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    """Its events cannot be rendered."""
    render = batch_files

    def poisoned(events: Sequence[OutboxEvent], store_id: str, version: int) -> Changes:
        assert events[0].project_id != project.id, POISON
        return render(events, store_id, version)

    monkeypatch.setattr(committers, "batch_files", poisoned)


def left(harness: ArchiveHarness, project: Project) -> int:
    return harness.tx.outbox.count_pending(project.id)


def until_now(harness: ArchiveHarness) -> Micros:
    return Micros(harness.clock() + int(LONG * SECOND))


def test_an_event_that_cannot_be_rendered_holds_up_its_own_archive_alone(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, *others = [add(harness, f"/code/p{number}") for number in range(9)]
    poison(monkeypatch, bad)

    with caplog.at_level(logging.ERROR):
        in_the_end = harness.archive()

    assert [left(harness, project) for project in others] == [0] * 8
    assert in_the_end == left(harness, bad) > 0
    (failed,) = harness.failures
    assert (failed.project, failed.part) == (bad.slug, "")
    assert POISON in failed.message
    assert "log" in failed.hint
    assert "batch_files" in caplog.text or "poisoned" in caplog.text


def test_it_is_tried_again_after_a_growing_pause_and_its_end_is_told(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = add(harness, "/code/bad")
    waits = []
    with harness.drain() as drain, monkeypatch.context() as poisoning:
        poison(poisoning, bad)
        harness.clock.step(drain.step() or 0)
        for _ in range(3):
            waits.append(drain.step())
            harness.clock.step(waits[-1] or 0)
        poisoning.undo()
        drain.step()

    assert waits == [1.0, 2.0, 4.0]
    assert left(harness, bad) == 0
    assert Recovered(project=bad.slug) in harness.reports


def test_a_refresh_nobody_foresaw_to_fail_leaves_commits_and_other_archives_alone(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = [add(harness, f"/code/p{number}") for number in range(3)]

    def fail(_: ArchiveWriter) -> None:
        raise AssertionError(POISON)

    monkeypatch.setattr(ArchiveWriter, "start_refresh", fail)
    in_the_end = harness.archive()

    assert in_the_end == 0
    assert {(failed.project, failed.part) for failed in harness.failures} == {
        (project.slug, "index") for project in projects
    }


def test_care_nobody_foresaw_to_fail_is_told_and_gives_its_permit_back(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = [add(harness, f"/code/p{number}") for number in range(2)]

    def fail(_: ArchiveWriter, *, even_if_few: bool = False) -> None:
        raise AssertionError(POISON, even_if_few)

    monkeypatch.setattr(ArchiveWriter, "start_repack", fail)
    monkeypatch.setattr(ArchiveWriter, "has_many_packs", True)
    with harness.drain() as drain:
        for _ in range(4):
            drain.step()
            harness.clock.step(1)

    told = {report.project for report in harness.reports if isinstance(report, CareFailed)}
    assert told == {project.slug for project in projects}


def test_what_nobody_foresaw_anywhere_at_a_desk_is_told_of_that_archive(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, fine = add(harness, "/code/bad"), add(harness, "/code/fine")
    look_after = ArchiveCommitter.look_after

    def fail(committer: ArchiveCommitter) -> float | None:
        assert committer.archive.project.id != bad.id, POISON
        return look_after(committer)

    with harness.drain() as drain:
        with monkeypatch.context() as poisoning:
            poisoning.setattr(ArchiveCommitter, "look_after", fail)
            for _ in range(3):
                drain.step()
                harness.clock.step(1)
        told = list(harness.failures)
        harness.clock.step(LONG)
        drain.step()

    assert (left(harness, bad), left(harness, fine)) == (0, 0)
    assert {failed.project for failed in told} == {bad.slug}
    assert Recovered(project=bad.slug) in harness.reports


class Ended(BaseException):
    """What ends the whole process."""


def test_a_fault_that_ends_the_process_is_raised_once_all_others_are_taken_back(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = add(harness, "/code/first"), add(harness, "/code/second")
    harness.patience_s = ENDLESS_S
    ending: list[threading.Thread] = []
    begun = threading.Event()

    def work(committer: ArchiveCommitter) -> float | None:
        if committer.archive.project.id == first.id:
            ending.append(threading.current_thread())
            begun.set()
            raise Ended
        begun.wait(LONG)
        ending[0].join(LONG)
        return 7.0

    monkeypatch.setattr(ArchiveCommitter, "commit", work)
    with harness.drain() as drain:
        drain.begin()
        harness.clock.step(1)
        drain.begin()
        for thread in [thread for thread in threading.enumerate() if thread.name == "archive"]:
            thread.join(LONG)
        with pytest.raises(Ended):
            drain.begin()
        kept = drain._kept[second.id]

    assert kept.wait == 7.0


def test_only_the_thread_that_schedules_uses_its_connection(harness: ArchiveHarness) -> None:
    for number in range(3):
        add(harness, f"/code/p{number}")
    threads: set[int] = set()
    with harness.drain() as drain:
        connection_of(drain).set_trace_callback(lambda _: threads.add(threading.get_ident()))
        drain.resume()
        drain.mend(until_now(harness))
        drain.flush(until_now(harness))
        connection_of(drain).set_trace_callback(None)

    assert threads == {threading.get_ident()}
    assert sum(isinstance(report, Committed) for report in harness.reports) == 3


def connection_of(drain: Drain) -> sqlite3.Connection:
    connection = drain._outbox._connection
    assert isinstance(connection, sqlite3.Connection)
    return connection


def test_a_git_that_no_kill_ends_does_not_hold_up_the_end(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel may keep a killed process while it waits for a disk: nobody is told when it ends."""
    add(harness, "/code/stuck")
    harness.patience_s, harness.hangs_after_s = 0.1, 0.5
    died = threading.Event()
    kill = GitJob.kill

    def killed_late(job: GitJob) -> None:
        died.wait(LONG)
        kill(job)

    monkeypatch.setattr(GitJob, "kill", killed_late)
    monkeypatch.setattr(GitJob, "is_running", lambda _: True)
    with harness.drain() as drain:
        while not any(kept.committer._tidy.is_running for kept in drain._kept.values()):
            drain.step()
            harness.clock.step(1)
        ending = threading.Thread(target=drain.close, daemon=True)
        monkeypatch.setattr(drain, "close", lambda: ending.join(LONG))
        ending.start()
        ending.join(LONG / 2)
        has_ended = not ending.is_alive()
        died.set()

    assert has_ended


def test_a_refresh_that_may_hang_does_not_keep_its_permit(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time limit is minutes, and there are but two permits for all archives."""
    for number in range(MOST_AT_ONCE + 1):
        add(harness, f"/code/p{number}")
    with harness.drain() as drain, monkeypatch.context() as hanging:
        hanging.setattr(GitJob, "is_running", lambda _: True)
        for _ in range(5):
            drain.step()
            harness.clock.step(1)
        at_once = count_refreshes(drain)
        for _ in range(5):
            drain.step()
            harness.clock.step(10)
        in_the_end = count_refreshes(drain)

    assert (at_once, in_the_end) == (MOST_AT_ONCE, MOST_AT_ONCE + 1)


def count_refreshes(drain: Drain) -> int:
    return sum(kept.committer._tidy.is_running for kept in drain._kept.values())


def test_what_was_told_in_the_last_moment_is_heard(harness: ArchiveHarness) -> None:
    project = add(harness, "/code/app")
    with harness.drain() as drain:
        harness.clock.step(drain.step() or 0)
        drain.begin()

    assert left(harness, project) == 0
    assert not any(isinstance(report, Failed) for report in harness.reports)


def test_a_project_whose_slug_is_a_path_is_written_nowhere(harness: ArchiveHarness, tmp_path: Path) -> None:
    """A database may be anybody's; the archive, its lock and the snapshot of leases are called after it."""
    bad, other = add(harness, "/code/app"), add(harness, "/code/lib")
    outside = tmp_path / "outside"
    harness.connection.execute("UPDATE projects SET slug = ? WHERE id = ?", (str(outside / "abs"), bad.id))

    harness.archive()

    assert not outside.exists()
    assert left(harness, other) == 0
    assert {failed.project for failed in harness.failures} == {str(outside / "abs")}
    assert any("cannot have the slug" in failed.message for failed in harness.failures)
