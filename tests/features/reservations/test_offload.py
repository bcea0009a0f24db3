"""Whose large calls are compared when."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.tools import Credentials, call_as
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.reservations import Patterns
from mcp_agent_mail.features.reservations.conflicts import others_leases
from mcp_agent_mail.features.reservations.offload import TURNS, ConflictScanner
from tests.features.reservations.claims import Claims, open_claims

WITHIN_S = 30.0


class HeldJudge(ConflictScanner):
    """Compares nothing before it may, and then nothing."""

    def __init__(self, claims: Claims) -> None:
        super().__init__(claims.seeded.store, Patterns())
        self.may_end = threading.Event()
        self.served: list[str] = []
        self._others = others_leases(claims.seeded.app.id, claims.seeded.red.id, exclusive=True)

    def _compare(self, *_: object) -> tuple[list[list[Lease]], tuple[bool, ...]]:
        assert self.may_end.wait(WITHIN_S)
        return [], ()

    async def ask(self, caller: str) -> None:
        async def call() -> None:
            await self.precheck(self._others, ())
            self.served.append(caller)

        await call_as(Credentials(via="mcp", agent_token=caller), call, {})


@pytest.fixture
async def judge(tmp_path: Path) -> AsyncIterator[HeldJudge]:
    async with open_claims(tmp_path) as claims:
        yield HeldJudge(claims)


async def _until_all_wait() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_whoever_asks_once_waits_for_what_is_compared_not_for_all_of_another(judge: HeldJudge) -> None:
    async with asyncio.TaskGroup() as tasks:
        for caller in ["many"] * 6 + ["one"]:
            tasks.create_task(judge.ask(caller))
        await _until_all_wait()
        judge.may_end.set()

    assert judge.served == ["many", "many", "one", "many", "many", "many", "many"]


async def test_one_caller_cannot_take_every_place_in_the_line(judge: HeldJudge) -> None:
    asked = [asyncio.create_task(judge.ask("many")) for _ in range(TURNS.waiting_each + 32)]
    await _until_all_wait()
    other = asyncio.create_task(judge.ask("one"))
    await _until_all_wait()
    judge.may_end.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    await other

    assert sum(isinstance(answer, Unavailable) for answer in answers) == 31
    assert "one" in judge.served[:3]


async def test_a_caller_that_leaves_keeps_its_place_while_its_call_is_compared(judge: HeldJudge) -> None:
    gone = asyncio.create_task(judge.ask("gone"))
    await _until_all_wait()
    gone.cancel()
    threads = threading.active_count()

    next_one = asyncio.create_task(judge.ask("next"))
    await _until_all_wait()
    threads_more = threading.active_count() - threads
    judge.may_end.set()
    await asyncio.gather(gone, next_one, return_exceptions=True)

    assert threads_more == 0
    assert judge.served == ["next"]
