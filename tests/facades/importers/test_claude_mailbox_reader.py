"""ClaudeMailbox's messages, whatever a version calls its columns."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import parse_time
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.importing.refusals import UnknownLayout
from mcp_agent_mail.facades.importers.sources import open_source
from tests.facades.importers.small_sources import make_claude_mailbox
from tests.facades.importers.untouched import state_of

_OLDER = {"from_name": "FromMailbox", "to_name": "ToMailbox", "created_at": "CreatedAt", "delivered_at": "DeliveredAt"}


@pytest.mark.parametrize("columns", [{}, _OLDER, {"from_name": "sender", "to_name": "recipient"}])
def test_every_message_comes_with_the_time_of_its_delivery(columns: dict[str, str], tmp_path: Path) -> None:
    path = make_claude_mailbox(tmp_path / "mailbox.db", columns=columns)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT * FROM messages ORDER BY id").fetchall()
    before = state_of(path)

    with open_source("claude-mailbox", path) as reader:
        agents = {agent.key: agent.name for agent in reader.agents()}
        messages = list(reader.messages())

    assert state_of(path) == before
    assert "idle" in agents.values()
    assert [
        (one.external_id, agents[one.sender_key], agents[one.recipients[0].agent_key], one.body_md, one.created_ts)
        for one in messages
    ] == [(str(row[0]), row[1], row[2], row[3], parse_time(row[4])) for row in rows]
    assert [one.recipients[0].read_ts for one in messages] == [row[5] and parse_time(row[5]) for row in rows]
    assert {one.door for one in messages} == {Door.CLAUDE_MAILBOX}


def test_senders_may_be_named_by_the_number_of_their_mailbox(tmp_path: Path) -> None:
    path = tmp_path / "mailbox.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE mailboxes (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE messages (id, from_mailbox_id, to_mailbox_id, body, created_at, delivered);
            INSERT INTO mailboxes VALUES (1, 'alice'), (2, 'bob');
            INSERT INTO messages VALUES (1, 1, 2, 'hi', 1772352000000, 1), (2, 9, 1, 'lost', 1772352000001, 0);
        """)

    with open_source("claude-mailbox", path) as reader:
        agents = {agent.key: agent.name for agent in reader.agents()}
        first, second = reader.messages()

    assert (agents[first.sender_key], agents[first.recipients[0].agent_key]) == ("alice", "bob")
    assert first.recipients[0].read_ts == first.created_ts == 1772352000000000
    assert agents[second.sender_key] == "mailbox-9"
    assert second.recipients[0].read_ts is None


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("CREATE TABLE mailboxes (name)", "no table of messages; it has mailboxes"),
        ("CREATE TABLE messages (id, body)", "no column says from, to, created, delivered; they have id, body"),
        ("CREATE TABLE messages (id, sender, recipient, body, created)", "no column says delivered"),
    ],
)
def test_an_unknown_layout_is_refused_with_what_was_found(script: str, found: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute(script)

    with pytest.raises(UnknownLayout, match=found), open_source("claude-mailbox", tmp_path / "x.db"):
        pass


def test_times_of_several_forms_are_in_the_order_of_what_they_say(tmp_path: Path) -> None:
    path = tmp_path / "mailbox.db"
    times = ("2026-03-01T08:00:03Z", 1772352000000, "2026-03-01 08:00:02", "1772352001", "2026-03-01T09:00:00.5+01:00")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE messages (id INTEGER, from_name, to_name, body, created, delivered)")
        for number, at in enumerate((*times, times[0]), 1):
            connection.execute("INSERT INTO messages VALUES (?, 'a', 'b', 'x', ?, 0)", (number, at))

    with open_source("claude-mailbox", path) as reader:
        messages = list(reader.messages())

    assert [one.external_id for one in messages] == ["2", "5", "4", "3", "1", "6"]
    assert [one.created_ts for one in messages] == sorted(one.created_ts for one in messages)


def test_mail_is_called_the_same_though_its_mailbox_was_renamed_and_it_was_delivered(tmp_path: Path) -> None:
    path = make_claude_mailbox(tmp_path / "mailbox.db")

    def known() -> tuple[str, list[str]]:
        with open_source("claude-mailbox", path) as reader:
            return reader.store().store_id, [one.key for one in reader.messages()]

    before = known()
    with closing(sqlite3.connect(path)) as connection, connection:
        for column in ("from_name", "to_name"):
            connection.execute(f"UPDATE messages SET {column} = 'robert' WHERE {column} = 'bob'")
        connection.execute("UPDATE mailboxes SET name = 'robert' WHERE name = 'bob'")
        connection.execute("UPDATE messages SET delivered_at = created_at WHERE delivered_at IS NULL")

    assert known() == before
    assert len(set(before[1])) == 40


def test_what_is_alike_in_id_time_and_words_is_a_message_each(tmp_path: Path) -> None:
    path = tmp_path / "mailbox.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE messages (id INTEGER, from_name, to_name, body, created, delivered)")
        for to in ("b", "c", "c"):
            connection.execute("INSERT INTO messages VALUES (1, 'a', ?, 'to all', '2026-03-01 08:00:00', 0)", (to,))

    with open_source("claude-mailbox", path) as reader:
        assert len({one.key for one in reader.messages()}) == 3


def test_an_id_that_is_given_out_again_is_another_message_also_where_no_time_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "mailbox.db"
    keys = []
    for to, at in (("b", "2026-03-01 08:00:00"), ("b", "2026-03-01 08:00:01"), ("b", None), ("c", None)):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DROP TABLE IF EXISTS messages")
            connection.execute("CREATE TABLE messages (id INTEGER, from_name, to_name, body, created, delivered)")
            connection.execute("INSERT INTO messages VALUES (1, 'a', ?, 'done', ?, 0)", (to, at))
        with open_source("claude-mailbox", path) as reader:
            keys += [one.key for one in reader.messages()]

    assert len(set(keys)) == 4
