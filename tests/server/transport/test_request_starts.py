"""How many requests begin in one round of the event loop."""

from __future__ import annotations

import asyncio

from mcp_agent_mail.server.transport.request_starts import RequestStarts


async def _rounds(starts: RequestStarts, count: int) -> list[list[int]]:
    """What has begun, round after round, of as many as came in the first."""
    begun: list[int] = []
    for number in range(count):
        starts.begin(lambda number=number: begun.append(number))  # type: ignore[misc]  # bound at once
    rounds = []
    while begun or len(rounds) < 2:
        rounds.append(list(begun))
        begun.clear()
        await asyncio.sleep(0)
    return rounds


async def test_what_fits_begins_at_once_and_the_rest_in_the_next_rounds_in_order() -> None:
    assert await _rounds(RequestStarts(3), 8) == [[0, 1, 2], [3, 4, 5], [6, 7]]


async def test_after_a_round_as_many_may_begin_at_once_again() -> None:
    starts = RequestStarts(2)
    await _rounds(starts, 5)

    assert await _rounds(starts, 2) == [[0, 1], []]


async def test_who_comes_later_is_behind_those_who_wait() -> None:
    starts, begun = RequestStarts(1), list[str]()
    starts.begin(lambda: begun.append("first"))
    starts.begin(lambda: begun.append("second"))
    await asyncio.sleep(0)
    starts.begin(lambda: begun.append("third"))
    before = list(begun)
    await asyncio.sleep(0)

    assert (before, begun) == (["first", "second"], ["first", "second", "third"])
