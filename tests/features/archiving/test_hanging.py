"""What hangs in one archive is that project's problem: the others' commits go on, and so does the stop."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mcp_agent_mail.archive.lock_holders import holders
from mcp_agent_mail.archive.locks import ArchiveLock, ArchivesBusy
from mcp_agent_mail.archive.recovery import is_unfinished
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving import drain as draining
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.protocol import (
    DRAIN,
    LOCKS_FOLDER,
    PROJECTS_FOLDER,
    Committed,
    Converted,
    Failed,
    Recovered,
    Report,
    Workload,
    from_line,
)
from mcp_agent_mail.store.outbox import Outbox
from tests.archive_harness import LOOKS, ArchiveHarness, fill, git, open_archive_harness, version_1

WITHIN_S = 30.0


def add(harness: ArchiveHarness, path: str) -> tuple[Project, Agent, Agent]:
    project = harness.add_project(path)
    blue, red = (harness.add_agent(project, name) for name in ("BlueLake", "RedStone"))
    harness.send(blue, [red])
    return project, blue, red


class Hanging:
    """A FIFO where the index of a pack would be: Git waits there until somebody writes."""

    def __init__(self, archive: Path) -> None:
        packs = archive / ".git" / "objects" / "pack"
        self._pack, self._index = (packs / f"pack-{'0' * 40}{end}" for end in (".pack", ".idx"))
        self._pack.write_bytes(b"PACK")
        os.mkfifo(self._index)
        self._is_hanging = True

    def end(self) -> None:
        """Everyone who waits there finds that it is no index, and nobody waits from now on."""
        if self._is_hanging:
            self._is_hanging = False
            fd = os.open(self._index, os.O_RDWR | os.O_NONBLOCK)
            self._index.unlink()
            self._pack.unlink()
            os.close(fd)


def commit(harness: ArchiveHarness, drain: Drain) -> None:
    """Everything pending that does not hang, at its pace."""
    for _ in range(3):
        drain.step()
        harness.clock.step(0.6)


def be_impatient(harness: ArchiveHarness) -> None:
    harness.patience_s, harness.hangs_after_s = 0.1, 0.5


def work_until(harness: ArchiveHarness, drain: Drain, is_reached: Callable[[], bool]) -> None:
    """As the archiver works."""
    for _ in range(LOOKS):
        wait = drain.begin()
        if is_reached():
            return
        select.select([drain], [], [], WITHIN_S if wait is None else wait)
        harness.clock.step(0.02)
    raise AssertionError(harness.reports)


def left(harness: ArchiveHarness, project: Project) -> int:
    return harness.tx.outbox.count_pending(project.id)


def test_a_work_tree_that_hangs_holds_up_no_other_archive_and_goes_on_once_it_answers(harness: ArchiveHarness) -> None:
    hung, blue, red = add(harness, "/code/hung")
    fine, fox, owl = add(harness, "/code/fine")
    harness.archive()
    be_impatient(harness)
    with harness.drain() as drain:
        hanging = Hanging(harness.path(hung))
        try:
            harness.send(blue, [red], subject="While it hangs")
            harness.send(fox, [owl], subject="Beside it")
            work_until(harness, drain, lambda: left(harness, fine) == 0)
            harness.send(fox, [owl], subject="Later")
            work_until(harness, drain, lambda: left(harness, fine) == 0)
            while_it_hung = left(harness, hung)
        finally:
            hanging.end()
        work_until(harness, drain, lambda: left(harness, hung) == 0)

    assert while_it_hung == 1
    assert harness.verify().findings == ()


def test_what_hangs_is_told_as_that_projects_problem_and_so_is_its_end(harness: ArchiveHarness) -> None:
    hung, blue, red = add(harness, "/code/hung")
    harness.archive()
    be_impatient(harness)
    with harness.drain() as drain:
        hanging = Hanging(harness.path(hung))
        try:
            harness.send(blue, [red])
            work_until(harness, drain, lambda: bool(harness.failures))
            told = list(harness.reports)
        finally:
            hanging.end()
        work_until(harness, drain, lambda: any(isinstance(report, Recovered) for report in harness.reports))

    (failed,) = [report for report in told if isinstance(report, Failed)]
    assert (failed.project, failed.part) == ("code-hung", "")
    assert "nothing has come back from this archive" in failed.message
    assert "Other archives go on" in failed.hint
    assert told[-1] == Workload(hung=1)
    assert harness.reports[-1] == Workload()
    assert left(harness, hung) == 0


def test_a_stop_does_not_wait_for_what_hangs(harness: ArchiveHarness) -> None:
    hung, blue, red = add(harness, "/code/hung")
    fine, fox, owl = add(harness, "/code/fine")
    harness.archive()
    be_impatient(harness)
    with harness.drain() as drain:
        hanging = Hanging(harness.path(hung))
        try:
            harness.send(blue, [red])
            harness.send(fox, [owl])
            work_until(harness, drain, lambda: left(harness, fine) == 0 and Workload(hung=1) in harness.reports)
            in_the_end = drain.flush(Micros(harness.clock() + 3_600 * SECOND))
        finally:
            hanging.end()

    assert in_the_end == 1


def test_a_thread_that_comes_back_after_the_end_gives_up_its_archive(harness: ArchiveHarness) -> None:
    hung, blue, red = add(harness, "/code/hung")
    harness.archive()
    be_impatient(harness)
    harness.send(blue, [red])
    is_over = threading.Event()

    def wait_there(point: FailPoint) -> None:
        if point is FailPoint.BEFORE_IMPORT:
            assert is_over.wait(WITHIN_S)

    with harness.drain(wait_there) as drain:
        work_until(harness, drain, lambda: Workload(hung=1) in harness.reports)
    lock = harness.root / LOCKS_FOLDER / hung.slug
    with pytest.raises(ArchivesBusy), ArchiveLock(lock, timeout_s=0):
        pass

    is_over.set()

    with ArchiveLock(lock, timeout_s=WITHIN_S) as taken:
        assert taken.fd > 0


@pytest.mark.parametrize("end", ["orderly", "its server is gone"])
def test_an_archiver_ends_though_a_thread_of_it_hangs_and_leaves_no_git_behind(end: str, tmp_path: Path) -> None:
    with open_archive_harness(tmp_path) as harness:
        hung, blue, red = add(harness, "/code/hung")
        harness.archive()
        hanging = Hanging(harness.path(hung))
        harness.send(blue, [red])
    lock = harness.root / LOCKS_FOLDER / hung.slug
    command = [sys.executable, "-P", "-m", "mcp_agent_mail.archiver"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as archiver:
        assert archiver.stdin is not None
        assert archiver.stdout is not None
        archiver.stdin.write(harness.settings.to_line())
        archiver.stdin.flush()
        told = [from_line(archiver.stdout.readline())]
        while told[-1] != Workload(hung=1):
            told.append(from_line(archiver.stdout.readline()))
        while_it_hung = holders(lock)
        if end == "orderly":
            archiver.stdin.write(DRAIN + b" 1.0\n")
            archiver.stdin.flush()
        else:
            archiver.stdin.close()

        try:
            code = archiver.wait(WITHIN_S)
            with ArchiveLock(lock, timeout_s=WITHIN_S):  # A kill takes a moment.
                left_behind = holders(lock)
        finally:
            archiver.kill()
            hanging.end()

    assert code == 0
    git_left = [one for one in while_it_hung if one.pid != archiver.pid]
    assert git_left
    assert left_behind == []
    (failed,) = [report for report in told if isinstance(report, Failed)]
    assert f"process {git_left[0].pid}" in failed.message


def test_while_archives_are_mended_the_commit_of_another_waits_for_its_own_alone(harness: ArchiveHarness) -> None:
    torn = [add(harness, f"/code/torn{number}") for number in range(6)]
    fine, fox, owl = add(harness, "/code/fine")
    harness.archive()
    for _, blue, red in torn:
        harness.send(blue, [red])
    harness.archive_until_killed(FailPoint.INDEX_REFRESH)
    harness.send(fox, [owl], subject="First after the restart")
    harness.reports.clear()

    is_committed = threading.Event()

    def hold_refreshes(point: FailPoint) -> None:
        # Every mended archive's index follows, and only that makes it whole.
        if point is FailPoint.INDEX_REFRESH:
            assert is_committed.wait(WITHIN_S)

    with harness.drain(hold_refreshes) as drain:
        drain.resume()
        work_until(harness, drain, lambda: left(harness, fine) == 0)
        unfinished = sum(is_unfinished(harness.path(project)) for project, _, _ in torn)
        is_committed.set()
        drain.mend(Micros(harness.clock() + SECOND))

    assert unfinished == len(torn)
    assert not any(is_unfinished(harness.path(project)) for project, _, _ in torn)


def committed_last(harness: ArchiveHarness) -> list[tuple[int, str]]:
    rows = harness.connection.execute(
        "SELECT max(c.id), p.slug FROM commits c JOIN projects p ON p.id = c.project_id GROUP BY p.id"
    )
    return list(rows)


def test_archives_are_mended_newest_mail_first_and_a_stop_leaves_the_rest_to_the_next_start(
    harness: ArchiveHarness,
) -> None:
    torn = [add(harness, f"/code/torn{number}") for number in range(6)]
    harness.archive()
    for _, blue, red in torn:
        harness.send(blue, [red])
    harness.archive_until_killed(FailPoint.INDEX_REFRESH)
    newest = [slug for _, slug in sorted(committed_last(harness))[-2:]]

    with harness.drain() as drain:
        drain.resume()
        work_until(harness, drain, lambda: is_whole(harness, newest))
        in_the_end = drain.flush(Micros(harness.clock() + 3_600 * SECOND))

    left_torn = [project.slug for project, _, _ in torn if is_unfinished(harness.path(project))]
    assert in_the_end == 0
    assert len(left_torn) >= 2
    assert harness.archive() == 0
    assert harness.verify().findings == ()


def is_whole(harness: ArchiveHarness, slugs: Sequence[str]) -> bool:
    return not any(is_unfinished(harness.root / PROJECTS_FOLDER / slug) for slug in slugs)


def test_only_so_many_quiet_archives_are_remembered(harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining, "MOST_KEPT", 4)
    projects = [add(harness, f"/code/p{number}") for number in range(12)]
    with harness.drain() as drain:
        for _ in range(12):
            commit(harness, drain)
        remembered = len(drain._kept)
        committed = [left(harness, project) for project, _, _ in projects]
        drain.mend(Micros(harness.clock() + SECOND))
        harness.clock.step(3)
        harness.tidy(drain)

    assert remembered <= 4
    assert committed == [0] * 12
    assert harness.archive() == 0
    assert [git(harness.path(project), "status", "--porcelain") for project, _, _ in projects] == [""] * 12


def test_a_git_that_an_earlier_archiver_left_hanging_keeps_its_own_archive_locked_and_no_other(
    harness: ArchiveHarness,
) -> None:
    hung, blue, red = add(harness, "/code/hung")
    fine, fox, owl = add(harness, "/code/fine")
    harness.archive()
    harness.send(blue, [red])
    harness.send(fox, [owl])
    be_impatient(harness)
    with harness.drain() as drain:
        with ArchiveLock(harness.root / LOCKS_FOLDER / hung.slug, timeout_s=0):
            work_until(harness, drain, lambda: left(harness, fine) == 0)
            while_locked = left(harness, hung)
        work_until(harness, drain, lambda: left(harness, hung) == 0)

    assert while_locked == 1


def test_the_time_of_one_that_commits_batch_after_batch_begins_anew_with_each(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Outbox.pending.__kwdefaults__ is not None
    monkeypatch.setitem(Outbox.pending.__kwdefaults__, "limit", 1)
    add(harness, "/code/app")
    drains: list[Drain] = []
    imports: list[FailPoint] = []
    seconds: list[float] = []
    told = threading.Event()

    def fault_hook(point: FailPoint) -> None:
        if point is FailPoint.BEFORE_IMPORT:
            imports.append(point)
            if len(imports) == 1:
                drains[0]._threads.jobs()[0].began -= 100
            elif len(imports) == 2:
                assert told.wait(WITHIN_S)

    with harness.drain(fault_hook) as drain:
        drains.append(drain)
        report = drain._report

        def hear(heard: Report) -> None:
            if isinstance(heard, Committed) and not told.is_set():
                seconds.append(drain._threads.jobs()[0].seconds)
                told.set()
            report(heard)

        drain._report = hear
        in_the_end = drain.flush(Micros(harness.clock() + SECOND))

    assert in_the_end == 0
    assert seconds[0] < 100


def test_a_conversion_that_hangs_keeps_no_other_archive_from_being_converted(
    harness: ArchiveHarness, tmp_path: Path
) -> None:
    harness.converts = False
    with version_1(), harness.drain() as drain:
        for name in ("one", "other"):
            fill(harness, tmp_path / name)
            drain.step()
            harness.clock.step(3)
            harness.tidy(drain)
    harness.converts = True
    harness.patience_s, harness.hangs_after_s = 0.1, 0.5
    may_go_on, first = threading.Event(), threading.Lock()

    def hang(reached: FailPoint) -> None:
        if reached is FailPoint.CONVERSION and first.acquire(blocking=False):
            may_go_on.wait()

    def done() -> list[str]:
        return [report.project for report in harness.reports if isinstance(report, Converted) and report.is_done]

    with harness.drain(hang) as drain:
        drain.resume()
        try:
            for _ in range(LOOKS):
                wait = drain.begin()
                if done():
                    break
                select.select([drain], [], [], 0.05 if wait is None else min(wait, 0.05))
                harness.clock.step(1)
            while_it_hung = done()
        finally:
            may_go_on.set()

    assert len(while_it_hung) == 1
