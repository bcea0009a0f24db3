"""Threads, recipients and order, row by row."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.importing.records import ThreadRef
from mcp_agent_mail.facades.importers.mcp_agent_mail.mail_files import message_key
from tests.facades.importers.mcp_agent_mail.one_store import add_mail, add_people, database_of, read_whole
from tests.facades.importers.mcp_store import SCHEMA

_KEY_OF_COPIES = ",\n        PRIMARY KEY (message_id, agent_id)"


def test_threads_by_number_follow_their_message_and_others_are_names(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3") as connection:
        add_people(connection, "A", "B")
        for number, thread in enumerate((None, "1", " 1 ", "4", "99", "9" * 30, "bug-1", "²"), 1):
            add_mail(connection, number, thread=thread)

    whole = read_whole(tmp_path / "s.sqlite3")

    root = ThreadRef(message_key=whole.messages[0].key)
    names = [ThreadRef(name=name) for name in ("99", "9" * 30, "bug-1", "²")]
    assert [one.thread for one in whole.messages] == [None, root, root, None, *names]


def test_threads_in_a_circle_end_and_are_said(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3") as connection:
        add_people(connection, "A", "B")
        for number, thread in ((1, "3"), (2, "1"), (3, "2")):
            add_mail(connection, number, thread=thread)
        connection.execute("UPDATE messages SET created_ts = '2026-03-01 08:00:00'")

    whole = read_whole(tmp_path / "s.sqlite3")

    first, second, _ = (one.key for one in whole.messages)
    assert [one.thread for one in whole.messages] == [
        ThreadRef(name="3"),
        ThreadRef(message_key=first),
        ThreadRef(message_key=second),
    ]
    assert "1 messages stand in a thread that a later message names: it is kept as a name." in whole.notes


def test_rows_that_refer_to_nothing_are_kept_or_counted(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3") as connection:
        add_people(connection, "A", "B")
        add_mail(connection, 1, sender=77)
        add_mail(connection, 2, to=78)
        add_mail(connection, 3, sender=79, project=99)
        connection.execute("INSERT INTO message_recipients VALUES (900, 1, 'to', NULL, NULL)")

    whole = read_whole(tmp_path / "s.sqlite3")

    assert [whole.agents[one.sender_key].name for one in whole.messages] == ["agent-77", "A", "agent-79"]
    assert [len(one.recipients) for one in whole.messages] == [1, 0, 1]
    assert [one.slug for one in whole.projects] == ["lost-project", "app-1"]
    assert whole.left["copies"] == 2


def test_words_and_times_that_are_none_have_a_default(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3") as connection:
        add_people(connection, "A", "B")
        add_mail(connection, 1)
        add_mail(connection, 2)
        connection.execute("UPDATE messages SET importance = 'huge', created_ts = 'soon', body_md = NULL WHERE id = 2")
        connection.execute("UPDATE message_recipients SET kind = 'odd', read_ts = 'x' WHERE message_id = 2")

    whole = read_whole(tmp_path / "s.sqlite3")

    first, second = whole.messages
    assert (second.importance, second.created_ts, second.body_md) == ("normal", first.created_ts, "")
    assert (second.recipients[0].kind, second.recipients[0].read_ts) == ("to", None)
    assert "1 messages have no time that can be read: each has that of the one before it." in whole.notes


def test_columns_may_lack_or_be_more(tmp_path: Path) -> None:
    schema = """
        CREATE TABLE projects (id, slug, colour);
        CREATE TABLE agents (id, project_id, name);
        CREATE TABLE messages (id, project_id, sender_id, subject, body_md, mood);
        CREATE TABLE message_recipients (message_id, agent_id);
        INSERT INTO projects VALUES (1, 'app', 'red');
        INSERT INTO agents VALUES (1, 1, 'A'), (2, 1, 'B');
        INSERT INTO messages VALUES (1, 1, 1, 's', 'b', 'good');
        INSERT INTO message_recipients VALUES (1, 2);
        CREATE TABLE moods (mood); INSERT INTO moods VALUES ('good');
    """
    with database_of(tmp_path / "s.sqlite3", schema=schema):
        pass

    whole = read_whole(tmp_path / "s.sqlite3")

    (message,) = whole.messages
    assert (message.subject, message.topic, message.recipients[0].read_ts) == ("s", None, None)
    assert whole.left == {"rows of moods": 1}
    assert "The database does not say of recipients: read_ts, ack_ts, kind." in whole.notes


def test_messages_of_one_number_are_messages_each_in_every_run(tmp_path: Path) -> None:
    schema = SCHEMA.replace("id INTEGER PRIMARY KEY", "id INTEGER").replace(_KEY_OF_COPIES, "")
    assert schema.count("PRIMARY KEY") == 0
    with database_of(tmp_path / "s.sqlite3", schema=schema) as made:
        add_people(made, "A", "B")
        add_mail(made, 1)
        for subject in ("first", "of the same second", "of the same second"):
            add_mail(made, 2, subject=subject)
        add_mail(made, 3)

    whole = read_whole(tmp_path / "s.sqlite3")
    again = read_whole(tmp_path / "s.sqlite3")

    assert [one.subject for one in whole.messages] == ["s1", "first", "of the same second", "of the same second", "s3"]
    assert [one.key for one in whole.messages] == [one.key for one in again.messages]
    assert whole.messages[1].key == message_key(2, Micros(1772352002_000_000), "first")
    assert any(note.startswith("2 messages have the number of another one") for note in whole.notes)
