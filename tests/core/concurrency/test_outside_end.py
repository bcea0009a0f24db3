"""What ends code from outside of it, and what it raised of itself."""

from __future__ import annotations

import asyncio

import pytest

from mcp_agent_mail.core.concurrency.outside_end import is_from_outside, running_task


async def judged(seen: list[bool], end: BaseException | None, begun: asyncio.Event | None = None) -> None:
    """Raise `end`, or wait to be ended; what that was is judged."""
    task = running_task()
    try:
        if end is not None:
            raise end
        if begun is not None:
            begun.set()
        await asyncio.Event().wait()
    except BaseException as ended:
        seen.append(is_from_outside(ended, task))
        raise


@pytest.mark.parametrize("end", [ValueError(), asyncio.CancelledError(), GeneratorExit(), BaseException()])
async def test_what_code_raises_of_itself_is_not_from_outside(end: BaseException) -> None:
    seen = list[bool]()

    with pytest.raises(type(end)):
        await judged(seen, end)

    assert seen == [False]


async def test_a_task_that_is_cancelled_ends_from_outside() -> None:
    seen, begun = list[bool](), asyncio.Event()
    task = asyncio.create_task(judged(seen, None, begun))
    await begun.wait()

    task.cancel()
    await asyncio.wait({task})

    assert seen == [True]


async def test_a_coroutine_that_is_thrown_away_ends_from_outside() -> None:
    seen = list[bool]()
    coroutine = judged(seen, None)

    async def begin() -> None:
        coroutine.send(None)

    await asyncio.create_task(begin())
    coroutine.close()

    assert seen == [True]


def test_without_a_task_an_end_counts_as_from_outside() -> None:
    assert running_task() is None
    assert is_from_outside(GeneratorExit(), None)
    assert not is_from_outside(ValueError(), None)
