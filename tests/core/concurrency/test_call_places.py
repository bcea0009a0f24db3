"""How many calls are at work at once, and that those who wait are not counted."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack

import pytest

from mcp_agent_mail.core.concurrency.call_places import OPERATORS_PLACES, CallPlaces, TooManyCalls
from mcp_agent_mail.core.concurrency.work_place import give_up_place


async def _answer() -> str:
    return "done"


async def test_beyond_the_bound_nothing_of_a_call_is_begun() -> None:
    places = CallPlaces(1)
    with places.at_work():
        with pytest.raises(TooManyCalls):
            await places.run(_answer())
        refused = places.figures()

    assert (refused.at_work, refused.refused) == (1, 1)
    assert await places.run(_answer()) == "done"
    assert (places.figures().at_work, places.figures().most) == (0, 1)


async def test_a_call_that_fails_gives_its_place_back() -> None:
    places = CallPlaces(1)

    async def fail() -> None:
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        await places.run(fail())

    assert places.figures().at_work == 0


async def test_who_waits_gives_its_place_to_others_and_takes_none_again() -> None:
    places, may_end = CallPlaces(1), asyncio.Event()

    async def wait() -> str:
        give_up_place()
        await may_end.wait()
        give_up_place()
        return "waited"

    waiting = asyncio.create_task(places.run(wait()))
    await asyncio.sleep(0)
    with places.at_work():
        may_end.set()
        assert await waiting == "waited"
        assert places.figures().at_work == 1
    assert places.figures().at_work == 0


async def test_the_operator_has_places_beside_the_others_and_those_have_an_end_too() -> None:
    places = CallPlaces(1)

    async def answer() -> str:
        return "revoked"

    with ExitStack() as held:
        held.enter_context(places.at_work())
        with pytest.raises(TooManyCalls):
            await places.run(answer())
        assert await places.run(answer(), is_operators=True) == "revoked"
        for _ in range(OPERATORS_PLACES):
            held.enter_context(places.at_work(is_operators=True))
        with pytest.raises(TooManyCalls):
            await places.run(answer(), is_operators=True)


def test_calls_that_are_turned_away_are_a_line_in_the_log_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now_s = [0.0]
    places = CallPlaces(1, now=lambda: now_s[0])
    with caplog.at_level(logging.WARNING), places.at_work():
        for now_s[0] in (0.0, 1.0, 59.0, 60.0, 61.0):
            with pytest.raises(TooManyCalls), places.at_work():
                pass

    assert [vars(record)["facts"]["times"] for record in caplog.records] == [1, 3]
