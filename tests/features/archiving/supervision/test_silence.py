"""An archiver that answers no more: told, and in the end replaced. One that only works long is neither."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.features.archiving.protocol import PING, ArchiverSettings, Pong, Ready
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.features.archiving.supervision.silence import Silence, SilenceLimits
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx
from tests.archive_harness import open_archive_harness
from tests.served import pause

T = TypeVar("T")

LIMIT_S = 30.0
FOREVER = 1_000_000
NOW = Micros(1_800_000_000 * SECOND)


def prepare(root: Path) -> ArchiverSettings:
    """A store with mail, all of it pending."""
    with open_archive_harness(root) as harness:
        project = harness.add_project("/code/app")
        harness.send(harness.add_agent(project, "BlueLake"), [harness.add_agent(project, "RedStone")])
        return harness.settings


def send(root: Path) -> None:
    with open_archive_harness(root) as harness:
        harness.add_project("/code/lib")


@asynccontextmanager
async def archiving(root: Path, patience: SilenceLimits, store: Store) -> AsyncIterator[ArchivingService]:
    settings = prepare(root)
    async with store:
        service = ArchivingService(store, settings, patience=patience)
        service.start()
        try:
            yield service
        finally:
            await service.stop(LIMIT_S)


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not is_true():
            await asyncio.to_thread(pause)


async def until_archived(service: ArchivingService) -> None:
    async with asyncio.timeout(LIMIT_S):
        while (await service.status()).backlog.pending_events:
            await asyncio.to_thread(pause)


async def test_a_stopped_archiver_is_told_once_and_is_well_again_when_it_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path / "mail.sqlite3")
    patience = SilenceLimits(ask_every_s=0.05, told_after=2, killed_after=FOREVER)
    async with archiving(tmp_path, patience, store) as service:
        await until_archived(service)
        pid = service.archiver_pid
        assert pid is not None
        caplog.clear()
        os.kill(pid, signal.SIGSTOP)
        await until(lambda: service.problem() is not None)
        told, failing = service.problem(), service.keeper.figures()
        log = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        os.kill(pid, signal.SIGCONT)
        await until(lambda: service.problem() is None and service.keeper.error is None)
        status = await service.status()

    assert told is not None
    assert told.startswith(f"archiver: The archiver (process {pid}) has given no sign of life since 20")
    assert failing.error is not None
    assert failing.error.startswith(f"The archiver (process {pid}) has given no sign of life since 20")
    assert failing.failing_since is not None
    assert log == ["archiver failed; it is tried again"]
    assert (status.archiver_pid, status.restarts) == (pid, 0)


async def test_an_archiver_that_stays_silent_is_replaced(tmp_path: Path) -> None:
    store = Store(tmp_path / "mail.sqlite3")
    async with archiving(tmp_path, SilenceLimits(ask_every_s=0.2, told_after=2, killed_after=5), store) as service:
        await until_archived(service)
        first = service.archiver_pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        send(tmp_path)
        await until(lambda: service.archiver_pid not in (None, first))
        last_error = (await service.status()).last_error
        await until_archived(service)
        await until(lambda: service.problem() is None)

    assert last_error == f"archiver: The archiver (process {first}) gave no sign of life and was killed."


class HeldStore(Store):
    """A store whose writer takes as long as `gate` says."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gate = asyncio.Event()
        self.is_waited_for = asyncio.Event()

    async def write(self, unit: Callable[[Tx], T], *, unheard: Callable[[Tx, T], object] | None = None) -> T:
        self.is_waited_for.set()
        await self.gate.wait()
        return await super().write(unit, unheard=unheard)


async def test_an_archiver_whose_commit_is_not_marked_yet_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may stand at a full pipe, and what it has answered is not read."""
    store = HeldStore(tmp_path / "mail.sqlite3")
    patience = SilenceLimits(ask_every_s=0.02, told_after=FOREVER, killed_after=FOREVER)
    lines: list[bytes] = []
    tell = ArchivingService._tell

    def noted(service: ArchivingService, line: bytes) -> None:
        lines.append(line)
        tell(service, line)

    monkeypatch.setattr(ArchivingService, "_tell", noted)
    async with archiving(tmp_path, patience, store) as service:
        async with asyncio.timeout(LIMIT_S):
            await store.is_waited_for.wait()
        lines.clear()
        for _ in range(10):
            await asyncio.sleep(patience.ask_every_s)
        while_marking = list(lines)
        store.gate.set()
        await until_archived(service)
        await until(lambda: PING in lines)

    assert PING not in while_marking


def silence(*, lock_timeout_s: float = 0.0) -> Silence:
    patience = SilenceLimits(ask_every_s=5.0, told_after=3, killed_after=12)
    return Silence(77, patience, lock_timeout_s=lock_timeout_s, now=NOW)


def asked(waits: Silence, times: int) -> tuple[bool, bool]:
    for _ in range(times):
        waits.note_question()
    return waits.is_long, waits.is_too_long


def test_so_many_questions_without_an_answer_are_told_and_so_many_more_end_it() -> None:
    waits = silence()

    assert asked(waits, 2) == (False, False)
    assert asked(waits, 1) == (True, False)
    assert asked(waits, 9) == (True, True)
    assert str(waits.told()).startswith("The archiver (process 77) has given no sign of life since 2027-01-15T08:00:00")
    assert "for 45 s more it is killed" in waits.told().hint


def test_any_report_answers_all_questions() -> None:
    waits = silence()
    asked(waits, 11)

    waits.note_report(Pong(), NOW)

    assert asked(waits, 2) == (False, False)


def test_who_waits_for_its_lock_is_waited_for_so_much_longer() -> None:
    waits = silence(lock_timeout_s=30.0)

    assert asked(waits, 8) == (False, False)
    assert asked(waits, 1) == (True, False)

    waits.note_report(Ready(pid=77), NOW)

    assert asked(waits, 3) == (True, False)
