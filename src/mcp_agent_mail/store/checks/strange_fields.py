"""Are the values in a database such as this program writes? The schema knows their types alone, and a database may be
anybody's: a slug becomes a path, a time a file's name, a number the one that the next ones go on above.

One pass over each table, whose rows stay in SQLite: what is kept of them is one value for each rule that is broken.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from enum import StrEnum
from typing import Any

from mcp_agent_mail.core.clock import LATEST, from_datetime, from_seconds, to_datetime
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import MOST_TAKEN_OVER
from mcp_agent_mail.core.json_limits import read_bounded, require_bounded
from mcp_agent_mail.domain.agents import AgentStatus, AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.archive_format.names import UnsafeName, safe_name
from mcp_agent_mail.domain.attachments import MAX_NAME, Attachment, from_json, is_content_path
from mcp_agent_mail.domain.doors.ids import is_wire_id
from mcp_agent_mail.domain.doors.names import Door, is_wire_name, wire_key
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.domain.identity.names import name_key
from mcp_agent_mail.domain.identity.windows import find_window_uuid
from mcp_agent_mail.domain.products import uid_of
from mcp_agent_mail.domain.projects import canonical_path, is_path, is_slug, plain_slug
from mcp_agent_mail.domain.threads import parse_thread_id, parse_topic
from mcp_agent_mail.store.engine.sqlite.numbers import NAMED, SEQUENCES

_TABLES = """
    SELECT name FROM pragma_table_list
    WHERE schema = 'main' AND type = 'table' AND name NOT GLOB 'sqlite_*' ORDER BY name
"""
_COLUMNS = 'SELECT name, type, "notnull" FROM pragma_table_info(?) ORDER BY cid'
_SHOWN = """
    SELECT CASE WHEN typeof("{column}") IN ('text', 'blob') THEN substr("{column}", 1, 200) ELSE "{column}" END
    FROM "{table}" WHERE {condition} LIMIT 1
"""
_NAME = re.compile(r"[a-z_]+")
_HEX = re.compile(r"[0-9a-f]+")
_STORE_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,127}/[\w.+-]{1,127}(?:; ?[\w.+-]+=[\w.+-]+)*", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_HASH_BYTES = 32
_MOST_COST = 1e12
_MOST_ALIAS = 4_096
_MOST_DEPTH = 64
_UNBOUNDED = frozenset({("digests", "span"), ("leases", "promises"), ("counters", "value")})
"""A caller asked for it, it may fall below zero, or `_BEYOND_COUNTERS` looks at it."""

_BEYOND_SEQUENCES = f"""
    SELECT 'the number of ' || name, seq FROM sqlite_sequence
    WHERE name IN ({NAMED}) AND (typeof(seq) <> 'integer' OR seq > :most) LIMIT 1
"""
_UNKNOWN_SEQUENCE = f"""
    SELECT CAST(substr(name, 1, 50) AS BLOB) FROM sqlite_sequence
    WHERE typeof(name) <> 'text' OR name NOT IN ({NAMED}) LIMIT 1
"""
_SEQUENCE_TWICE = f"""
    SELECT name FROM sqlite_sequence WHERE name IN ({NAMED})
    GROUP BY name HAVING count(*) > 1 LIMIT 1
"""
_BEHIND = """
    SELECT max({key}) FROM "{table}"
    WHERE {key} > (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '{table}')
"""
_BEYOND_COUNTERS = """
    SELECT 'the counter ' || name, value FROM counters
    WHERE value > CASE name WHEN 'delivered_ts' THEN :latest ELSE :most END LIMIT 1
