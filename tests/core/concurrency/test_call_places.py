"""How many calls are at work at once, and that those who wait are not counted."""

from __future__ import annotations

import asyncio

import pytest

from mcp_agent_mail.core.concurrency.call_places import CallPlaces, TooManyCalls
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
