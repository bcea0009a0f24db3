"""COMMITs that fail again and again: after five most calls are refused at once, and one at a time tries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.store.engine.circuit_breaker import FAILURES, BreakerOpen
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed
from mcp_agent_mail.store.transaction import Tx
from tests.faults.harness import PROJECT, RED, Harness, harness
from tests.faults.test_store_faults import LARGE, files_end_at, fill_up, make_room


@dataclass
class SickHouse:
    """While `sick` is open no COMMIT of a large message gets into the log: the kernel refuses to let it grow."""

    home: Harness
    seconds: list[float] = field(default_factory=lambda: [0.0])
    points: list[FailPoint] = field(default_factory=list)

    def __call__(self) -> float:
        return self.seconds[-1]

    def step(self, seconds: float) -> None:
        self.seconds.append(self.seconds[-1] + seconds)

    @contextmanager
    def sick(self) -> Iterator[None]:
        log = self.home.root / "mail.sqlite3-wal"
        with files_end_at(log.stat().st_size + 6_000):
            yield

    async def fail(self, times: int = 1) -> list[Unavailable]:
        """Large sends, one after the other."""
        refusals = [await self.home.refused_send("Large", body_md=LARGE) for _ in range(times)]
        assert all(isinstance(refusal, Unavailable) for refusal in refusals)
        return refusals  # type: ignore[return-value]  # as just asserted

    def tried(self) -> int:
        """How many groups have come as far as their COMMIT."""
        return self.points.count(FailPoint.BEFORE_COMMIT)


@asynccontextmanager
async def sick_house(root: Path) -> AsyncIterator[SickHouse]:
    """Nobody else writes: nothing works beside the calls."""
    seconds = [0.0]
    points: list[FailPoint] = []
    async with harness(root, fault_hook=points.append, elapsed=lambda: seconds[-1], starts=False) as home:
        home.services.activity._interval_s = 3_600.0
        yield SickHouse(home, seconds, points)


async def test_after_five_in_a_row_calls_are_answered_at_once_and_nothing_is_tried(tmp_path: Path) -> None:
    async with sick_house(tmp_path) as house:
        kept = await house.home.send("Parser", body_md="lexer")
        with house.sick():
            failed = await house.fail(FAILURES)
            before = house.tried()

            refusals = await asyncio.gather(*(house.home.refused_send("Small") for _ in range(20)))

            assert {type(one) for one in failed} == {StoreFailed}
            assert {type(one) for one in refusals} == {BreakerOpen}
            assert {one.data["retry_after_s"] for one in refusals} == {1}
            assert house.tried() == before
            assert await house.home.inbox() == await house.home.search("lexer") == [kept]
            health = await house.home.health()

        assert health["status"] == "error"
        assert health["store"]["last_error"].startswith(f"The last {FAILURES} attempts to write to the store failed: ")
        assert await house.home.services.health.is_ready()


async def test_single_probes_come_after_growing_pauses_and_one_that_is_kept_ends_it(tmp_path: Path) -> None:
    async with sick_house(tmp_path) as house:
        kept = await house.home.send()
        with house.sick():
            await house.fail(FAILURES)
            waits = []
            for _ in range(6):
                (refusal,) = await house.fail()
                waits.append(refusal.data["retry_after_s"])
                house.step(waits[-1])
                before = house.tried()
                several = await asyncio.gather(*(house.fail() for _ in range(3)))
                assert [type(one) for (one,) in several].count(StoreFailed) == 1
                assert house.tried() == before + 1
        house.step(30)
        after = await house.home.send("Large", body_md=LARGE)
        more = await house.home.send("Small")

        assert waits == [1, 2, 4, 8, 16, 30]
        assert await house.home.inbox() == [kept, after, more]
        assert (await house.home.health())["store"]["last_error"] is None
        assert (await house.home.health())["status"] == "ok"


async def test_a_probe_that_writes_nothing_proves_nothing(tmp_path: Path) -> None:
    async with sick_house(tmp_path) as house:
        await house.home.send()
        with house.sick():
            await house.fail(FAILURES)
            house.step(1)
            unknown = await house.home.refused(
                "set_status", project_key=PROJECT, agent_name="NobodyHere", status="busy"
            )
            (probe,) = await house.fail()
            (later,) = await house.fail()

        assert unknown.code == "NOT_FOUND"
        assert (type(probe), type(later)) == (StoreFailed, BreakerOpen)
        assert later.data["retry_after_s"] == 2


async def test_a_probe_whose_caller_leaves_makes_way_for_the_next(tmp_path: Path) -> None:
    async with sick_house(tmp_path) as house:
        await house.home.send()
        with house.sick():
            await house.fail(FAILURES)
        house.step(1)
        leaving = asyncio.create_task(house.home.store.write(lambda _: None))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)

        assert await house.home.send("After") in await house.home.inbox()


async def test_four_failures_and_those_with_a_commit_between_refuse_nobody(tmp_path: Path) -> None:
    async with sick_house(tmp_path) as house:
        await house.home.send()
        for _ in range(2):
            with house.sick():
                await house.fail(FAILURES - 1)
            await house.home.send("Between")

        assert (await house.home.health())["status"] == "ok"


async def test_a_unit_that_finds_no_room_fails_by_itself_and_a_bug_counts_for_nothing(tmp_path: Path) -> None:
    """A full database refuses what needs a page; the COMMIT of the rest goes well, so nobody else is refused."""

    def break_the_commit(tx: Tx) -> None:
        connection = tx.messages._connection
        connection.execute("PRAGMA defer_foreign_keys=ON")
        connection.execute("UPDATE outbox SET project_id = 999 WHERE seq = (SELECT max(seq) FROM outbox)")

    async with sick_house(tmp_path) as house:
        message = await house.home.send()
        await fill_up(house.home)
        full = await house.fail(2 * FAILURES)
        await house.home.call("acknowledge_message", project_key=PROJECT, agent_name=RED, message_id=message)
        await make_room(house.home)
        for _ in range(2 * FAILURES):
            with pytest.raises(StoreFailed, match="FOREIGN KEY"):
                await house.home.store.write(break_the_commit)

        assert {type(one) for one in full} == {StoreFailed}
        assert await house.home.send("After") in await house.home.inbox()


async def test_git_never_counts(tmp_path: Path) -> None:
    async with harness(tmp_path / "store") as home:
        await home.send("First")
        await home.until_archived()
        packs = home.archive / ".git" / "objects"
        aside = home.archive / ".git" / "objects.aside"
        with ExitStack() as back:
            packs.rename(aside)
            back.callback(aside.rename, packs)
            for number in range(2 * FAILURES):
                await home.send(f"While Git fails {number}")
            await home.until_archive_says("")

            assert home.store.problem is None
        await home.require_nothing_lost()