"""
MOST_BYTES = 32 << 20
"""Of any text. The longest that are written are events and answers: a body of three million bytes, each of which may
take six in JSON, with all whom a broadcast reaches."""

_SMALLER = {
    ("guard_events", "detail"): 4 << 20,  # A request is no longer, and before it had a bound of its own it was whole.
    ("leases", "evidence"): 4 << 20,
    ("digests", "summary_text"): 4 << 20,
    ("digests", "source_thread_ids"): 4 << 20,
    ("message_attachments", "attachments"): 1 << 20,
}
MOST_PARTS = 400_000
"""Of a JSON text: 5,000 recipients of a broadcast, each with some twenty names and values, four times over."""

_MOST_LOADED = 2 * MOST_BYTES
_COUNTERS_SINCE = {
    1: ("delivered_ts", "delivery"),
    3: ("fencing", "leases_ended"),
    7: ("overdue",),
    20: ("feed_floor", "unseen"),
}
"""Those that each version of the schema has begun."""


def strange_fields(connection: sqlite3.Connection) -> Iterator[str]:
    """What stands there that this program writes nowhere, in words; of each rule the first that breaks it.

    Times may be in the future, after a clock that was set back, but within the calendar. From here on the connection
    loads no value that is longer than any of this program's.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_LOADED)
    for name, rule in _RULES.items():
        connection.create_function(f"is_{name}", 1, rule, deterministic=True)
    for name, derive in _DERIVED.items():
        connection.create_function(name, 1, derive, deterministic=True)
    for (table,) in connection.execute(_TABLES).fetchall():
        if _NAME.fullmatch(table):  # Others are not of this program, which the schema tells.
            yield from _in_table(connection, table)
    yield from _sequences(connection)
    yield from _beyond(connection)
    yield from _missing(connection)


def too_long(connection: sqlite3.Connection) -> Iterator[str]:
    """Which column of each table holds text that is longer than this program writes there: before anything else reads
    it, SQLite's own checks too, which take many times its length. From here on no value is loaded that is far longer.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_LOADED)
    for (table,) in connection.execute(_TABLES).fetchall():
        if not _NAME.fullmatch(table):
            continue
        columns = [column for column, kind, _ in connection.execute(_COLUMNS, (table,)).fetchall() if kind == "TEXT"]
        bounds = [(column, _SMALLER.get((table, column), MOST_BYTES)) for column in columns]
        broken = " OR ".join(f'length(CAST("{column}" AS BLOB)) > {most}' for column, most in bounds)
        try:
            if broken and connection.execute(f'SELECT 1 FROM "{table}" WHERE {broken} LIMIT 1').fetchone():
                yield f"{table} holds text that is longer than any that is written there"
        except sqlite3.DataError:
            yield f"{table} holds a value of more than {_MOST_LOADED:,} bytes"


def _in_table(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    conditions = list(_conditions(connection, table))
    if not conditions:
        return
    broken = " OR ".join(condition for _, condition in conditions)
    try:
        if connection.execute(f'SELECT 1 FROM "{table}" WHERE {broken} LIMIT 1').fetchone() is None:
            return
        for column, condition in conditions:
            row = connection.execute(_SHOWN.format(column=column, table=table, condition=condition)).fetchone()
            if row is not None:
                yield f"{table}.{column} cannot be {row[0]!r:.100}"
    except sqlite3.DataError:
        yield f"{table} holds a value of more than {_MOST_LOADED:,} bytes"
    except sqlite3.OperationalError as failed:
        if failed.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        yield f"{table} holds text that is no UTF-8"


def _conditions(connection: sqlite3.Connection, table: str) -> Iterator[tuple[str, str]]:
    """By column, what holds for a row only where it is at fault."""
    for column, kind, is_needed in connection.execute(_COLUMNS, (table,)).fetchall():
        if (table, column) in _UNBOUNDED or not _NAME.fullmatch(column.replace("256", "")):
            continue
        name = f'"{column}"'
        if kind == "INTEGER" and (column == "ts" or column.endswith("_ts")):
            latest = _END if (table, column) == ("commits", "authored_ts") else LATEST
            yield column, f"{name} NOT BETWEEN {_EARLIEST} AND {latest}"
        elif kind == "INTEGER":
            yield column, f"{name} NOT BETWEEN {int(column in ('id', 'seq'))} AND {MOST_TAKEN_OVER}"
        elif kind == "REAL":
            yield column, f"{name} NOT BETWEEN 0 AND {_MOST_COST}"
        elif kind == "BLOB":
            yield column, f"length({name}) <> {_HASH_BYTES}"
        elif kind == "TEXT":
            rule = _TEXTS.get((table, column)) or _TEXTS.get(("", column), "text")
            most = _SMALLER.get((table, column), MOST_BYTES)
            # In this order: what is too long is not given to a function.
            asked = f"CASE WHEN length(CAST({name} AS BLOB)) > {most} THEN 1 ELSE NOT is_{rule}({name}) END"
            yield column, asked if is_needed else f"{name} IS NOT NULL AND {asked}"
            if (table, column) in _FOLLOWS:
                yield column, f"{name} <> {_FOLLOWS[table, column]}"


def _sequences(connection: sqlite3.Connection) -> Iterator[str]:
    """Each table's numbers are known by its name, once, and none of its rows is above them."""
    for (name,) in connection.execute(_UNKNOWN_SEQUENCE):
        shown = None if name is None else name.decode("utf-8", "backslashreplace")
        yield f"a table whose rows are numbered cannot be {shown!r:.100}"
    for (name,) in connection.execute(_SEQUENCE_TWICE):
        yield f"the number of {name} cannot be there twice"
    for table, key in _numbered(connection):
        (highest,) = connection.execute(_BEHIND.format(table=table, key=key)).fetchone()
        if highest is not None:
            yield f"the number of {table} cannot be below that of a row, {highest}"


