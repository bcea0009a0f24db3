"""The writer over real SQLite files with real faults: a full disk, a failing COMMIT, a lock held elsewhere."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.store.engine.sqlite.connection import open_reading, open_writing
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed
from mcp_agent_mail.store.engine.writer import StoreBusy, StoreClosed, Unit, Writer, WriterEnded
from mcp_agent_mail.store.transaction import Tx

_SCRATCH = """
CREATE TABLE scratch (
    id INTEGER PRIMARY KEY,
    text TEXT UNIQUE,
    parent INTEGER REFERENCES scratch (id) DEFERRABLE INITIALLY DEFERRED
) STRICT
"""
_ADD = "INSERT INTO scratch (text) VALUES (?)"
_LARGE = "x" * 40_000
_ADD_SEVERAL_LARGE = "INSERT INTO scratch (text) VALUES ('1' || ?1), ('2' || ?1), ('3' || ?1)"


@dataclass
class Desk:
    """A writer over a table of its own. Units write through `connection`, as a noun would."""

    path: Path
    connection: sqlite3.Connection
    writer: Writer

    def add(self, text: str) -> Unit[int]:
        def unit(_: Tx) -> int:
            return self.connection.execute(_ADD, (text,)).lastrowid or 0

        return unit

    def fill_up(self) -> None:
        """From now on the file may not grow: a real SQLITE_FULL for whatever needs a page."""
        (pages,) = self.connection.execute("PRAGMA page_count").fetchone()
        self.connection.execute(f"PRAGMA max_page_count={pages}")

    def stored(self) -> list[str]:
        with closing(open_reading(self.path)) as reading:
            return [text for (text,) in reading.execute("SELECT text FROM scratch ORDER BY id LIMIT 1000")]

    async def together(self, *units: Unit[Any]) -> list[Any]:
        """Run the units in one group: they queue while the writer is held up in an earlier one."""
        go, started = threading.Event(), threading.Event()

        def hold_up(_: Tx) -> None:
            started.set()
            go.wait()

        holding = asyncio.create_task(self.writer.write(hold_up))
        await asyncio.to_thread(started.wait)
        tasks = [asyncio.create_task(self.writer.write(unit)) for unit in units]
        await asyncio.sleep(0)
        go.set()
        await holding
        return await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def open_desk(
    directory: Path,
    *,
    fault_hook: FaultHook = no_fault,
    max_pending: int = 100,
    open_connection: Callable[[Path], sqlite3.Connection] = open_writing,
) -> AsyncIterator[Desk]:
    path = directory / "scratch.sqlite3"
    connection = open_connection(path)
    connection.execute(_SCRATCH)
    writer = Writer(connection, Tx(connection, system_clock), fault_hook, max_pending=max_pending)
    try:
        yield Desk(path, connection, writer)
    finally:
        await writer.close()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        yield opened


async def test_an_answer_means_that_other_connections_see_it(desk: Desk) -> None:
    async def add(number: int) -> bool:
        await desk.writer.write(desk.add(f"row {number}"))
        return f"row {number}" in desk.stored()

    seen = await asyncio.gather(*(add(number) for number in range(50)))

    assert seen == [True] * 50
    assert len(desk.stored()) == 50


async def test_what_queued_meanwhile_is_committed_as_one_group(desk: Desk) -> None:
    commits: list[int] = []
    desk.writer.on_commit(lambda: commits.append(1))

    await desk.together(*(desk.add(f"row {number}") for number in range(20)))
    await asyncio.sleep(0)

    assert len(desk.stored()) == 20
    assert len(commits) == 2


async def test_a_refused_unit_leaves_no_trace_and_its_neighbours_stay(desk: Desk) -> None:
    def refuse(_: Tx) -> None:
        desk.connection.execute(_ADD, ("half done",))
        raise Conflict("No.")

    answers = await desk.together(desk.add("before"), refuse, desk.add("after"))

    assert isinstance(answers[1], Conflict)
    assert desk.stored() == ["before", "after"]


async def test_a_refusal_is_not_told_before_what_it_saw_is_on_disk(desk: Desk) -> None:
    def refuse_because_of_the_first(_: Tx) -> None:
        taken = desk.connection.execute("SELECT count(*) FROM scratch WHERE text = 'name'").fetchone()
        assert taken == (1,)
        raise Conflict("The name is taken.")

    desk.fill_up()
    answers = await desk.together(desk.add("name"), refuse_because_of_the_first, desk.add(_LARGE))

    assert [type(answer) for answer in answers] == [StoreFailed] * 3
    assert desk.stored() == []


async def test_a_full_disk_that_ends_the_transaction_fails_the_whole_group(desk: Desk) -> None:
    desk.fill_up()

    answers = await desk.together(desk.add("before"), desk.add(_LARGE), desk.add("after"))

    assert [type(answer) for answer in answers] == [StoreFailed] * 3
    assert ["disk is full" in str(answer) for answer in answers] == [True] * 3
    assert len({id(answer) for answer in answers}) == 3
    assert desk.stored() == []
    await desk.writer.write(desk.add("small enough"))
    assert desk.stored() == ["small enough"]


async def test_a_full_disk_that_leaves_the_transaction_open_fails_one_unit(desk: Desk) -> None:
    desk.fill_up()

    def add_several(_: Tx) -> None:
        desk.connection.execute(_ADD, ("first half",))
        desk.connection.execute(_ADD_SEVERAL_LARGE, (_LARGE,))

    answers = await desk.together(desk.add("before"), add_several, desk.add("after"))

    assert isinstance(answers[1], StoreFailed)
    assert desk.stored() == ["before", "after"]


async def test_a_unit_that_swallows_the_end_of_its_transaction_stores_nothing(desk: Desk) -> None:
    desk.fill_up()

    def go_on_regardless(_: Tx) -> str:
        try:
            desk.connection.execute(_ADD, (_LARGE,))
        except sqlite3.OperationalError:
            desk.connection.execute(_ADD, ("second half",))
        return "fine"

    answers = await desk.together(desk.add("before"), go_on_regardless, desk.add("after"))

    assert [type(answer) for answer in answers] == [StoreFailed] * 3
    assert desk.stored() == []


async def test_a_refusal_after_a_swallowed_end_of_the_transaction_is_no_refusal(desk: Desk) -> None:
    desk.fill_up()

    def refuse_regardless(_: Tx) -> None:
        try:
            desk.connection.execute(_ADD, (_LARGE,))
        except sqlite3.OperationalError:
            desk.connection.execute(_ADD, ("second half",))
        raise Conflict("No.")

    answers = await desk.together(desk.add("before"), refuse_regardless)

    assert [type(answer) for answer in answers] == [StoreFailed] * 2
    assert desk.stored() == []


async def test_a_commit_that_fails_acknowledges_nobody_and_the_next_group_works(desk: Desk) -> None:
    def orphan(_: Tx) -> None:
        desk.connection.execute("INSERT INTO scratch (text, parent) VALUES ('orphan', 999)")

    answers = await desk.together(desk.add("before"), orphan)

    assert [type(answer) for answer in answers] == [StoreFailed] * 2
    assert desk.stored() == []
    await desk.writer.write(desk.add("next"))
    assert desk.stored() == ["next"]


async def test_a_lock_held_by_another_process_answers_unavailable_until_it_is_gone(desk: Desk) -> None:
    desk.connection.execute("PRAGMA busy_timeout=0")
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(StoreFailed, match="locked"):
            await desk.writer.write(desk.add("while locked"))

        other.execute("ROLLBACK")
    await desk.writer.write(desk.add("afterwards"))
    assert desk.stored() == ["afterwards"]


async def test_a_broken_constraint_is_a_bug_of_its_unit_alone(desk: Desk) -> None:
    answers = await desk.together(desk.add("twice"), desk.add("twice"), desk.add("once"))

    assert isinstance(answers[1], sqlite3.IntegrityError)
    assert desk.stored() == ["twice", "once"]


async def test_a_misspelt_statement_is_a_bug_and_not_unavailable(desk: Desk) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await desk.writer.write(lambda _: desk.connection.execute("SELECT 1 FROM nowhere"))


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, StopIteration])
async def test_a_unit_can_neither_end_the_writer_nor_its_caller(desk: Desk, kind: type[BaseException]) -> None:
    def explode(_: Tx) -> None:
        desk.connection.execute(_ADD, ("half done",))
        raise kind

    answers = await desk.together(desk.add("before"), explode, desk.add("after"))

    assert isinstance(answers[1], RuntimeError)
    assert isinstance(answers[1].__cause__, kind)
    assert desk.stored() == ["before", "after"]


async def test_a_unit_that_lets_go_of_its_savepoint_takes_the_group_with_it(desk: Desk) -> None:
    answers = await desk.together(desk.add("before"), lambda _: desk.connection.execute("RELEASE unit"))

    assert [type(answer) for answer in answers] == [StoreFailed] * 2
    assert desk.stored() == []


class _RollsBackOnce(sqlite3.Connection):
    """Its first ROLLBACK fails, as one may on a failing disk."""

    failures = 1

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql == "ROLLBACK" and self.failures:
            self.failures -= 1
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, parameters)


async def test_what_a_failed_rollback_left_behind_is_never_committed(tmp_path: Path) -> None:
    def open_failing(path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level="IMMEDIATE", check_same_thread=False, factory=_RollsBackOnce)
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    async with open_desk(tmp_path, open_connection=open_failing) as desk:

        def orphan(_: Tx) -> None:
            desk.connection.execute("INSERT INTO scratch (text, parent) VALUES ('orphan', 999)")

        with pytest.raises(StoreFailed):
            await desk.writer.write(orphan)
        await desk.writer.write(desk.add("next"))

        assert desk.stored() == ["next"]


async def test_a_call_that_is_cancelled_before_its_unit_has_started_stores_nothing(desk: Desk) -> None:
    calls: list[asyncio.Task[int]] = []

    loop = asyncio.get_running_loop()

    async def cancel() -> None:
        calls[0].cancel()

    def cancel_the_other(_: Tx) -> None:
        asyncio.run_coroutine_threadsafe(cancel(), loop).result()

    first = asyncio.create_task(desk.writer.write(cancel_the_other))
    await asyncio.sleep(0)
    calls.append(asyncio.create_task(desk.writer.write(desk.add("cancelled"))))
    await first
    await desk.writer.write(desk.add("next"))

    assert calls[0].cancelled()
    assert desk.stored() == ["next"]


async def test_a_call_that_is_cancelled_while_its_unit_runs_is_stored_and_strands_nobody(desk: Desk) -> None:
    started, go = threading.Event(), threading.Event()

    def slow(_: Tx) -> None:
        desk.connection.execute(_ADD, ("started",))
        started.set()
        go.wait()

    call = asyncio.create_task(desk.writer.write(slow))
    await asyncio.to_thread(started.wait)
    neighbour = asyncio.create_task(desk.writer.write(desk.add("neighbour")))
    await asyncio.sleep(0)
    call.cancel()
    go.set()
    await neighbour

    assert call.cancelled()
    assert desk.stored() == ["started", "neighbour"]


async def test_what_a_unit_did_whose_caller_left_is_told_once_it_is_on_disk(desk: Desk) -> None:
    loop = asyncio.get_running_loop()
    unheard: list[int] = []
    calls: list[asyncio.Task[int]] = []

    def leaving(tx: Tx) -> int:
        added = desk.add("left")(tx)
        loop.call_soon_threadsafe(calls[0].cancel)
        return added

    calls.append(asyncio.create_task(desk.writer.write(leaving, unheard.append)))
    await asyncio.wait(calls)
    await desk.writer.write(desk.add("next"), unheard.append)

    assert (calls[0].cancelled(), unheard, desk.stored()) == (True, [1], ["left", "next"])


async def test_what_nobody_heard_is_undone_though_the_writer_closes_meanwhile(desk: Desk) -> None:
    go, started = threading.Event(), threading.Event()

    def held(tx: Tx) -> int:
        started.set()
        go.wait()
        return desk.add("promised")(tx)

    def undo(added: int) -> None:
        desk.writer.write_soon(lambda _: desk.connection.execute("DELETE FROM scratch WHERE id = ?", (added,)))

    call = asyncio.create_task(desk.writer.write(held, undo))
    await asyncio.to_thread(started.wait)
    closing = asyncio.create_task(desk.writer.close())
    await asyncio.sleep(0)
    call.cancel()
    go.set()
    await closing

    assert desk.stored() == []


async def test_a_unit_that_nobody_waits_for_is_run_and_its_failure_logged(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Tx) -> None:
        raise Conflict("no")

    desk.writer.write_soon(fail)
    desk.writer.write_soon(desk.add("soon"))
    await desk.writer.close()
    desk.writer.write_soon(desk.add("late"))

    assert desk.stored() == ["soon"]
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


async def test_closing_answers_what_is_queued_and_refuses_what_comes_after(desk: Desk) -> None:
    queued = [asyncio.create_task(desk.writer.write(desk.add(f"row {number}"))) for number in range(10)]
    await asyncio.sleep(0)

    await desk.writer.close()

    assert all(call.done() for call in queued)
    assert len(desk.stored()) == 10
    with pytest.raises(StoreClosed):
        await desk.writer.write(desk.add("too late"))


async def test_a_full_queue_is_told_at_once(tmp_path: Path) -> None:
    async with open_desk(tmp_path, max_pending=2) as desk:
        answers = await desk.together(*(desk.add(f"row {number}") for number in range(3)))

        assert [type(answer) for answer in answers] == [int, int, StoreBusy]
        assert desk.stored() == ["row 0", "row 1"]


def _failing_at(point: FailPoint, error: BaseException) -> FaultHook:
    def fault_hook(reached: FailPoint) -> None:
        if reached is point:
            raise error

    return fault_hook


async def test_a_fault_before_the_commit_acknowledges_nobody(tmp_path: Path) -> None:
    fault_hook = _failing_at(FailPoint.BEFORE_COMMIT, sqlite3.OperationalError("disk I/O error"))
    async with open_desk(tmp_path, fault_hook=fault_hook) as desk:
        with pytest.raises(StoreFailed):
            await desk.writer.write(desk.add("lost"))

        assert desk.stored() == []


async def test_a_fault_after_the_commit_takes_no_acknowledgement_back(tmp_path: Path) -> None:
    async with open_desk(tmp_path, fault_hook=_failing_at(FailPoint.AFTER_COMMIT, SystemExit())) as desk:
        await desk.writer.write(desk.add("one"))
        await desk.writer.write(desk.add("two"))

        assert desk.stored() == ["one", "two"]


async def test_a_listener_that_fails_keeps_no_other_from_being_told(desk: Desk) -> None:
    told: list[str] = []
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    def fail() -> None:
        raise ValueError("listener")

    desk.writer.on_commit(fail)
    desk.writer.on_commit(lambda: told.append("second"))
    await desk.writer.write(desk.add("row"))
    await asyncio.sleep(0)

    assert told == ["second"]
    assert [str(context["exception"]) for context in reported] == ["listener"]


def test_the_writer_ends_when_its_event_loop_has_gone_without_closing_it(tmp_path: Path) -> None:
    started, go = threading.Event(), threading.Event()

    def slow(_: Tx) -> None:
        started.set()
        go.wait()

    async def leave() -> Writer:
        connection = open_writing(tmp_path / "scratch.sqlite3")
        writer = Writer(connection, Tx(connection, system_clock), no_fault)
        call = asyncio.create_task(writer.write(slow))
        await asyncio.to_thread(started.wait)
        call.cancel()
        return writer

    writer = asyncio.run(leave())
    go.set()
    writer._thread.join(timeout=10)

    assert not writer._thread.is_alive()


async def test_when_the_thread_itself_ends_nobody_waits_for_it_for_ever(desk: Desk) -> None:
    desk.writer._queue.put(object())  # type: ignore[arg-type]  # what is no job breaks it where no unit can

    async with asyncio.timeout(30):
        waiting = await asyncio.gather(*(desk.writer.write(lambda _: None) for _ in range(3)), return_exceptions=True)
        with pytest.raises(WriterEnded):
            await desk.writer.write(lambda _: None)

    assert {type(answer) for answer in waiting} == {WriterEnded}
