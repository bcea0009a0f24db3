"""Steps that evidence proves: noted in memory, bounded, written in groups, and never made up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.features.delivery import marks as module
from mcp_agent_mail.features.delivery.marks import DeliveryMarks
from mcp_agent_mail.store.engine.writer import Unit
from tests.seeded_store import SeededStore, open_seeded_store


@dataclass
class Noting:
    seeded: SeededStore
    marks: DeliveryMarks

    @property
    def red(self) -> AgentId:
        return self.seeded.red.id

    async def letters(self, count: int) -> list[MessageId]:
        """To RedStone."""
        letter, to = self.seeded.letter(self.seeded.blue), self.seeded.addressed([self.seeded.red])
        posted = [await self.seeded.post(letter, *to) for _ in range(count)]
        return [message.id for message, _ in posted]

    def rows(self) -> list[tuple[bool, bool]]:
        """Which copies are handed over, and shown; in the order sent."""
        found: list[Any] = self.seeded.store._reading.execute(
            "SELECT handed_ts IS NOT NULL, shown_ts IS NOT NULL FROM recipients ORDER BY message_id"
        ).fetchall()
        return [(bool(handed), bool(shown)) for handed, shown in found]


@pytest.fixture
async def noting(tmp_path: Path) -> AsyncIterator[Noting]:
    async with open_seeded_store(tmp_path) as seeded:
        yield Noting(seeded, DeliveryMarks(seeded.store, clock=seeded.clock, interval_s=3_600))


async def test_what_is_noted_is_lost_by_a_kill_and_written_by_a_close(noting: Noting) -> None:
    ids = await noting.letters(2)
    noting.marks.note_handed(noting.red, ids)
    noting.marks.note_shown(noting.red, ids[:1])

    as_after_a_kill = noting.rows()
    await noting.marks.close()

    assert as_after_a_kill == [(False, False), (False, False)]
    assert noting.rows() == [(True, True), (True, False)]


async def test_it_is_written_at_each_interval_by_itself(noting: Noting) -> None:
    (message_id,) = await noting.letters(1)
    written = asyncio.Event()
    marks = DeliveryMarks(noting.seeded.store, clock=noting.seeded.clock, interval_s=0)
    noting.seeded.store.on_commit(written.set)

    marks.note_handed(noting.red, [message_id])
    await written.wait()

    assert noting.rows() == [(True, False)]
    await marks.close()


async def test_nothing_is_shown_that_was_not_noted_to_be_handed_over(noting: Noting) -> None:
    (message_id,) = await noting.letters(1)

    noting.marks.note_shown(noting.red, [message_id])
    unshown = noting.marks.without_shown(noting.red, [message_id])
    await noting.marks.close()

    assert unshown == (message_id,)
    assert noting.rows() == [(False, False)]


async def test_the_first_time_stands_and_a_clock_set_back_reverses_nothing(noting: Noting) -> None:
    (message_id,) = await noting.letters(1)
    noting.seeded.clock.step(-100)
    noting.marks.note_handed(noting.red, [message_id])
    noting.seeded.clock.step(-100)
    noting.marks.note_shown(noting.red, [message_id])
    await noting.marks.write()
    times = "SELECT delivered_ts, handed_ts, shown_ts FROM recipients"
    before = noting.seeded.store._reading.execute(times).fetchone()

    noting.seeded.clock.step(1_000)
    noting.marks.note_handed(noting.red, [message_id])
    noting.marks.note_shown(noting.red, [message_id])
    await noting.marks.close()

    assert noting.seeded.store._reading.execute(times).fetchone() == before
    assert list(before) == sorted(before)


async def test_what_was_written_is_not_written_again(noting: Noting, monkeypatch: pytest.MonkeyPatch) -> None:
    (message_id,) = await noting.letters(1)
    noting.marks.note_handed(noting.red, [message_id])
    noting.marks.note_shown(noting.red, [message_id])
    await noting.marks.write()
    units = list[Unit[None]]()

    async def keep(unit: Unit[None]) -> None:
        units.append(unit)

    monkeypatch.setattr(noting.seeded.store, "write", keep)

    noting.marks.note_handed(noting.red, [message_id])
    noting.marks.note_shown(noting.red, [message_id])
    await noting.marks.close()

    assert noting.marks.without_shown(noting.red, [message_id]) == ()
    assert units == []


async def test_full_it_notes_no_more_and_all_that_was_noted_is_written(noting: Noting) -> None:
    ids = await noting.letters(3)
    marks = DeliveryMarks(noting.seeded.store, clock=noting.seeded.clock, interval_s=3_600, max_noted=2)

    marks.note_handed(noting.red, ids)
    marks.note_shown(noting.red, ids)
    await marks.close()

    assert noting.rows() == [(True, True), (True, True), (False, False)]


async def test_many_are_written_in_several_units(noting: Noting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 2)
    ids = await noting.letters(5)
    noting.marks.note_handed(noting.red, ids)
    noting.marks.note_shown(noting.red, ids)

    await noting.marks.close()

    assert noting.rows() == [(True, True)] * 5


async def test_what_the_store_refuses_stays_noted(noting: Noting, monkeypatch: pytest.MonkeyPatch) -> None:
    (message_id,) = await noting.letters(1)
    noting.marks.note_handed(noting.red, [message_id])

    async def refuse(_unit: Unit[None]) -> None:
        raise Unavailable("The store is busy.")

    with monkeypatch.context() as patched:
        patched.setattr(noting.seeded.store, "write", refuse)
        with pytest.raises(Unavailable):
            await noting.marks.write()
    await noting.marks.close()

    assert noting.rows() == [(True, False)]


async def test_two_may_write_at_once(noting: Noting) -> None:
    ids = await noting.letters(2)
    noting.marks.note_handed(noting.red, ids)
    noting.marks.note_shown(noting.red, ids)

    await asyncio.gather(noting.marks.write(), noting.marks.write())

    assert noting.rows() == [(True, True), (True, True)]


async def test_a_late_writer_does_not_take_back_what_another_has_written(
    noting: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    (message_id,) = await noting.letters(1)
    noting.marks.note_handed(noting.red, [message_id])
    write, is_held, is_let_go = noting.seeded.store.write, asyncio.Event(), asyncio.Event()

    async def hold(unit: Unit[None]) -> None:
        is_held.set()
        await is_let_go.wait()
        await write(unit)

    with monkeypatch.context() as patched:
        patched.setattr(noting.seeded.store, "write", hold)
        late = asyncio.create_task(noting.marks.write())
        await is_held.wait()
    noting.marks.note_shown(noting.red, [message_id])
    await noting.marks.write()
    is_let_go.set()
    await late

    assert noting.marks.without_shown(noting.red, [message_id]) == ()


async def test_nothing_is_shown_before_the_unit_that_hands_it_over(
    noting: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 1)
    ids = await noting.letters(2)
    noting.marks.note_handed(noting.red, ids)
    noting.marks.note_shown(noting.red, reversed(ids))

    await noting.marks.close()

    assert noting.rows() == [(True, True), (True, True)]


async def test_what_is_known_to_be_written_is_bounded(noting: Noting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WRITTEN", 2)
    ids = await noting.letters(3)
    noting.marks.note_handed(noting.red, ids)
    noting.marks.note_shown(noting.red, ids)

    await noting.marks.write()

    assert noting.marks.without_shown(noting.red, ids) == (ids[0],)
    await noting.marks.close()


async def test_of_an_agent_of_which_nothing_is_known_any_more_nothing_is_kept(
    noting: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WRITTEN", 0)
    ids = await noting.letters(2)
    noting.marks.note_handed(noting.red, ids)
    noting.marks.note_shown(noting.red, ids)

    await noting.marks.close()

    assert noting.marks._settled == {}


async def test_steps_shown_that_wait_are_bounded_too(noting: Noting) -> None:
    ids = await noting.letters(2)
    marks = DeliveryMarks(noting.seeded.store, clock=noting.seeded.clock, interval_s=3_600, max_noted=1)
    for message_id in ids:
        marks.note_handed(noting.red, [message_id])
        await marks.write()

    marks.note_shown(noting.red, ids)
    await marks.close()

    assert noting.rows() == [(True, True), (True, False)]


async def test_a_close_that_the_store_refuses_ends_and_is_logged(
    noting: Noting, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (message_id,) = await noting.letters(1)
    noting.marks.note_handed(noting.red, [message_id])

    async def refuse(_unit: Unit[None]) -> None:
        raise Unavailable("The store is busy.")

    with monkeypatch.context() as patched:
        patched.setattr(noting.seeded.store, "write", refuse)
        await noting.marks.close()

    assert [record.message for record in caplog.records] == ["the last steps of delivery were not written"]
