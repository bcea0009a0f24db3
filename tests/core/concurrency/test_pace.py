"""Small steps of many, so many in one pass of the event loop."""

from __future__ import annotations

import asyncio

from mcp_agent_mail.core.concurrency.pace import Pace


async def most_in_a_pass(done: list[str], tasks: list[asyncio.Task[None]]) -> int:
    """Another of the loop's callers counts, once in each pass."""
    most = before = 0
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        most = max(most, len(done) - before)
        before = len(done)
    return most


async def walk(pace: Pace, done: list[str], name: str, steps: int) -> None:
    for _ in range(steps):
        await pace.step()
        done.append(name)


async def test_all_together_do_so_many_steps_before_anybody_else_has_the_loop() -> None:
    pace, done = Pace(4), list[str]()
    tasks = [asyncio.create_task(walk(pace, done, str(number), 10)) for number in range(20)]

    most = await most_in_a_pass(done, tasks)

    assert (len(done), most) == (200, 4)


async def test_who_has_one_step_to_do_does_not_wait_for_all_of_anothers() -> None:
    pace, done = Pace(2), list[str]()
    many = asyncio.create_task(walk(pace, done, "many", 100))
    await asyncio.sleep(0)
    few = asyncio.create_task(walk(pace, done, "few", 1))

    await asyncio.gather(many, few)

    assert done.index("few") < 10


async def test_who_does_few_steps_never_waits() -> None:
    pace, done = Pace(4), list[str]()
    for _ in range(3):
        walking = walk(pace, done, "one", 4)
        task = asyncio.create_task(walking)
        await asyncio.sleep(0)
        assert task.done()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_who_is_cancelled_in_the_line_holds_nobody_up() -> None:
    pace, done = Pace(1), list[str]()
    tasks = [asyncio.create_task(walk(pace, done, str(number), 2)) for number in range(3)]
    await asyncio.sleep(0)
    tasks[1].cancel()

    async with asyncio.timeout(10):
        await asyncio.gather(*tasks, return_exceptions=True)

    assert sorted(done) == ["0", "0", "2", "2"]
