"""What follows from all that archives tell: what was answered, and where feeds begin."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.store.engine.sqlite.connection import add_functions
from mcp_agent_mail.store.engine.sqlite.migrate import migrate
from mcp_agent_mail.store.feed import Feed
from mcp_agent_mail.store.rebuild.ends import begin_feed, settle_ends
from mcp_agent_mail.store.rebuild.mail_rows import MailRows, RebuiltRecipient
from tests.store.rebuild.test_mail_rows import HOME, got, mail

READER = 20
DAY = 86_400 * SECOND


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    migrate(tmp_path / "store", fault_hook=no_fault)
    with closing(sqlite3.connect(tmp_path / "store", isolation_level=None)) as connection:
        add_functions(connection)
        yield connection


def add(
    connection: sqlite3.Connection, number: int, at: int, *got_by: RebuiltRecipient, reply_by: int | None = None
) -> None:
    """Message `number`; `reply_by`: whose reply to message 1 it is."""
    one = mail(*got_by)
    message = replace(one.message, id=MessageId(number), created_ts=Micros(at))
    if reply_by is not None:
        message = replace(message, sender_id=AgentId(reply_by), reply_to=MessageId(1))
    MailRows(connection).add(replace(one, message=message), None)


def answered(connection: sqlite3.Connection) -> int | None:
    """When the reader answered what its receipt says it read; never without one."""
    settle_ends(connection)
    assert connection.execute("SELECT count(*) FROM recipients WHERE answered_ts IS NOT NULL").fetchone() == (0,)
    connection.execute("UPDATE recipients SET read_ts = 1 WHERE message_id = 1 AND agent_id = ?", (READER,))
    settle_ends(connection)
    row = connection.execute("SELECT answered_ts FROM recipients WHERE message_id = 1 AND agent_id = ?", (READER,))
    (at,) = row.fetchone()
    return None if at is None else int(at)


def test_a_reply_answers_what_had_been_delivered_whatever_the_clock_said(connection: sqlite3.Connection) -> None:
    add(connection, 1, 100, got(READER, HOME, 50))
    add(connection, 2, 30, got(10, HOME, 51), reply_by=READER)

    assert answered(connection) == 30


@pytest.mark.parametrize(("first_reply", "at"), [(40, 777), (60, 400)])
def test_what_was_held_when_its_reader_replied_is_answered_by_a_later_reply(
    connection: sqlite3.Connection, first_reply: int, at: int
) -> None:
    add(connection, 1, 1, got(READER, HOME, 50, held=True))
    add(connection, 2, 400, got(10, HOME, first_reply), reply_by=READER)
    add(connection, 3, 777, got(10, HOME, 70), reply_by=READER)

    assert answered(connection) == at


@pytest.mark.parametrize(("replied", "at"), [(499, None), (500, 500)])
def test_of_a_reply_that_nobody_was_delivered_the_time_says_what_came_first(
    connection: sqlite3.Connection, replied: int, at: int | None
) -> None:
    add(connection, 1, 1, got(READER, HOME, 50, held=True))
    add(connection, 2, replied, got(10, HOME, None, held=True), reply_by=READER)

    assert answered(connection) == at


@pytest.mark.parametrize(("within_days", "passed_over"), [(1, 1), (2, 1), (3, 0)])
def test_of_what_was_delivered_so_long_before_the_newest_mail_senders_are_not_told_anew(
    connection: sqlite3.Connection, within_days: int, passed_over: int
) -> None:
    for number, at in ((1, 5), (2, 6 + DAY), (3, 5 + 2 * DAY)):
        add(connection, number, at, replace(got(READER, HOME, number), delivered_ts=Micros(at)))
    connection.execute("UPDATE recipients SET ack_required = 1")
    connection.execute("UPDATE counters SET value = 100003 WHERE name = 'delivery'")

    begin_feed(connection)
    before = counters(connection)
    Feed(connection).pass_over_told(Micros(within_days * DAY))

    assert (before["feed_floor"], before["unseen"]) == (100_003, 0)
    assert counters(connection)["unseen"] == passed_over


def test_where_nothing_was_delivered_nothing_was_looked_through(connection: sqlite3.Connection) -> None:
    begin_feed(connection)
    Feed(connection).pass_over_told(Micros(DAY))

    assert counters(connection)["unseen"] == 0


def counters(connection: sqlite3.Connection) -> dict[str, int]:
    return dict(connection.execute("SELECT name, value FROM counters").fetchall())
