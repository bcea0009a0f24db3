"""The database fails: what the caller sees, what is kept, and that nobody has to repair anything."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.store.transaction import Tx
from tests.faults.harness import BLUE, PROJECT, RED, Harness, harness, until
from tests.seeded_store import SetClock

LARGE = "z" * 300_000


async def fill_up(home: Harness) -> None:
    """From here on the database file may not grow: SQLite's own way to a full disk."""
    await home.store.write(lambda tx: tx.messages._connection.execute("PRAGMA max_page_count=1").fetchone())


async def make_room(home: Harness) -> None:
    await home.store.write(lambda tx: tx.messages._connection.execute("PRAGMA max_page_count=1000000").fetchone())


@contextmanager
def files_end_at(size_bytes: int) -> Iterator[None]:
    """No file of this process grows beyond: the kernel writes up to there, short, and then refuses (EFBIG)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Trouble:
    """Raises what SQLite raises, at one instant, as long as it is switched on."""

    def __init__(self, point: FailPoint, error: sqlite3.Error) -> None:
        self.point = point
        self.error = error
        self.is_on = False

    def __call__(self, reached: FailPoint) -> None:
        if self.is_on and reached is self.point:
            raise self.error


def io_error() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR  # as the sqlite3 module sets it
    return error


async def until_queued(home: Harness, count: int) -> None:
    """Until so many writes wait for the writer: it takes them as one group."""

    async def look() -> bool:
        return home.store._writer.pending() >= count

    await until(look, lambda: f"{home.store._writer.pending()} writes wait, not {count}")


async def test_a_full_disk_refuses_the_send_says_what_to_do_and_serves_reads(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        kept = await home.send("Parser", body_md="lexer")
        await fill_up(home)

        refusal = await home.refused_send("Large", body_md=LARGE, idempotency_key="large-1")
        inbox, found = await home.inbox(), await home.search("lexer")
        await make_room(home)
        again = await home.send("Large", body_md=LARGE, idempotency_key="large-1")

        assert isinstance(refusal, Unavailable)
        assert "full" in refusal.message
        assert refusal.hint.startswith("Free some space")
        assert inbox == found == [kept]
        assert await home.inbox() == [kept, again]
        await home.require_nothing_lost()


async def test_a_short_write_to_the_log_acknowledges_nothing_and_leaves_the_store_whole(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        kept = await home.send()
        await home.until_archived()
        log = tmp_path / "mail.sqlite3-wal"
        with files_end_at(log.stat().st_size + 6_000):
            refusal = await home.refused_send("Large", body_md=LARGE)
            inbox = await home.inbox()

        after = await home.send("After")

        assert isinstance(refusal, Unavailable)
        assert refusal.hint
        assert inbox == [kept]
        assert await home.inbox() == [kept, after]
        await home.require_nothing_lost()


async def test_an_io_error_before_the_commit_is_told_and_passes(tmp_path: Path) -> None:
    trouble = Trouble(FailPoint.BEFORE_COMMIT, io_error())
    async with harness(tmp_path, fault_hook=trouble) as home:
        kept = await home.send()
        trouble.is_on = True

        refusal, health = await home.refused_send("Lost"), await home.health()
        inbox = await home.inbox()
        trouble.is_on = False
        after = await home.send("After")

        assert isinstance(refusal, Unavailable)
        assert "disk I/O error" in refusal.message
        assert health["status"] == "error"
        assert inbox == [kept]
        assert await home.inbox() == [kept, after]
        await home.require_nothing_lost()


async def test_a_commit_that_fails_after_some_sends_acknowledges_none_of_them(tmp_path: Path) -> None:
    is_held, may_go_on = threading.Event(), threading.Event()

    def hold_the_writer(_: Tx) -> bool:
        is_held.set()
        return may_go_on.wait(timeout=30)

    def break_the_commit(tx: Tx) -> None:
        connection = tx.messages._connection
        connection.execute("PRAGMA defer_foreign_keys=ON")
        connection.execute("UPDATE outbox SET project_id = 999 WHERE seq = (SELECT max(seq) FROM outbox)")

    async with harness(tmp_path) as home:
        kept = await home.send()
        await home.until_archived()
        hold = asyncio.create_task(home.store.write(hold_the_writer))
        assert await asyncio.to_thread(is_held.wait, 10)
        sends = [asyncio.create_task(home.refused_send(f"Of the group {number}")) for number in range(5)]
        await until_queued(home, len(sends))
        breaking = asyncio.create_task(home.store.write(break_the_commit))
        await until_queued(home, len(sends) + 1)
        may_go_on.set()

        *refusals, broken = await asyncio.gather(*sends, breaking, return_exceptions=True)
        inbox = await home.inbox()
        after = await home.send("After")

        assert await hold
        assert all(isinstance(error, Unavailable) for error in (*refusals, broken))
        assert inbox == [kept]
        assert await home.inbox() == [kept, after]
        await home.require_nothing_lost()


async def test_while_the_writer_has_stopped_reads_answer_and_writes_are_refused(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        kept = await home.send("Parser", body_md="lexer")
        await home.until_archived()

        await home.store._writer.close()

        refusal = await home.refused_send()
        assert isinstance(refusal, Unavailable)
        assert refusal.hint == "Call again when it is back."
        assert await home.inbox() == await home.search("lexer") == [kept]
        assert (await home.health())["status"] == "error"


async def test_while_the_writer_hangs_reads_answer_health_says_so_and_the_send_is_kept(tmp_path: Path) -> None:
    may_go_on = threading.Event()
    may_go_on.set()

    def hang(reached: FailPoint) -> None:
        if reached is FailPoint.BEFORE_COMMIT:
            may_go_on.wait()

    async with harness(tmp_path, fault_hook=hang) as home:
        kept = await home.send("Parser", body_md="lexer")
        await home.until_archived()
        home.services.health.patience_s = 0.05
        may_go_on.clear()
        waiting = asyncio.create_task(home.send("Waits"))

        inbox, found, health = await home.inbox(), await home.search("lexer"), await home.health()
        was_answered = waiting.done()
        may_go_on.set()
        late = await waiting

        assert inbox == found == [kept]
        assert health["status"] == "error"
        assert not was_answered
        assert await home.inbox() == [kept, late]
        await home.require_nothing_lost()


async def test_a_clock_set_back_an_hour_changes_neither_order_nor_what_is_new(tmp_path: Path) -> None:
    clock = SetClock()
    async with harness(tmp_path, clock=clock) as home:
        first = await home.send("First")
        (seen,) = await home.call("fetch_inbox", project_key=PROJECT, agent_name=RED)
        clock.step(-3_600)

        second = await home.send("Second")

        newest_first = await home.call("fetch_inbox", project_key=PROJECT, agent_name=RED)
        since = await home.call("fetch_inbox", project_key=PROJECT, agent_name=RED, after_id=first)
        assert [item["id"] for item in newest_first] == [second, first]
        assert [item["id"] for item in since] == [second]
        assert newest_first[0]["created_ts"] < seen["created_ts"]
        assert (await home.call("whois", project_key=PROJECT, agent_name=BLUE))["name"] == BLUE
        await home.require_nothing_lost()
