"""Senders keep to the archive's pace when a burst overruns it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mcp_agent_mail.features.archiving.backpressure import Backpressure
from tests.features.archiving.test_service import archiving, is_archived, prepare, until

LONG_S = 30.0


async def test_a_sender_waits_while_the_archives_are_far_behind_and_goes_on_when_they_are_not() -> None:
    pace = Backpressure(far_behind=10, wait_at_most_s=LONG_S)
    pace.note(11, is_failing=False)
    sender = asyncio.create_task(pace.keep())
    await asyncio.sleep(0)
    held_back = not sender.done()

    pace.note(10, is_failing=False)

    await sender
    assert held_back


async def test_nobody_waits_for_an_archive_that_fails() -> None:
    pace = Backpressure(far_behind=10, wait_at_most_s=LONG_S)
    pace.note(11, is_failing=False)

    pace.note(1_000_000, is_failing=True)

    async with asyncio.timeout(LONG_S / 2):
        await pace.keep()


async def test_a_wait_ends_by_itself() -> None:
    pace = Backpressure(far_behind=10, wait_at_most_s=0.01)
    pace.note(11, is_failing=False)

    async with asyncio.timeout(LONG_S):
        await pace.keep()


async def test_who_is_in_no_hurry_waits_longer_and_no_longer_than_it_must() -> None:
    pace = Backpressure(far_behind=10, wait_at_most_s=0.0)
    pace.note(11, is_failing=False)
    patient = asyncio.create_task(pace.keep_longer(LONG_S))
    await pace.keep()
    held_back = not patient.done()

    pace.note(10, is_failing=False)

    async with asyncio.timeout(LONG_S / 2):
        await patient
    assert held_back


async def test_the_pace_is_told_what_is_pending_after_every_commit(tmp_path: Path) -> None:
    settings, _ = prepare(tmp_path)
    noted: list[tuple[int, bool]] = []

    class Noting(Backpressure):
        def note(self, pending_events: int, *, is_failing: bool) -> None:
            noted.append((pending_events, is_failing))

    async with archiving(tmp_path, settings, pace=Noting()) as (store, service):
        await until(store, is_archived(service))

    assert noted[-1] == (0, False)
