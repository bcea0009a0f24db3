from __future__ import annotations

import asyncio

import pytest

from mcp_agent_mail.core.concurrency.future_error import future_error


@pytest.mark.parametrize("raised", [ValueError("no"), MemoryError(), StopAsyncIteration()])
def test_what_a_future_can_carry_stays_what_it_is(raised: Exception) -> None:
    assert future_error(raised, "work") is raised


@pytest.mark.parametrize(
    "raised", [StopIteration(), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()]
)
async def test_what_no_future_can_carry_arrives_as_a_fault_of_the_work(raised: BaseException) -> None:
    told = future_error(raised, "a unit of work")
    carried: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    carried.set_exception(told)

    with pytest.raises(RuntimeError, match=f"^a unit of work raised {type(raised).__name__}$") as met:
        await carried
    assert met.value.__cause__ is raised
