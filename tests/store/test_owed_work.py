"""What is owed to the store, over real faults: a full database, a lock held elsewhere, bugs."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed
from mcp_agent_mail.store.engine.writer import StoreBusy
from mcp_agent_mail.store.owed_work import MAX_OWN_FAULTS, Obligations
from mcp_agent_mail.store.transaction import Tx
from tests.store.engine.test_writer import Desk, open_desk

_LARGE = "x" * 40_000


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        opened.connection.execute("PRAGMA busy_timeout=0")
        yield opened


def _owe(desk: Desk, text: str, stored: Callable[[int], None] | None = None) -> None:
    desk.writer.write_soon(desk.add(text), stored)


def _lock(desk: Desk) -> sqlite3.Connection:
    """Another process writes, and does not end."""
    other = sqlite3.connect(desk.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    return other


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():  # noqa: ASYNC110  # nobody tells of it
            await asyncio.sleep(0.01)


async def test_what_is_owed_while_another_holds_the_lock_is_stored_afterwards_in_order_and_said_then(
    desk: Desk,
) -> None:
    owed, told = desk.writer.obligations, list[int]()
    with closing(_lock(desk)) as other:
        for number in range(20):
            _owe(desk, f"row {number:02}", told.append)
        await _until(lambda: owed.problem is not None)
        _owe(desk, "later", told.append)
        counted, problem = len(owed), owed.problem
        before = list(told)
        other.execute("ROLLBACK")

    await _until(lambda: not len(owed))

    assert (counted, before, owed.problem) == (21, [], None)
    assert problem is not None
    assert "outcomes of answers wait until the store takes them" in problem
    assert "locked" in problem
    assert desk.stored() == [*(f"row {number:02}" for number in range(20)), "later"]
    assert told == list(range(1, 22))


async def test_what_does_not_fit_holds_back_what_comes_after_it_until_there_is_room(desk: Desk) -> None:
    desk.fill_up()
    _owe(desk, _LARGE)
    _owe(desk, "small")
    await _until(lambda: desk.writer.obligations.problem is not None)
    # What was queued behind it in the same group has not been run before it.
    await desk.writer.write(lambda _: None)
    held = desk.stored()
    desk.connection.execute("PRAGMA max_page_count=1000000")

    await _until(lambda: not len(desk.writer.obligations))

    assert held == []
    assert desk.stored() == [_LARGE, "small"]


async def test_nothing_is_run_before_what_could_not_be_stored_though_its_transaction_stands(desk: Desk) -> None:
    desk.fill_up()

    def several(_: Tx) -> None:
        desk.connection.execute("INSERT INTO scratch (text) VALUES ('1' || ?1), ('2' || ?1)", (_LARGE,))

    desk.writer.write_soon(several)
    _owe(desk, "small")
    await _until(lambda: desk.writer.obligations.problem is not None)
    await desk.writer.write(desk.add("asked"))
    held = desk.stored()
    desk.connection.execute("PRAGMA max_page_count=1000000")

    await _until(lambda: not len(desk.writer.obligations))

    assert held == ["asked"]
    assert [text[:5] for text in desk.stored()] == ["asked", "1xxxx", "2xxxx", "small"]


async def test_what_has_queued_while_a_commit_fails_is_not_run_before_what_stood_in_it(tmp_path: Path) -> None:
    reached, go, faults = threading.Event(), threading.Event(), [sqlite3.OperationalError("disk I/O error")]
    faults[0].sqlite_errorcode = sqlite3.SQLITE_IOERR  # as SQLite itself sets it

    def fail_once(point: FailPoint) -> None:
        if point is FailPoint.BEFORE_COMMIT and faults:
            reached.set()
            go.wait()
            raise faults.pop()

    async with open_desk(tmp_path, fault_hook=fail_once) as desk:
        _owe(desk, "first")
        await asyncio.to_thread(reached.wait)
        _owe(desk, "second")
        go.set()

        await _until(lambda: not len(desk.writer.obligations))

        assert desk.stored() == ["first", "second"]


async def test_what_fails_by_its_own_fault_is_dropped_with_its_name_and_holds_up_nobody(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    def misspelt(_: Tx) -> None:
        desk.connection.execute("SELECT 1 FROM nowhere")

    def refused(_: Tx) -> None:
        raise Conflict("no")

    desk.writer.write_soon(misspelt)
    desk.writer.write_soon(refused)
    _owe(desk, "after")
    await _until(lambda: not len(desk.writer.obligations))

    assert desk.stored() == ["after"]
    logged = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert ["misspelt" in line for line in logged] == [True, False]
    assert ["refused" in line for line in logged] == [False, True]


async def test_what_ends_its_transaction_each_time_is_dropped_after_some_times(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[int] = []

    def orphan(_: Tx) -> None:
        tries.append(1)
        desk.connection.execute("INSERT INTO scratch (text, parent) VALUES ('orphan', 999)")

    desk.writer.write_soon(orphan)
    _owe(desk, "after")
    await _until(lambda: not len(desk.writer.obligations))

    assert desk.stored() == ["after"]
    assert MAX_OWN_FAULTS <= len(tries) <= MAX_OWN_FAULTS + 1
    assert any("orphan" in record.getMessage() and "dropped" in record.getMessage() for record in caplog.records)


async def test_an_innocent_neighbour_of_a_failed_group_is_stored(desk: Desk) -> None:
    def orphan(_: Tx) -> None:
        desk.connection.execute("INSERT INTO scratch (text, parent) VALUES ('orphan', 999)")

    go, started = threading.Event(), threading.Event()

    def hold_up(_: Tx) -> None:
        started.set()
        go.wait()

    holding = asyncio.create_task(desk.writer.write(hold_up))
    await asyncio.to_thread(started.wait)
    call = asyncio.create_task(desk.writer.write(orphan))
    await asyncio.sleep(0)
    _owe(desk, "owed")
    go.set()
    await holding
    with pytest.raises(StoreFailed):
        await call

    await _until(lambda: not len(desk.writer.obligations))

    assert desk.stored() == ["owed"]


async def test_closing_tries_for_the_last_time(desk: Desk) -> None:
    with closing(_lock(desk)) as other:
        _owe(desk, "first")
        _owe(desk, "second")
        await _until(lambda: desk.writer.obligations.problem is not None)
        desk.writer.obligations._pause_s = 1_000  # Nothing but the close comes in time.
        await _until(lambda: _waits_long(desk.writer.obligations))
        other.execute("ROLLBACK")

    await desk.writer.close()

    assert desk.stored() == ["first", "second"]


def _waits_long(owed: Obligations) -> bool:
    return owed._timer is not None and owed._timer.when() > asyncio.get_running_loop().time() + 100


async def test_a_store_that_fails_to_the_end_is_closed_and_says_what_was_never_stored(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(_lock(desk)) as other:
        _owe(desk, "lost")
        await _until(lambda: desk.writer.obligations.problem is not None)

        async with asyncio.timeout(30):
            await desk.writer.close()
        other.execute("ROLLBACK")

    assert desk.stored() == []
    assert "1 outcomes of answers were never stored" in caplog.records[-1].getMessage()


async def test_what_may_owe_an_outcome_is_refused_where_too_many_are_open_and_other_writes_go_on(desk: Desk) -> None:
    desk.writer.obligations._max_open = 2
    with closing(_lock(desk)) as other:
        _owe(desk, "one")
        _owe(desk, "two")
        undone: list[object] = []

        with pytest.raises(StoreBusy, match="2 outcomes of earlier calls"):
            await desk.writer.write(desk.add("may owe"), undone.append)
        with pytest.raises(StoreFailed):
            await desk.writer.write(desk.add("owes nothing"))
        other.execute("ROLLBACK")

    await _until(lambda: not len(desk.writer.obligations))
    await desk.writer.write(desk.add("may owe"), undone.append)

    assert desk.stored() == ["one", "two", "may owe"]


async def test_tries_of_what_is_owed_do_not_put_off_calls_that_may_try_the_store(desk: Desk) -> None:
    noted: list[str] = []
    desk.writer._breaker.note_failure = noted.append  # type: ignore[method-assign, assignment]
    with closing(_lock(desk)) as other:
        _owe(desk, "owed")
        await _until(lambda: desk.writer.obligations.problem is not None)
        alone = list(noted)
        with pytest.raises(StoreFailed):
            await desk.writer.write(desk.add("asked"))
        other.execute("ROLLBACK")

    assert alone == []
    assert noted


async def test_the_name_of_a_partial_is_told(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    def bad(_number: int, _: Tx) -> None:
        raise ValueError

    desk.writer.write_soon(partial(bad, 1))
    await _until(lambda: not len(desk.writer.obligations))

    assert "bad" in caplog.records[-1].getMessage()
