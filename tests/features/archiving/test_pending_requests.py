"""Questions to the archiver: each answered by its number, so many at once, and never waited for in vain."""

from __future__ import annotations

import asyncio

import pytest

from mcp_agent_mail.core.errors import Busy, Unavailable
from mcp_agent_mail.domain.archive_format.months import UnknownMonth
from mcp_agent_mail.features.archiving import pending_requests
from mcp_agent_mail.features.archiving.pending_requests import MOST, Requests, require_done
from mcp_agent_mail.features.archiving.protocol import CheckedOut, CheckOut


class Archiver:
    """Hears the questions, and answers when a test says so."""

    def __init__(self) -> None:
        self.requests = Requests()
        self.heard: list[CheckOut] = []

    async def ask(self, month: str = "2026/01") -> CheckedOut:
        request = self.requests.new("code-app", month)
        return await self.requests.ask(request, lambda: self.heard.append(request))

    async def asked(self, count: int) -> list[asyncio.Task[CheckedOut]]:
        """Questions under way, in their order."""
        tasks = [asyncio.create_task(self.ask(f"2026/{number:02}")) for number in range(1, count + 1)]
        await asyncio.sleep(0)
        assert len(self.heard) == count
        return tasks


async def test_each_gets_its_own_answer_whatever_the_order() -> None:
    archiver = Archiver()
    first, second = await archiver.asked(2)

    for request in reversed(archiver.heard):
        archiver.requests.answer(CheckedOut(request=request.number, files=request.number * 10))

    assert [(await task).files for task in (first, second)] == [10, 20]


async def test_so_many_are_waited_for_and_the_next_is_told_to_come_again() -> None:
    archiver = Archiver()
    tasks = await archiver.asked(MOST)

    with pytest.raises(Busy, match="16 months are being brought back"):
        await archiver.ask()
    archiver.requests.answer(CheckedOut(request=archiver.heard[0].number, files=1))
    await tasks[0]
    again = asyncio.create_task(archiver.ask())
    await asyncio.sleep(0)

    assert len(archiver.heard) == MOST + 1
    archiver.requests.give_up()
    await asyncio.gather(again, *tasks, return_exceptions=True)


async def test_an_archiver_that_ends_answers_nobody_and_all_are_told() -> None:
    archiver = Archiver()
    answered, waiting = await archiver.asked(2)
    archiver.requests.answer(CheckedOut(request=archiver.heard[0].number, files=1))

    archiver.requests.give_up()

    assert (await answered).files == 1
    with pytest.raises(Busy, match="The archiver ended meanwhile"):
        await waiting


async def test_what_takes_long_is_told_and_its_late_answer_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_requests, "PATIENCE_S", 0.0)
    archiver = Archiver()

    with pytest.raises(Busy, match="2026/01 is not there yet"):
        await archiver.ask()

    archiver.requests.answer(CheckedOut(request=1, files=1))
    archiver.requests.give_up()


async def test_an_answer_that_comes_twice_is_heard_once() -> None:
    archiver = Archiver()
    (task,) = await archiver.asked(1)

    for files in (1, 2):
        archiver.requests.answer(CheckedOut(request=archiver.heard[0].number, files=files))

    assert (await task).files == 1


def test_a_refusal_is_raised_as_what_it_is() -> None:
    done = CheckedOut(request=1, files=3)

    with pytest.raises(UnknownMonth, match="no such month"):
        require_done(CheckedOut(request=1, files=0, problem="no such month", hint="look", is_unknown=True))
    with pytest.raises(Unavailable, match="no space") as refused:
        require_done(CheckedOut(request=1, files=0, problem="no space", hint="make some"))

    assert refused.value.hint == "make some"
    assert require_done(done) is done
