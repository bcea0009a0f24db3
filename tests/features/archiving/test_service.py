"""The archiver as a real child process beside a real store."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from mcp_agent_mail.archive.locks import ArchiveLock
from mcp_agent_mail.core.child_process import plain_environment
from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.core.failpoints import FailPoint, Kill
from mcp_agent_mail.domain.archive_format.layout import project_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving import service as archiving_service
from mcp_agent_mail.features.archiving.backpressure import Backpressure
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.archiving.protocol import (
    LOCK_FILE,
    ArchiverSettings,
    CareTaken,
    Converted,
    Ready,
    Workload,
)
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite.faults import DatabaseTakenAway, StoreFailed
from mcp_agent_mail.store.outbox import Outbox
from mcp_agent_mail.store.transaction import View
from tests.archive_harness import git, open_archive_harness, sealed_seqs
from tests.served import pause

T = TypeVar("T")

PATIENCE_S = 30.0


def prepare(root: Path) -> tuple[ArchiverSettings, Project]:
    """A store with a project and mail, all of it pending."""
    with open_archive_harness(root) as harness:
        project = harness.add_project("/code/app")
        blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
        harness.send(blue, [red])
        return harness.settings, project


@asynccontextmanager
async def archiving(
    root: Path, settings: ArchiverSettings, *, pace: Backpressure | None = None
) -> AsyncIterator[tuple[Store, ArchivingService]]:
    async with Store(root / "mail.sqlite3") as store:
        service = ArchivingService(store, settings, pace=pace)
        service.start()
        try:
            yield store, service
        finally:
            await service.stop(PATIENCE_S)


async def until(store: Store, is_true: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that a commit of the store brings about."""
    committed = asyncio.Event()
    store.on_commit(committed.set)
    async with asyncio.timeout(PATIENCE_S):
        while not await is_true():
            await committed.wait()
            committed.clear()


def is_archived(service: ArchivingService, but: int = 0) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return (await service.status()).backlog.pending_events == but

    return look


