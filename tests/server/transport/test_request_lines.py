"""How many requests begin in one round of the event loop, and whose are next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar

import pytest

from mcp_agent_mail.server.transport.request_lines import RequestLines, line_of

WHOSE: ContextVar[str] = ContextVar("whose", default="nobody's")


async def _rounds(starts: RequestLines, lines: Sequence[str]) -> list[list[str]]:
    """What has begun, round after round, of one request in each of the lines: the line and its place among all."""
    begun: list[str] = []
    for place, line in enumerate(lines):
        starts.begin(lambda name=f"{line}{place}": begun.append(name), lambda line=line: line)  # type: ignore[misc]  # bound at once
    rounds = []
    while begun:
        rounds.append(list(begun))
        begun.clear()
        await asyncio.sleep(0)
    return rounds


async def test_what_fits_begins_at_once_and_the_rest_in_the_next_rounds_in_order() -> None:
    assert await _rounds(RequestLines(3), "aaaaaaaa") == [["a0", "a1", "a2"], ["a3", "a4", "a5"], ["a6", "a7"]]


async def test_lines_are_served_in_rotation() -> None:
    assert await _rounds(RequestLines(2), "aaaaaabc") == [["a0", "a1"], ["a2", "b6"], ["c7", "a3"], ["a4", "a5"]]


async def test_after_a_round_as_many_may_begin_at_once_again() -> None:
    starts = RequestLines(2)
    await _rounds(starts, "aaaaa")

    assert await _rounds(starts, "aa") == [["a0", "a1"]]


async def test_who_comes_later_is_behind_those_who_wait() -> None:
    starts, begun = RequestLines(1), list[str]()
    for name in ("first", "second"):
        starts.begin(lambda name=name: begun.append(name), lambda: "a")  # type: ignore[misc]  # bound at once
    await asyncio.sleep(0)
    starts.begin(lambda: begun.append("third"), lambda: "a")
    before = list(begun)
    await asyncio.sleep(0)

    assert (before, begun) == (["first", "second"], ["first", "second", "third"])


async def test_what_begins_later_finds_nothing_that_another_request_has_set() -> None:
    starts, found = RequestLines(1), list[str]()

    async def request() -> None:
        WHOSE.set("another's")
        for _ in range(2):
            starts.begin(lambda: found.append(WHOSE.get()), lambda: "a")

    await asyncio.create_task(request())
    await asyncio.sleep(0)

    assert found == ["another's", "nobody's"]


@pytest.mark.parametrize(
    ("headers", "line"),
    [
        ([(b"x-agent-token", b"amt_one"), (b"authorization", b"Bearer all")], b"amt_one"),
        ([(b"authorization", b"Bearer all")], b"Bearer all"),
        ([(b"accept", b"*/*")], "10.0.0.7"),
    ],
)
def test_a_line_is_of_a_token_or_an_address(headers: list[tuple[bytes, bytes]], line: bytes | str) -> None:
    assert line_of(headers, "10.0.0.7") == line
