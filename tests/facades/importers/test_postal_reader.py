"""postal's messages: order, times, ids and what was given, as they stand there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import from_datetime
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.importing.refusals import UnknownLayout
from mcp_agent_mail.facades.importers.sources import open_source
from tests.facades.importers.small_sources import START, make_postal
from tests.facades.importers.untouched import state_of


def test_every_message_comes_in_its_order_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    path = make_postal(tmp_path / "messages.sqlite", messages=60)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT id, from_agent, to_agent, content, done FROM messages").fetchall()
    before = state_of(path)

    with open_source("postal", path) as reader:
        agents = {agent.key: agent for agent in reader.agents()}
        messages = list(reader.messages())

    assert state_of(path) == before
    assert [
        (
            one.external_id,
            agents[one.sender_key].name,
            agents[one.recipients[0].agent_key].name,
            one.body_md,
            int(one.recipients[0].read_ts is not None),
        )
        for one in messages
    ] == rows
    assert messages[0].created_ts == from_datetime(START)
    assert {one.door for one in messages} == {Door.POSTAL}
    assert {agent.wire for agent in agents.values()} == {Door.POSTAL}


def test_messages_of_one_second_keep_their_order_and_earlier_ones_come_first(tmp_path: Path) -> None:
    path = make_postal(tmp_path / "messages.sqlite", messages=0)
    with closing(sqlite3.connect(path)) as connection, connection:
        for external_id, created in (("z", "2026-03-01 08:00:01"), ("a", "2026-03-01 08:00:01"), ("m", "2026-03-01")):
            connection.execute("INSERT INTO messages VALUES (?, 'x', 'y', 'b', ?, 0)", (external_id, created))

    with open_source("postal", path) as reader:
        assert [one.external_id for one in reader.messages()] == ["m", "z", "a"]


def test_the_store_is_known_again_after_mail_was_added_or_it_was_moved(tmp_path: Path) -> None:
    first = make_postal(tmp_path / "a.sqlite", messages=10)
    more = make_postal(tmp_path / "b.sqlite", messages=20)
    other = make_postal(tmp_path / "c.sqlite", messages=10, seed=2)
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("UPDATE messages SET created = '2026-02-01 07:00:00' WHERE rowid = 1")

    ids = []
    for path in (first, more, other):
        with open_source("postal", path) as reader:
            ids.append(reader.store().store_id)

    assert ids[0] == ids[1] != ids[2]


def test_a_message_is_called_the_same_though_those_before_it_are_gone_and_another_one_otherwise(
    tmp_path: Path,
) -> None:
    path = make_postal(tmp_path / "messages.sqlite", messages=5)

    def keys() -> list[str]:
        with open_source("postal", path) as reader:
            return [one.key for one in reader.messages()]

    before = keys()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM messages WHERE rowid = 1")
        connection.execute("UPDATE messages SET content = 'other' WHERE rowid = 5")
    after = keys()

    assert after[:-1] == before[1:-1]
    assert after[-1] != before[-1]


def test_rows_without_an_id_that_say_the_same_are_messages_each(tmp_path: Path) -> None:
    path = make_postal(tmp_path / "messages.sqlite", messages=0)
    with closing(sqlite3.connect(path)) as connection, connection:
        for _ in range(2):
            connection.execute("INSERT INTO messages VALUES (NULL, 'x', 'y', 'b', '2026-03-01', 0)")

    with open_source("postal", path) as reader:
        assert len({one.key for one in reader.messages()}) == 2


def test_a_message_without_a_time_has_that_of_the_one_before_which_is_noted(tmp_path: Path) -> None:
    path = make_postal(tmp_path / "messages.sqlite", messages=3)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO messages VALUES ('late', 'x', 'y', 'b', 'soon', 0)")

    with open_source("postal", path) as reader:
        *_, before, last = reader.messages()
        notes = [note.text for note in reader.notes()]

    assert (last.external_id, last.created_ts) == ("late", before.created_ts)
    assert notes == ["1 messages have no time that can be read: each has that of the one before it."]


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("CREATE TABLE letters (id)", "no table `messages`; it has letters"),
        ("CREATE TABLE messages (id, content)", "lack from_agent, to_agent, done; they have id, content"),
        ("CREATE VIEW messages AS SELECT 1 AS id", "no table `messages`; it has nothing"),
    ],
)
def test_an_unknown_layout_is_refused_with_what_was_found(script: str, found: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute(script)

    with pytest.raises(UnknownLayout, match=found), open_source("postal", tmp_path / "x.db"):
        pass


def test_mail_is_called_the_same_though_it_was_given_and_names_were_changed(tmp_path: Path) -> None:
    path = make_postal(tmp_path / "messages.sqlite")

    def known() -> tuple[str, list[str]]:
        with open_source("postal", path) as reader:
            return reader.store().store_id, [one.key for one in reader.messages()]

    before = known()
    with closing(sqlite3.connect(path)) as connection, connection:
        for column in ("from_agent", "to_agent"):
            connection.execute(f"UPDATE messages SET {column} = 'robert' WHERE {column} = 'bob'")
        connection.execute("UPDATE messages SET done = 1")

    assert known() == before