def _numbered(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """The tables of this version that number their rows, and by what column."""
    there = {table for (table,) in connection.execute(_TABLES)}
    return [(table, "seq" if table == "outbox" else "id") for table in sorted(SEQUENCES & there)]


def _beyond(connection: sqlite3.Connection) -> Iterator[str]:
    bounds = {"most": MOST_TAKEN_OVER, "latest": LATEST}
    for sql in (_BEYOND_SEQUENCES, _BEYOND_COUNTERS):
        for what, value in connection.execute(sql, bounds):
            yield f"{what} cannot be {value!r:.100}"


def _missing(connection: sqlite3.Connection) -> Iterator[str]:
    """What every store has a row of."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    needed = {name for since, names in _COUNTERS_SINCE.items() if since <= version for name in names}
    there = {name for (name,) in connection.execute("SELECT name FROM counters")}
    yield from (f"the counter {name} is missing" for name in sorted(needed - there))
    found = connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchone()
    if found is None or not _STORE_ID.fullmatch(str(found[0])):
        yield f"the id of the store cannot be {found!r:.100}"


def _is_canonical(text: str) -> bool:
    with suppress(AgentMailError):
        return canonical_path(text) == text
    return False


def _is_alias(text: str) -> bool:
    """Paths name directories; the rest is told in one line."""
    return _is_canonical(text) if is_path(text) else len(text) <= _MOST_ALIAS and not _CONTROL.search(text)


def _is_agent(text: str) -> bool:
    with suppress(UnsafeName):
        return safe_name(text) == text
    return False


def _is_json(text: str) -> bool:
    """Of a depth that whatever goes through it can take."""
    try:
        level = [read_bounded(text.encode(), MOST_PARTS, longest=MOST_BYTES)]
    except (ValueError, RecursionError):
        return False
    for _ in range(_MOST_DEPTH):
        level = [inner for one in level for inner in _inner(one)]
        if not level:
            return True
    return False


def _inner(value: object) -> Collection[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _are_attachments(text: str) -> bool:
    """As `to_json` writes them: a digest is a path, a media type a header of HTTP."""
    try:
        require_bounded(text.encode(), MOST_PARTS)
        return all(map(_is_attachment, from_json(text)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False


def _is_attachment(one: Attachment) -> bool:
    sizes = (*(content.bytes for content in one.contents), one.width or 0, one.height or 0)
    return (
        all(is_content_path(content.path) for content in one.contents)
        and all(type(size) is int and 0 <= size <= MOST_TAKEN_OVER for size in sizes)
        and one.is_inline in (True, False)
        and 0 < len(one.name) <= MAX_NAME
        and not _CONTROL.search(one.name)
        and _MEDIA_TYPE.fullmatch(one.media_type) is not None
    )


def _accepted(parse: Callable[[str], str]) -> Callable[[str], bool]:
    """Does `parse` take the text, and give it as it is?"""

    def is_accepted(text: str) -> bool:
        with suppress(AgentMailError):
            return parse(text) == text
        return False

    return is_accepted


def _one_of(kind: type[StrEnum]) -> Callable[[str], bool]:
    return frozenset(kind).__contains__


def _is_hex(*lengths: int) -> Callable[[str], bool]:
    return lambda text: len(text) in lengths and _HEX.fullmatch(text) is not None


_END = from_seconds(1 << 62)
"""A person's commit may be of a time beyond the calendar, and is noted with its last second."""
_EARLIEST = from_datetime(to_datetime(LATEST).replace(year=1, month=1, day=1))
_RULES: dict[str, Callable[[Any], bool]] = {  # `Any`: what SQLite passes on
    "text": lambda _text: True,  # It came as text, so it is UTF-8.
    "slug": is_slug,
    "directory": _is_canonical,
    "alias": _is_alias,
    "agent": _is_agent,
    "thread": _accepted(parse_thread_id),
    "topic": _accepted(parse_topic),
    "json": _is_json,
    "attachments": _are_attachments,
    "digest": _is_hex(64),
    "claim": _is_hex(32),
    "commit": _is_hex(40, 64),
    "product": lambda text: uid_of(text) == text,
    "window": lambda text: find_window_uuid(text) == text,
    "event": _one_of(EventKind),
    "contact_policy": _one_of(ContactPolicy),
    "attachments_policy": _one_of(AttachmentsPolicy),
    "status": _one_of(AgentStatus),
    "door": _one_of(Door),
    "wire_name": is_wire_name,
    "wire_id": is_wire_id,
}
_DERIVED: dict[str, Callable[[str], str]] = {
    "name_key_of": name_key,
    "plain_slug_of": plain_slug,
    "wire_key_of": wire_key,
}
_TEXTS = {
    ("projects", "slug"): "slug",
    ("projects", "human_key"): "directory",
    ("project_aliases", "alias"): "alias",
    ("agents", "name"): "agent",
    ("agents", "contact_policy"): "contact_policy",
    ("agents", "attachments_policy"): "attachments_policy",
    ("agents", "status"): "status",
    ("", "thread_id"): "thread",
    ("", "topic"): "topic",
    ("", "topic_key"): "topic",
    ("", "sha256"): "digest",
    ("", "door"): "door",
    ("wire_names", "owner"): "door",
    ("wire_names", "name"): "wire_name",
    ("wire_ids", "external_id"): "wire_id",
    ("commits", "hexsha"): "commit",
    ("announcements", "claim"): "claim",
    ("message_attachments", "attachments"): "attachments",
    ("products", "product_uid"): "product",
    ("windows", "window_uuid"): "window",
    ("outbox", "kind"): "event",
    ("outbox", "snapshot"): "json",
    ("leases", "evidence"): "json",
    ("guard_events", "detail"): "json",
    ("idempotency_keys", "result"): "json",
    ("digests", "summary_text"): "json",
    ("digests", "source_thread_ids"): "json",
}
"""By table and column, or by column alone: which of `_RULES` its texts obey. Those of all others may be anything."""

_FOLLOWS = {
    ("agents", "name_key"): "name_key_of(name)",
    ("projects", "plain_slug"): "plain_slug_of(human_key)",
    ("wire_names", "name_key"): "wire_key_of(name)",
}
