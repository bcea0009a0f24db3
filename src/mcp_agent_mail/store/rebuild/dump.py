"""What a store says, as lines of JSON in one order: equal for two stores that nobody can tell apart.

Without what no archive tells of (`rules`), and with outbox and commits as they are shown: which commit brought a
message into a project, which commits an agent acted in, which receipts are in which commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.engine.sqlite.schema import open_own
from mcp_agent_mail.store.rebuild.rules import RULES, Origin

_QUERIES = {
    "meta": "SELECT key, value FROM meta WHERE key = 'store_id'",
    "products": """
        SELECT {columns} FROM products WHERE id IN (SELECT product_id FROM product_projects) ORDER BY id
    """,
    "messages": """
        SELECT id, project_id, sender_id, thread_id, topic, subject, importance, ack_required, created_ts, reply_to,
               is_system, scope GLOB '*p[0-9]*', body_bytes, body_md, purged_ts
        FROM messages ORDER BY id
    """,
    "recipients": """
        SELECT message_id, agent_id, kind, row_number() OVER (PARTITION BY message_id ORDER BY position, agent_id),
               delivery_seq, delivered_ts, read_ts, ack_ts, urgent, ack_required, thread_id, held_code, refused_ts,
               topic_key, sender_id, answered_ts, valid_until_ts, expired_ts, withdrawn_ts, withdrawn_seq, superseded_by
        FROM recipients ORDER BY message_id, position, agent_id
    """,
    "commits": "SELECT {columns} FROM commits ORDER BY project_id, last_seq, id",
}
# What `whois` shows, what a mailbox shows beside a message, and what files of receipts are rendered of.
_ACTED = """
    SELECT DISTINCT c.project_id, o.agent_id, c.last_seq, c.hexsha
    FROM outbox o JOIN commits c ON c.id = o.commit_id
    JOIN agents a ON a.id = o.agent_id AND a.project_id = c.project_id
    WHERE CASE o.kind
        WHEN 'mail' THEN EXISTS (
            SELECT 1 FROM message_projects mp JOIN messages m ON m.id = mp.message_id
            WHERE mp.project_id = c.project_id AND mp.message_id = o.message_id AND m.sender_id = o.agent_id)
        WHEN 'receipt' THEN EXISTS (
            SELECT 1 FROM recipients r
            JOIN message_projects mp ON mp.project_id = c.project_id AND mp.message_id = r.message_id
            WHERE r.message_id = o.message_id AND r.agent_id = o.agent_id AND r.kind <> 'bcc')
        WHEN 'contact' THEN 0 ELSE 1 END
    ORDER BY c.project_id, o.agent_id, c.last_seq, c.hexsha
"""
_BROUGHT = """
    SELECT o.project_id, o.message_id, c.hexsha FROM outbox o JOIN commits c ON c.id = o.commit_id
    WHERE o.kind = 'mail' AND o.seq = (
        SELECT max(n.seq) FROM outbox n INDEXED BY outbox_message
        WHERE n.message_id = o.message_id AND n.project_id = o.project_id AND n.kind = 'mail'
          AND n.commit_id IS NOT NULL)
    ORDER BY o.project_id, o.message_id
"""
# By their files: those of blind copies have their own, and what was first in two files of one commit no archive tells.
_RECEIPTS = """
    SELECT o.project_id, c.hexsha, o.agent_id, o.message_id, o.step, o.is_blind
    FROM outbox o JOIN commits c ON c.id = o.commit_id WHERE o.kind = 'receipt'
    ORDER BY o.project_id, c.last_seq, CASE WHEN o.is_blind THEN o.agent_id ELSE 0 END, o.seq
"""

# A value as SQLite has it.
_Shown = Callable[[Any], Any]


def _json(text: str | None) -> object:
    return None if text is None else json.loads(text)


_SHOWN: Mapping[tuple[str, str], _Shown] = {
    ("leases", "evidence"): _json,
    ("wire_ids", "body_hash"): bytes.hex,
    ("message_attachments", "attachments"): _json,
}


def dump(path: Path) -> Iterator[str]:
    """The store at `path` line by line, from one unchanging view; a line names its table."""
    with closing(open_own(path)) as connection:
        connection.execute("BEGIN")
        for table, rule in RULES.items():
            if rule.origin is not Origin.LOST and rule.columns and table != "outbox":
                yield from _table(connection, table, rule.columns)
        for what, sql in (("acted", _ACTED), ("brought", _BROUGHT), ("receipts", _RECEIPTS)):
            yield from (_line(f"outbox.{what}", row) for row in connection.execute(sql))


def _table(connection: Connection, table: str, columns: tuple[str, ...]) -> Iterator[str]:
    named = ", ".join(columns)
    sql = _QUERIES.get(table, f"SELECT {{columns}} FROM {table} ORDER BY {{columns}}").format(columns=named)
    for row in connection.execute(sql):
        shown = (
            _SHOWN[table, column](value) if (table, column) in _SHOWN else value
            for column, value in zip(columns, row, strict=True)
        )
        yield _line(table, list(shown))


def _line(table: str, row: object) -> str:
    return json.dumps([table, row], sort_keys=True, ensure_ascii=False)