def end_of_archiver(settings: ArchiverSettings) -> int:
    """Run an archiver that is never told to end; its exit code."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "mcp_agent_mail.archiver"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as archiver:
        assert archiver.stdin is not None
        archiver.stdin.write(settings.to_line())
        archiver.stdin.flush()
        return archiver.wait(PATIENCE_S)


async def test_what_is_pending_at_start_is_committed_and_marked(tmp_path: Path) -> None:
    settings, project = prepare(tmp_path)

    async with archiving(tmp_path, settings) as (store, service):
        await until(store, is_archived(service))
        status = await service.status()

    assert status.last_commit_at is not None
    assert status.problems == {}
    assert status.lag_p99_s is not None
    assert "agents/RedStone/inbox" in git(tmp_path / "projects" / project.slug, "ls-tree", "-r", "--name-only", "main")


async def test_a_write_wakes_the_archiver(tmp_path: Path) -> None:
    settings, project = prepare(tmp_path)

    async with archiving(tmp_path, settings) as (store, service):
        await until(store, is_archived(service))
        await store.write(lambda tx: add_event(tx.outbox, project))
        await until(store, is_archived(service))

    assert len(sealed_seqs(tmp_path / "projects" / project.slug)) == 2


def add_event(outbox: Outbox, project: Project) -> None:
    event = NewEvent(
        project_id=project.id,
        kind=EventKind.PROJECT,
        agent_id=None,
        message_id=None,
        snapshot=project_snapshot(replace(project, archived_ts=system_clock())),
    )
    outbox.add(event, system_clock())


async def test_a_stop_drains_what_is_pending_and_leaves_a_clean_work_tree(tmp_path: Path) -> None:
    settings, project = prepare(tmp_path)

    async with archiving(tmp_path, settings) as (_, service):
        await service.stop(PATIENCE_S)
        status = await service.status()

    assert status.backlog.pending_events == 0
    assert git(tmp_path / "projects" / project.slug, "status", "--porcelain") == ""


async def test_the_stop_of_an_idle_archiver_is_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings, _ = prepare(tmp_path)

    async with archiving(tmp_path, settings) as (store, service):
        await until(store, is_archived(service))
        await service.stop(PATIENCE_S)

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert not service.waker.is_running


async def test_a_killed_archiver_is_followed_by_another(tmp_path: Path) -> None:
    settings, project = prepare(tmp_path)

    async with archiving(tmp_path, settings) as (store, service):
        await until(store, is_archived(service))
        first = (await service.status()).archiver_pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await store.write(lambda tx: add_event(tx.outbox, project))
        await until(store, is_archived(service))
        status, problem = await service.status(), service.problem()

    assert status.archiver_pid not in (None, first)
    assert status.restarts == 1
    assert problem is None


@pytest.mark.parametrize("point", [FailPoint.BEFORE_IMPORT, FailPoint.AFTER_IMPORT, FailPoint.BEFORE_MARK])
async def test_an_archiver_killed_by_the_kernel_leaves_nothing_undone_and_nothing_twice(
    tmp_path: Path, point: FailPoint
) -> None:
    settings, project = prepare(tmp_path)
    assert end_of_archiver(replace(settings, failpoint=Kill(point=point))) == -signal.SIGKILL

    async with archiving(tmp_path, settings) as (store, service):
        await until(store, is_archived(service))

    assert len(sealed_seqs(tmp_path / "projects" / project.slug)) == 1
    with open_archive_harness(tmp_path) as harness:
        assert harness.verify().findings == ()


async def test_a_command_without_a_server_brings_its_events_into_git_by_itself(tmp_path: Path) -> None:
    settings, _ = prepare(tmp_path)

    async with Store(tmp_path / "mail.sqlite3") as store:
        failed = await drain_in_process(store, settings, timeout_s=PATIENCE_S)

    assert failed == []
    with open_archive_harness(tmp_path) as harness:
        assert harness.verify().is_clean
        assert harness.verify().pending_events == 0


async def test_an_archive_that_cannot_be_written_shows_and_is_tried_again(tmp_path: Path) -> None:
    settings, project = prepare(tmp_path)
    place = tmp_path / "projects" / project.slug
    place.parent.mkdir()
    place.write_text("in the way")
    with open_archive_harness(tmp_path) as harness:
        stuck = harness.tx.outbox.count_pending(project.id)
        harness.add_project("/code/lib")

    async with archiving(tmp_path, settings) as (store, service):
        await until(store, is_archived(service, but=stuck))
        status, problem = await service.status(), service.problem()
        place.unlink()
        await until(store, is_archived(service))

    assert list(status.problems) == [project.slug]
    assert problem is not None
    assert problem.startswith(project.slug)


def test_a_child_inherits_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_BEARER_TOKEN", "secret")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")

    environment = plain_environment()

    assert {"HTTP_BEARER_TOKEN", "GIT_DIR"}.isdisjoint(environment)
    assert environment["PATH"] == os.environ["PATH"]


async def test_what_an_archiver_reported_is_forgotten_when_a_new_one_starts(tmp_path: Path) -> None:
    settings, project = prepare(tmp_path)
    in_the_way = tmp_path / "projects" / project.slug
    in_the_way.parent.mkdir(exist_ok=True)
    in_the_way.write_text("no archive")

    async with archiving(tmp_path, settings) as (store, service):
        async with asyncio.timeout(PATIENCE_S):
            while project.slug not in (await service.status()).problems:
                await asyncio.to_thread(pause)
        assert service.archiver_pid is not None
        # It must not find the way free itself: then it would say so.
        os.kill(service.archiver_pid, signal.SIGSTOP)
        in_the_way.unlink()
        os.kill(service.archiver_pid, signal.SIGKILL)
        await until(store, is_archived(service))
        status = await service.status()

    assert status.problems == {}
    assert status.restarts == 1


class UnreadableNow(Store):
    """A store that refuses every read while `is_sick`, as one on a sick disk does."""

    is_sick = False

    def read_now(self, query: Callable[[View], T]) -> T:
        if self.is_sick:
            raise StoreFailed("injected")
        return super().read_now(query)


async def test_a_store_that_cannot_be_read_for_a_moment_does_not_end_archiving(tmp_path: Path) -> None:
    settings, project = prepare(tmp_path)
    async with UnreadableNow(tmp_path / "mail.sqlite3") as store:
        service = ArchivingService(store, settings)
        store.is_sick = True
        service.start()
        async with asyncio.timeout(PATIENCE_S):
            while service.keeper.error is None:
                await asyncio.to_thread(pause)
        failing = service.keeper.figures()
        store.is_sick = False
        await store.write(lambda tx: add_event(tx.outbox, project))
        await until(store, is_archived(service))
        await service.stop(PATIENCE_S)

    assert failing.failing_since is not None
    assert service.keeper.error is None


@pytest.mark.parametrize("patience_s", [0.0, 3_600.0], ids=["which ended", "which waits"])
async def test_an_archiver_that_is_not_alone_says_who_holds_the_lock_and_no_traceback(
    patience_s: float, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings, _ = prepare(tmp_path)
    async with Store(tmp_path / "mail.sqlite3") as store:
        service = ArchivingService(store, replace(settings, lock_timeout_s=patience_s))
        with ArchiveLock(tmp_path / LOCK_FILE, timeout_s=0):
            service.start()
            async with asyncio.timeout(PATIENCE_S):
                while service.problem() is None or (patience_s == 0 and (await service.status()).restarts == 0):
                    await asyncio.to_thread(pause)
            problem, failing = service.problem(), service.keeper.error
            await service.stop(0.1)

    assert problem is not None
    assert problem.startswith(f"archiver: Process {os.getpid()} (")
    assert f"kill -9 {os.getpid()}" in problem
    assert failing is not None
    assert failing.startswith(f"Process {os.getpid()} (")
    assert "Traceback" not in capfd.readouterr().err


async def test_what_is_to_be_mended_is_unknown_until_an_archiver_has_looked(tmp_path: Path) -> None:
    settings, _ = prepare(tmp_path)
    async with Store(tmp_path / "mail.sqlite3") as store:
        service = ArchivingService(store, settings)
        before = service.care().workload

        await service._hear(Ready(pid=1, unfinished=3))

        assert before is None
        assert service.care().workload == Workload(unfinished=3)


async def test_no_archiver_is_started_on_another_file_and_one_that_opened_it_is_not_listened_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, _ = prepare(tmp_path)
    database = tmp_path / "mail.sqlite3"
    async with Store(database) as store:
        service = ArchivingService(store, settings)
        away = database.rename(tmp_path / "away.sqlite3")
        shutil.copy(away, database)

        monkeypatch.setattr(archiving_service, "_COMMAND", ("/usr/bin/touch", str(tmp_path / "started")))

        for refused in (service._run_once(), service._hear(Ready(pid=1))):
            with pytest.raises(DatabaseTakenAway):
                await refused
        assert not (tmp_path / "started").exists()
        away.replace(database)


async def test_a_failed_conversion_is_told_until_it_is_done_whatever_other_care_was_taken(tmp_path: Path) -> None:
    settings, _ = prepare(tmp_path)
    async with Store(tmp_path / "mail.sqlite3") as store:
        service = ArchivingService(store, settings)
        taken = CareTaken(project="app", packs=1, pack_bytes=1, index_bytes=1, files=1, is_thinned=False)

        await service._hear(Converted(project="app", is_done=False, problem="no room"))
        await service._hear(taken)
        failed = service.care()
        await service._hear(Converted(project="app", is_done=True))

        assert (failed.last_error, failed.converting) == ("app: no room", None)
        assert service.care().last_error is None
