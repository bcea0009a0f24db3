from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import LATEST
from mcp_agent_mail.core.ids import MOST_TAKEN_OVER
from mcp_agent_mail.domain.guard.events import MAX_DETAIL_BYTES
from mcp_agent_mail.domain.messages import MAX_BROADCAST_RECIPIENTS
from mcp_agent_mail.store.checks.integrity import find_faults
from mcp_agent_mail.store.checks.strange_fields import strange_fields, too_long
from mcp_agent_mail.store.engine.sqlite.connection import add_functions
from tests.seeded_store import open_seeded_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store in which one agent wrote to another."""

    async def post() -> None:
        async with open_seeded_store(tmp_path) as seeded:
            await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

    asyncio.run(post())
    (path,) = tmp_path.glob("*.sqlite3")
    return path


def _found(path: Path, *statements: str) -> list[str]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        add_functions(connection)
        for statement in statements:
            connection.execute(statement)
        return list(strange_fields(connection))


def test_what_this_program_writes_is_nothing_strange(store: Path) -> None:
    assert _found(store) == []


_CARRIED = '[{"sha256": "%s", "bytes": 1, "extension": "txt", "name": "a", "media_type": "%s", "width": null, '
_CARRIED += '"height": null, "is_inline": false}]'
_ATTACHED = "INSERT INTO message_attachments (message_id, attachments) SELECT min(id), '{}' FROM messages"
_DIRECTORY = "UPDATE projects SET human_key = '/a' || {} WHERE id = 1"
_EVENT = "INSERT INTO outbox (project_id, kind, created_ts, snapshot) VALUES (1, '{}', 1, '{}')"

_REMEMBERED = "INSERT INTO idempotency_keys SELECT min(id), 'k', zeroblob(32), {}, 1 FROM agents"
_MANY = "'[{0}' || replace(hex(zeroblob(1000000)), '00', ',{0}') || ']'"

STRANGE = {
    "a slug that is a path": ("UPDATE projects SET slug = '/tmp/elsewhere' WHERE id = 1", "projects.slug"),
    "a slug that leads upwards": ("UPDATE projects SET slug = '../../x' WHERE id = 1", "projects.slug"),
    "a directory with a line break": (
        "UPDATE projects SET human_key = '/a' || char(10) WHERE id = 1",
        "projects.human_key",
    ),
    "a directory with an escape": (
        "UPDATE projects SET human_key = '/a' || char(27) || '[2J' WHERE id = 1",
        "projects.human_key",
    ),
    "a directory that leads upwards": ("UPDATE projects SET human_key = '/a/../b' WHERE id = 1", "projects.human_key"),
    "a key that is another directory's": ("UPDATE projects SET plain_slug = 'other'", "projects.plain_slug"),
    "an alias with a line break": (
        "INSERT INTO project_aliases SELECT 'tie:' || char(10), min(id), 'tie', 1 FROM projects",
        "project_aliases.alias",
    ),
    "a name that is a path": ("UPDATE agents SET name = '../x' WHERE id = 1", "agents.name"),
    "a name under another's key": ("UPDATE agents SET name_key = 'nobody' WHERE id = 1", "agents.name_key"),
    "a policy that there is not": ("UPDATE agents SET contact_policy = 'all'", "agents.contact_policy"),
    "a name at doors of two lines": (
        (
            "INSERT INTO wire_names (project_id, agent_id, name, name_key, created_ts) "
            "VALUES (1, 1, 'a' || char(10) || 'b', 'a' || char(10) || 'b', 1)"
        ),
        "wire_names.name",
    ),
    "a name at doors that is found by another": (
        "INSERT INTO wire_names (project_id, agent_id, name, name_key, created_ts) VALUES (1, 1, 'bob', 'alice', 1)",
        "wire_names.name_key",
    ),
    "an id of a door without the hash of a body": (
        (
            "INSERT INTO wire_ids (message_id, door, external_id, sender_id, recipient_id, answers, body_hash) "
            "VALUES (1, 'postal', 'm', 1, 1, 0, x'00')"
        ),
        "wire_ids.body_hash",
    ),
    "a status that there is not": ("UPDATE agents SET status = 'gone'", "agents.status"),
    "a token of another length": ("UPDATE agents SET token_hash = x'00' WHERE id = 1", "agents.token_hash"),
    "a time beyond the calendar": (f"UPDATE projects SET created_ts = {1 << 62}", "projects.created_ts"),
    "the last moment of the calendar": (f"UPDATE messages SET created_ts = {LATEST + 1}", "messages.created_ts"),
    "a time before the calendar": (f"UPDATE recipients SET delivered_ts = {-(1 << 60)}", "recipients.delivered_ts"),
    "a number below zero": ("UPDATE recipients SET position = -1", "recipients.position"),
    "a number that leaves too few": (
        f"UPDATE recipients SET delivery_seq = {MOST_TAKEN_OVER + 1}",
        "recipients.delivery_seq",
    ),
    "a thread that is a path": ("UPDATE messages SET thread_id = '../x'", "messages.thread_id"),
    "a topic of several words": ("UPDATE messages SET topic = 'a b'", "messages.topic"),
    "an event that there is not": (_EVENT.format("letter", "{}"), "outbox.kind"),
    "an event that is no JSON": (_EVENT.format("mail", "{"), "outbox.snapshot"),
    "an event that is too deep": (
        _EVENT.format("mail", "[" * 5_000 + "]" * 5_000),
        "outbox.snapshot",
    ),
    "a commit that is an option": (
        "INSERT INTO commits VALUES (1, 1, '--upload-pack=x', '', 1, 1)",
        "commits.hexsha",
    ),
    "a content that is a path": (
        f"INSERT INTO content_messages SELECT '{'../' * 21}x', min(id) FROM messages",
        "content_messages.sha256",
    ),
    "an attachment that is a path": (_ATTACHED.format(_CARRIED % ("../x", "text/plain")), "message_attachments"),
    "an attachment with a header": (
        _ATTACHED.format(_CARRIED % ("a" * 64, r"text/plain\r\nX: y")),
        "message_attachments",
    ),
    "an attachment that is none": (_ATTACHED.format("[7]"), "message_attachments"),
    "costs without end": ("INSERT INTO llm_spending VALUES (1, 9e999, 1)", "llm_spending.cost_usd"),
    "a sequence that leaves too few": (
        f"UPDATE sqlite_sequence SET seq = {MOST_TAKEN_OVER + 1} WHERE name = 'agents'",
        "the number of agents",
    ),
    "a sequence that is no number": ("UPDATE sqlite_sequence SET seq = 'many' WHERE name = 'agents'", "the number of"),
    "numbers of nothing": (
        "INSERT INTO sqlite_sequence VALUES (NULL, 5)",
        "a table whose rows are numbered cannot be None",
    ),
    "numbers by bytes": (
        "INSERT INTO sqlite_sequence VALUES (x'6167656e7473', 5)",
        "a table whose rows are numbered cannot be 'agents'",
    ),
    "numbers by what is no text": (
        "INSERT INTO sqlite_sequence VALUES (CAST(x'ff00' AS TEXT), 5)",
        "a table whose rows are numbered",
    ),
    "numbers of no table of this program": (
        "INSERT INTO sqlite_sequence VALUES (hex(zeroblob(50000)), 5)",
        "a table whose rows are numbered",
    ),
    "numbers that are there twice": (
        "INSERT INTO sqlite_sequence SELECT * FROM sqlite_sequence WHERE name = 'agents'",
        "the number of agents cannot be there twice",
    ),
    "a number below that of a row": ("DELETE FROM sqlite_sequence WHERE name = 'agents'", "the number of agents"),
    "an answer of more parts than any has": (_REMEMBERED.format(_MANY.format("[]")), "idempotency_keys.result"),
    "an answer that is longer than any": (
        _REMEMBERED.format("printf('[\"%.*c\"]', 33554432, 'x')"),
        "idempotency_keys.result",
    ),
    "a report that is longer than any": (
        f"""INSERT INTO guard_events (project, event_key, ts, action, hook, repository, detail)
            SELECT 'p', 'k', 1, 'warned', 'check', 'r', {_MANY.format("[]")}""",
        "guard_events.detail",
    ),
    "attachments of more parts than any": (
        f"INSERT INTO message_attachments SELECT min(id), {_MANY.format('7')} FROM messages",
        "message_attachments.attachments",
    ),
    "a text that is longer than this program can have written": (
        "UPDATE messages SET body_md = hex(zeroblob(40000000))",
        "messages holds a value of more than",
    ),
    "a counter that leaves too few": (
        f"UPDATE counters SET value = {MOST_TAKEN_OVER + 1} WHERE name = 'fencing'",
        "the counter fencing",
    ),
    "a delivery beyond the calendar": (
        f"UPDATE counters SET value = {LATEST + 1} WHERE name = 'delivered_ts'",
        "the counter delivered_ts",
    ),
    "a counter that is gone": ("DELETE FROM counters WHERE name = 'fencing'", "the counter fencing is missing"),
    "a store without a name": ("DELETE FROM meta", "the id of the store"),
    "text that is no UTF-8": ("UPDATE agents SET program = CAST(x'ff' AS TEXT)", "agents holds text that is no UTF-8"),
    "a body that is no UTF-8": (
        "INSERT INTO meta VALUES ('note', CAST(x'c328' AS TEXT))",
        "meta holds text that is no UTF-8",
    ),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_this_program_never_writes_is_named(name: str, store: Path) -> None:
    statement, where = STRANGE[name]

    found = _found(store, "PRAGMA foreign_keys = OFF", "DROP TRIGGER content_messages_readers", statement)

    assert found[0].startswith(where)
    assert found[0].isprintable()
    assert len(found) <= 2  # What follows from it is told too.


def test_the_longest_that_this_program_writes_is_nothing_strange(store: Path) -> None:
    """A body of three million control characters, which JSON writes as six each, to all whom a broadcast reaches."""
    everyone = [{f"key{number}": number for number in range(12)}] * MAX_BROADCAST_RECIPIENTS
    longest = json.dumps({"body_md": "\x01" * (3 << 20), "recipients": everyone})
    detail = json.dumps({"reason": "x" * MAX_DETAIL_BYTES})

    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        add_functions(connection)
        connection.execute("UPDATE messages SET body_md = ?", ("\x01" * (3 << 20),))
        connection.execute(_EVENT.format("mail", longest))
        connection.execute(_REMEMBERED.format("?"), (longest,))
        sql = "INSERT INTO guard_events (project, event_key, ts, action, hook, repository, detail) VALUES"
        connection.execute(f"{sql} ('p', 'k', 1, 'warned', 'check', 'r', ?)", (detail,))
        assert list(strange_fields(connection)) == []


def test_a_time_in_the_future_is_one_that_a_clock_showed_before_it_was_set_back(store: Path) -> None:
    statement = f"UPDATE messages SET created_ts = {LATEST}"

    assert _found(store, statement, f"UPDATE counters SET value = {LATEST} WHERE name = 'delivered_ts'") == []


def test_of_many_rows_that_are_strange_one_is_told(store: Path) -> None:
    """So nothing grows with what somebody has put there."""
    rows = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "

    found = _found(store, rows + "INSERT INTO llm_spending SELECT i, -1, 1 FROM n")

    assert found == ["llm_spending.cost_usd cannot be -1.0"]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            f"INSERT INTO message_attachments SELECT min(id), {_MANY.format('7')} FROM messages",
            "message_attachments holds",
        ),
        ("UPDATE messages SET body_md = hex(zeroblob(40000000))", "messages holds a value of more than"),
    ],
)
def test_what_is_too_long_is_told_before_anything_reads_it(statement: str, told: str, store: Path) -> None:
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        add_functions(connection)
        assert list(too_long(connection)) == []
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000_000)
        connection.execute(statement)

        (found,) = too_long(connection)

    assert found.startswith(told)
    faults = find_faults(store)
    assert [fault.evidence for fault in faults] == [found]
