from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mcp_agent_mail.core.concurrency.turns import TooMuchAtOnce, TurnBounds, Turns


def _turns(
    *, places: int = 1, places_each: int = 1, waiting_each: int = 9, waiting: int = 99, within_s: float = 60.0
) -> Turns:
    bounds = TurnBounds(
        places=places, places_each=places_each, waiting_each=waiting_each, waiting=waiting, within_s=within_s
    )
    return Turns("toys", bounds)


async def _until_all_wait() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@asynccontextmanager
async def _asked(turns: Turns, *callers: str) -> AsyncIterator[list[str]]:
    """Who gets a turn, in order, once whoever had the first place gives it back."""
    served: list[str] = []

    async def ask(caller: str) -> None:
        async with turns.turn(caller):
            served.append(caller)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks, turns.turn("first"):
        for caller in callers:
            tasks.create_task(ask(caller))
        await _until_all_wait()
        yield served


async def test_callers_are_served_in_rotation_however_often_one_asks() -> None:
    async with _asked(_turns(), "many", "many", "many", "many", "one", "two", "one") as served:
        assert served == []

    assert served == ["many", "one", "two", "many", "one", "many", "many"]


async def test_one_caller_leaves_places_to_others() -> None:
    turns = _turns(places=3, places_each=2)
    async with turns.turn("many"), turns.turn("many"):
        third = asyncio.create_task(turns.turn("many").__aenter__())
        await _until_all_wait()
        async with turns.turn("one"):
            assert not third.done()
        third.cancel()
        await asyncio.gather(third, return_exceptions=True)


async def test_a_full_line_is_a_refusal_that_says_when_to_call_again() -> None:
    async with _asked(_turns(waiting_each=2), "many", "many", "one"):
        turns = _turns(waiting_each=0)
        async with turns.turn("many"):
            with pytest.raises(TooMuchAtOnce) as refused:
                await turns.turn("many").__aenter__()

    assert (refused.value.code, refused.value.data) == ("UNAVAILABLE", {"retry_after_s": 1})
    assert refused.value.hint == "Call again in 1 s."


async def test_all_lines_together_have_a_bound() -> None:
    turns = _turns(waiting=2)
    async with _asked(turns, "one", "two"):
        with pytest.raises(TooMuchAtOnce):
            await turns.turn("three").__aenter__()


async def test_who_waits_too_long_is_refused_and_leaves_the_line() -> None:
    turns = _turns(within_s=0)
    async with turns.turn("one"):
        with pytest.raises(TooMuchAtOnce):
            await turns.turn("two").__aenter__()
    async with turns.turn("two"):
        pass


async def test_a_caller_that_is_cancelled_strands_nobody() -> None:
    turns = _turns()
    async with turns.turn("first"):
        gone = asyncio.create_task(turns.turn("gone").__aenter__())
        await _until_all_wait()
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
    async with turns.turn("next"):
        pass


async def test_a_place_that_is_given_to_a_cancelled_caller_is_given_on() -> None:
    turns = _turns()
    first = turns.turn("first")
    await first.__aenter__()
    gone = asyncio.create_task(turns.turn("gone").__aenter__())
    await _until_all_wait()
    await first.__aexit__(None, None, None)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    async with turns.turn("next"):
        pass
