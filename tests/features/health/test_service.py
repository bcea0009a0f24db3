"""Whether a server is well: tried on a real store, with an archiver that is told what it would report."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.events import ArchiveCommit, EventKind, NewEvent
from mcp_agent_mail.domain.store_limits import Shortage, StoreLimits, StoreSize
from mcp_agent_mail.features.archiving.protocol import ArchiverSettings, Failed
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.features.health.results import HealthStatus, ServerPlace, SweepFigures
from mcp_agent_mail.features.health.schemas import show_health
from mcp_agent_mail.features.health.service import ARCHIVE_LATE_S, HealthService
from mcp_agent_mail.features.health.store_size import StoreSizeFigures
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite.faults import DatabaseTakenAway
from tests.seeded_store import SeededStore, SetClock, add_project, open_seeded_store

PLACE = ServerPlace(
    environment="test", http_host="127.0.0.1", http_port=1, http_path="/mcp/", database_url="sqlite:///x", version="0"
)


@dataclass
class Ward:
    seeded: SeededStore
    archive: ArchivingService
    service: HealthService
    keepers: list[Keeper] = field(default_factory=list)

    async def status(self) -> tuple[HealthStatus, str | None]:
        health = await self.service.check()
        return health.status, health.archive_error

    async def leave_an_event(self) -> None:
        app = self.seeded.app
        event = NewEvent(project_id=app.id, kind=EventKind.PROJECT, agent_id=None, message_id=None, snapshot={})
        await self.seeded.store.write(lambda tx: tx.outbox.add(event, tx.now))


def archiving(store: Store, folder: Path) -> ArchivingService:
    """Never started: no process, no commits."""
    settings = ArchiverSettings(
        storage_root=str(folder),
        database_path=str(folder / "mail.sqlite3"),
        author_name="mcp-agent",
        author_email="mcp-agent@example.com",
        commit_interval_ms=500,
    )
    return ArchivingService(store, settings)


@pytest.fixture
async def ward(tmp_path: Path) -> AsyncIterator[Ward]:
    async with open_seeded_store(tmp_path) as seeded:
        archive = archiving(seeded.store, tmp_path)
        service = HealthService(seeded.store, PLACE, clock=seeded.clock, archive=archive)
        opened = Ward(seeded, archive, service)
        service.keepers = lambda: opened.keepers
        yield opened


async def test_a_server_whose_store_can_be_written_and_read_is_well(ward: Ward) -> None:
    health = await ward.service.check()

    assert (health.status, health.archive_error, health.failing) == (HealthStatus.OK, None, [])
    assert (health.owner_pid, health.place, health.sweep, health.workers) == (os.getpid(), PLACE, None, {})
    assert health.backlog is not None
    known = await ward.seeded.store.read(lambda view: (view.meta.store_id(), view.meta.schema_version()))
    assert (health.store_id, health.schema_version) == known
    assert await ward.service.is_ready()


async def test_the_check_has_written_to_the_store(ward: Ward) -> None:
    await ward.service.check()

    assert await ward.seeded.store.read(lambda view: view.meta.checked_at()) == ward.seeded.clock.now


async def test_when_git_last_heard_of_something_is_told(ward: Ward) -> None:
    await ward.leave_an_event()
    commit = ArchiveCommit(
        project_id=ward.seeded.app.id, hexsha="c" * 40, summary="s", authored_ts=Micros(5), last_seq=OutboxSeq(1)
    )
    await ward.seeded.store.write(lambda tx: tx.outbox.mark(commit))

    assert (await ward.service.check()).last_commit_at == 5


async def test_a_store_that_takes_no_writes_any_more_is_ready_to_be_read_and_not_well(ward: Ward) -> None:
    await ward.seeded.store._writer.close()

    health = await ward.service.check()

    assert await ward.service.is_ready()
    assert (health.status, health.backlog, health.store_id) == (HealthStatus.ERROR, None, None)
    assert (health.last_commit_at, health.schema_version) == (None, None)


async def test_a_store_whose_file_was_taken_away_is_not_ready_and_says_why(ward: Ward) -> None:
    ward.seeded.store.path.unlink()

    health = await ward.service.check()

    assert health.status is HealthStatus.ERROR
    assert "deleted, moved or replaced" in str(health.store_problem)
    with pytest.raises(DatabaseTakenAway):
        await ward.service.is_ready()


async def test_a_store_without_room_for_more_is_ready_served_and_not_well(ward: Ward) -> None:
    growth = ward.seeded.store.growth
    growth.note(Shortage.TOO_LARGE, StoreLimits(max_used=1, min_free=0), StoreSize(used=2, free=0))

    health = await ward.service.check()

    assert await ward.service.is_ready()
    assert (health.status, health.store_problem) == (HealthStatus.DEGRADED, growth.problem)
    assert growth.problem is not None


async def test_what_the_store_takes_is_told_where_it_is_measured(ward: Ward) -> None:
    figures = StoreSizeFigures(used_bytes=3, free_bytes=4, is_whole=True)
    measured = HealthService(
        ward.seeded.store, PLACE, clock=ward.seeded.clock, archive=ward.archive, store_size=lambda: figures
    )

    shown = [show_health(await service.check(), caller=None)["store"] for service in (measured, ward.service)]

    assert [(one["used_bytes"], one["free_bytes"], one["last_error"]) for one in shown] == [
        (3, 4, None),
        (None, None, None),
    ]


async def test_a_writer_that_hangs_is_an_answer_too(ward: Ward) -> None:
    ward.service.patience_s = 0.01
    begun, goes_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def hang(_: object) -> None:
        loop.call_soon_threadsafe(begun.set)
        goes_on.wait()

    hanging = asyncio.create_task(ward.seeded.store.write(hang))
    await begun.wait()
    try:
        status, _ = await ward.status()
    finally:
        goes_on.set()
        await hanging

    assert status is HealthStatus.ERROR


async def test_an_event_that_waits_too_long_for_git_degrades_though_nobody_reported_why(ward: Ward) -> None:
    await ward.leave_an_event()
    ward.seeded.clock.step(ARCHIVE_LATE_S)
    in_time = await ward.status()
    ward.seeded.clock.step(1)

    late = await ward.status()

    assert in_time == (HealthStatus.OK, None)
    assert late == (HealthStatus.DEGRADED, "1 events wait for Git, the oldest for 31 s.")


async def test_what_the_archiver_reported_is_told_before_what_a_late_event_says(ward: Ward) -> None:
    await ward.leave_an_event()
    ward.seeded.clock.step(ARCHIVE_LATE_S + 1)
    await ward.archive._hear(Failed(project="code-app", part="archive", message="No space.", hint="Make some."))

    assert await ward.status() == (HealthStatus.DEGRADED, "code-app archive: No space. Make some.")


async def test_a_task_beside_the_requests_that_fails_degrades_and_is_named(ward: Ward) -> None:
    async def work() -> None:
        """Nothing to do."""

    well, sick = Keeper("sweeper", work), Keeper("retention", work)
    ward.keepers += [well, sick]
    before = await ward.status()
    sick.failed(OSError("the disk is gone"))

    health = await ward.service.check()

    assert before[0] is HealthStatus.OK
    assert health.status is HealthStatus.DEGRADED
    assert [(figures.task, figures.error) for figures in health.failing] == [("retention", "the disk is gone")]


async def test_what_works_beside_the_requests_is_shown(tmp_path: Path) -> None:
    clock = SetClock()
    sweep = SweepFigures(releases_idle=True, swept_at=None, expired=1, released_idle=2, last_error=None)
    async with Store(tmp_path / "mail.sqlite3", clock=clock) as store:
        await store.write(lambda tx: add_project(tx, "/code/app"))
        service = HealthService(
            store,
            PLACE,
            clock=clock,
            archive=archiving(store, tmp_path),
            sweep=lambda: sweep,
            workers=lambda: {"retention": {"old": 3}},
        )

        health = await service.check()

    assert (health.sweep, health.workers) == (sweep, {"retention": {"old": 3}})
