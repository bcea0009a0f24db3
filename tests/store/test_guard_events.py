from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.guard.decision import GuardOutcome
from mcp_agent_mail.domain.guard.events import GuardEvent, NewGuardEvent
from mcp_agent_mail.store.guard_events import GuardEvents
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


def event(number: int, *, at: int | None = None) -> NewGuardEvent:
    return NewGuardEvent(
        event_key=f"{number:032x}",
        ts=Micros(number if at is None else at),
        project="/code/app",
        action=GuardOutcome.REFUSED,
        hook="pre-commit",
        agent="BlueLake",
        repository="/code/app",
        detail="{}",
    )


Report = tuple[NewGuardEvent, ProjectId | None, AgentId | None]


async def add(seeded: SeededStore, *reports: Report, kept: int = 100, kept_of_one: int = 100) -> list[bool]:
    def unit(tx: Tx) -> list[bool]:
        events = GuardEvents(tx.guard_events._connection, kept=kept, kept_of_one=kept_of_one)
        return [events.add(*report) for report in reports]

    return await seeded.store.write(unit)


async def times(seeded: SeededStore) -> list[int]:
    return times_of(await seeded.store.read(lambda view: view.guard_events.list_all(100)))


def times_of(events: Sequence[GuardEvent]) -> list[int]:
    return [one.ts for one in events]


async def test_an_event_is_read_back_as_it_was_reported(seeded: SeededStore) -> None:
    new = event(7)

    await add(seeded, (new, seeded.app.id, None))

    (found,) = await seeded.store.read(lambda view: view.guard_events.list_(seeded.app.id, 9))
    fields = NewGuardEvent.__dataclass_fields__
    assert {name: getattr(found, name) for name in fields} == {name: getattr(new, name) for name in fields}
    assert found.project_id == seeded.app.id


async def test_a_repeat_is_not_stored_again(seeded: SeededStore) -> None:
    report: Report = (event(1), seeded.app.id, None)

    assert await add(seeded, report, report) == [True, False]
    assert await times(seeded) == [1]


async def test_lists_are_newest_first_by_the_time_of_the_event_and_of_one_project(seeded: SeededStore) -> None:
    await add(seeded, *((event(number, at=at), seeded.app.id, None) for number, at in ((1, 30), (2, 10), (3, 20))))
    await add(seeded, (event(4, at=40), seeded.lib.id, None))

    of_app = await seeded.store.read(lambda view: view.guard_events.list_(seeded.app.id, 2))

    assert times_of(of_app) == [30, 20]
    assert await times(seeded) == [40, 30, 20, 10]


async def test_an_event_of_a_key_that_no_project_has_is_in_the_list_of_all(seeded: SeededStore) -> None:
    await add(seeded, (event(1), None, None))

    (found,) = await seeded.store.read(lambda view: view.guard_events.list_all(9))

    assert (found.project, found.project_id) == ("/code/app", None)


async def test_only_the_newest_of_a_project_are_kept(seeded: SeededStore) -> None:
    await add(seeded, (event(1), seeded.lib.id, None))

    await add(seeded, *((event(number), seeded.app.id, None) for number in range(2, 9)), kept=3)

    assert await times(seeded) == [8, 7, 6, 1]


async def test_one_reporters_flood_displaces_only_its_own(seeded: SeededStore) -> None:
    await add(seeded, (event(1), seeded.app.id, seeded.blue.id), (event(2), seeded.app.id, None))

    await add(seeded, *((event(number), seeded.app.id, seeded.red.id) for number in range(3, 9)), kept_of_one=3)

    assert await times(seeded) == [8, 7, 6, 2, 1]


async def test_a_repeat_displaces_nothing(seeded: SeededStore) -> None:
    reports: list[Report] = [(event(number), seeded.app.id, seeded.red.id) for number in (1, 2, 3)]
    await add(seeded, *reports)

    await add(seeded, reports[2], kept=1, kept_of_one=1)

    assert await times(seeded) == [3, 2, 1]
