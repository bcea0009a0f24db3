"""What a keeper promises of any task."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.concurrency.keeper import LAST_PAUSE_S, Keeper
from mcp_agent_mail.core.errors import Unavailable


class Rests(Keeper):
    """Rests for no time, and remembers for how long it would have."""

    def __init__(self, work: Callable[[], Awaitable[None]], *, elapsed: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__("tests", work, clock=lambda: Micros(0), elapsed=elapsed)
        self.rested: list[float] = []

    async def rest(self, seconds: float) -> None:
        self.rested.append(seconds)
        await asyncio.sleep(0)


def failing(*errors: BaseException) -> Callable[[], Awaitable[None]]:
    """Raises each once, then comes to its end."""
    left = list(errors)

    async def work() -> None:
        if left:
            raise left.pop(0)

    return work


async def ended(keeper: Keeper) -> None:
    assert keeper._task is not None
    await keeper._task


async def test_pauses_grow_to_a_bound() -> None:
    keeper = Rests(failing(*[OSError("sick")] * 12))

    keeper.start()
    await ended(keeper)

    assert keeper.rested[:3] == [0.2, 0.4, 0.8]
    assert keeper.rested[-1] == LAST_PAUSE_S
    assert keeper.figures().restarts == 12


async def test_who_worked_for_a_while_begins_with_the_first_pause_again() -> None:
    hours = iter(range(0, 36_000, 3_600))
    keeper = Rests(failing(*[OSError("sick")] * 3), elapsed=lambda: next(hours))

    keeper.start()
    await ended(keeper)

    assert keeper.rested == [0.2, 0.2, 0.2]


async def test_each_end_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    keeper = Rests(failing(OSError("sick"), OSError("sick"), Unavailable("full")))

    with caplog.at_level(logging.WARNING):
        keeper.start()
        await ended(keeper)

    assert len(caplog.records) == 3


async def test_of_work_that_goes_on_the_same_error_is_logged_once_and_another_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    keeper = Rests(failing())

    with caplog.at_level(logging.WARNING):
        for error in (OSError("sick"), OSError("sick"), Unavailable("full"), Unavailable("full"), OSError("sick")):
            keeper.failed(error)

    assert len(caplog.records) == 3


async def test_a_bug_is_logged_with_its_traceback_and_told_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    keeper = Rests(failing(ZeroDivisionError("/home/somebody")))

    keeper.start()
    await ended(keeper)

    (record,) = caplog.records
    assert record.exc_info is not None
    assert keeper.error is not None
    assert "ZeroDivisionError" in keeper.error
    assert "somebody" not in keeper.error


async def test_a_cancelled_future_inside_is_a_failure_and_no_end() -> None:
    keeper = Rests(failing(asyncio.CancelledError()))

    keeper.start()
    await ended(keeper)

    assert keeper.figures().restarts == 1


async def test_a_stop_cancels_what_does_not_end_by_itself() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    keeper = Keeper("tests", hang)
    keeper.start()

    await keeper.stop(within_s=0.01)

    assert not keeper.is_running


async def test_what_came_through_is_well_again() -> None:
    keeper = Rests(failing(OSError("sick")))
    keeper.start()
    await ended(keeper)
    was = keeper.figures()

    keeper.worked()

    assert (was.error, was.failing_since) == ("sick", 0)
    assert (keeper.figures().error, keeper.figures().failing_since) == (None, None)
