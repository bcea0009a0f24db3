"""What summaries read: the newest mail of a thread or of a project, off the event loop.

What agents write to each other: neither the mail of `System` nor introductions, which are the server's texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.contacts import is_intro
from mcp_agent_mail.domain.summaries.digests import Newest
from mcp_agent_mail.domain.summaries.extract import ThreadMail, ThreadMessage
from mcp_agent_mail.domain.threads import root_of_thread
from mcp_agent_mail.store.engine.port import Connection, LongReader, TimeBound

READ_CHARACTERS = 16_384
"""So much of a body is read for a summary."""
PASSED_OVER = 1_000
"""So many messages of `System` may lie among the newest mail of a project before fewer than asked for are read."""

_COLUMNS = f"""m.id, m.project_id, p.slug, a.name, m.subject, m.created_ts, m.thread_id,
       m.purged_ts IS NOT NULL,
       CASE WHEN m.body_bytes > {READ_CHARACTERS} THEN substr(m.body_md, 1, {READ_CHARACTERS}) ELSE m.body_md END"""
_JOINS = """CROSS JOIN messages m ON m.id = mp.message_id AND m.is_system = 0
CROSS JOIN agents a ON a.id = m.sender_id CROSS JOIN projects p ON p.id = m.project_id"""
_THREAD = f"""
SELECT {_COLUMNS} FROM message_projects mp INDEXED BY message_projects_thread {_JOINS}
WHERE mp.thread_id = :thread AND mp.project_id = :project
ORDER BY mp.delivery_seq DESC, mp.message_id DESC LIMIT :limit
"""
_THREAD_SIZE = """
SELECT count(*) FROM message_projects mp INDEXED BY message_projects_thread
CROSS JOIN messages m ON m.id = mp.message_id AND m.is_system = 0
WHERE mp.thread_id = :thread AND mp.project_id = :project
"""
_ROOT = f"""
SELECT {_COLUMNS} FROM message_projects mp {_JOINS}
WHERE mp.project_id = :project AND mp.message_id = :root AND mp.thread_id IS NOT :thread
"""


async def read_threads(
    store: LongReader, project_id: ProjectId, thread_ids: Sequence[str], *, limit: int
) -> list[ThreadMail]:
    """Of each thread the newest `limit` messages that everybody in the project may read, oldest first.

    A thread named by a message begins with it. `total` is of all that could be read.
    """

    def read(connection: Connection, bound: TimeBound) -> list[ThreadMail]:
        threads = []
        for thread_id in thread_ids:
            bound.require()
            threads.append(_thread(connection, project_id, thread_id, limit))
        return threads

    return await store.long_read(read)


def _thread(connection: Connection, project_id: ProjectId, thread_id: str, limit: int) -> ThreadMail:
    root = root_of_thread(thread_id)
    key = {"project": project_id, "thread": thread_id, "root": root, "limit": limit}
    rows = connection.execute(_THREAD, key).fetchall()
    ((total,),) = connection.execute(_THREAD_SIZE, key)
    if root is not None:
        started_by = [row for row in connection.execute(_ROOT, key) if not _is_intro(row)]
        rows = [*rows[: limit - len(started_by)], *started_by]
        total += len(started_by)
    messages = [_letter(row, project_id) for row in reversed(rows)]
    return ThreadMail(thread_id=thread_id, messages=messages, total=total)


def _is_intro(row: Sequence[Any]) -> bool:
    """Of a row of `_COLUMNS`. (Any: SQLite's rows are untyped.)"""
    return is_intro(row[4], row[8])


def _letter(row: Sequence[Any], seen_from: ProjectId) -> ThreadMessage:
    """From a row of `_COLUMNS`. (Any: SQLite's rows are untyped.)"""
    return ThreadMessage(
        id=row[0],
        sender=shown_name(row[3], row[1], row[2], seen_from),
        subject=row[4],
        created_ts=row[5],
        thread_id=row[6],
        is_tombstone=bool(row[7]),
        body_md=row[8],
    )


_OF_SEVERAL = """(
    SELECT message_id, min(delivery_seq) AS delivery_seq FROM (
        SELECT message_id, delivery_seq FROM message_projects INDEXED BY message_projects_thread
        WHERE thread_id = :thread AND project_id IN (SELECT value FROM json_each(:projects))
        UNION ALL SELECT message_id, delivery_seq FROM message_projects
        WHERE message_id = :root AND project_id IN (SELECT value FROM json_each(:projects))
    ) AS mail CROSS JOIN messages m ON m.id = mail.message_id AND m.is_system = 0 GROUP BY message_id)"""
_THREAD_OF_SEVERAL = f"""
SELECT {_COLUMNS} FROM (
    SELECT message_id, delivery_seq FROM {_OF_SEVERAL} ORDER BY delivery_seq DESC, message_id DESC LIMIT :limit
) mp {_JOINS} ORDER BY mp.delivery_seq DESC, m.id DESC
"""
_SIZE_OF_SEVERAL = f"SELECT count(*) FROM {_OF_SEVERAL}"


async def read_thread_of_projects(
    store: LongReader, project_ids: Sequence[ProjectId], thread_id: str, *, limit: int
) -> ThreadMail:
    """The thread's newest `limit` messages that everybody in one of several projects may read, each message once.

    A sender's project is named where several of them have the same name.
    """
    root = root_of_thread(thread_id)
    key = {"projects": json.dumps(list(project_ids)), "thread": thread_id, "root": root, "limit": limit}

    def read(connection: Connection, _bound: TimeBound) -> tuple[list[Sequence[Any]], int]:
        rows = connection.execute(_THREAD_OF_SEVERAL, key).fetchall()
        ((total,),) = connection.execute(_SIZE_OF_SEVERAL, key)
        return rows, total

    rows, total = await store.long_read(read)
    total -= sum(map(_is_intro, rows))
    rows = [row for row in rows if not _is_intro(row)]
    homes: dict[str, set[ProjectId]] = {}
    for row in rows:
        homes.setdefault(row[3], set()).add(row[1])
    elsewhere = ProjectId(0)
    messages = [_letter(row, elsewhere if len(homes[row[3]]) > 1 else row[1]) for row in reversed(rows)]
    return ThreadMail(thread_id=thread_id, messages=messages, total=total)


_OF_AGENTS = "CROSS JOIN messages m ON m.id = mp.message_id AND m.is_system = 0"
_RECENT = f"""
SELECT mp.delivery_seq, mp.message_id, mp.delivered_ts FROM (
    SELECT delivery_seq, message_id, delivered_ts FROM message_projects WHERE project_id = :project AND is_late = 0
    ORDER BY message_id DESC LIMIT :scanned
) mp {_OF_AGENTS} ORDER BY mp.message_id DESC LIMIT :limit
"""
_RECENT_LATE = f"""
SELECT mp.delivery_seq, mp.message_id, mp.delivered_ts FROM (
    SELECT delivery_seq, message_id, delivered_ts FROM message_projects INDEXED BY message_projects_late
    WHERE project_id = :project AND is_late = 1 AND delivered_ts > :since ORDER BY delivered_ts DESC, message_id DESC
    LIMIT :scanned
) mp {_OF_AGENTS} ORDER BY mp.delivered_ts DESC, mp.message_id DESC LIMIT :limit
"""
_CHOSEN = f"""
SELECT {_COLUMNS} FROM message_projects mp {_JOINS}
WHERE mp.project_id = :project AND mp.message_id IN (SELECT value FROM json_each(:ids)) ORDER BY mp.message_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentMail:
    """The newest mail of a project, oldest first."""

    newest: Newest
    messages: Sequence[ThreadMessage]


async def read_recent(store: LongReader, project_id: ProjectId, since: Micros, *, limit: int) -> RecentMail | None:
    """At most `limit` messages that came to everybody in the project after `since`; None when none did."""

    def read(connection: Connection, _bound: TimeBound) -> tuple[list[tuple[int, ...]], list[Sequence[Any]]]:
        key: dict[str, object] = {"project": project_id, "since": since, "limit": limit, "scanned": limit + PASSED_OVER}
        rows = [*connection.execute(_RECENT, key), *connection.execute(_RECENT_LATE, key)]
        came = sorted(row for row in rows if row[2] > since)[-limit:]
        key["ids"] = json.dumps([message_id for _, message_id, _ in came])
        return came, [row for row in connection.execute(_CHOSEN, key) if not _is_intro(row)]

    came, chosen = await store.long_read(read)
    messages = [_letter(row, project_id) for row in chosen]
    if not messages:
        return None
    ids = {message.id for message in messages}
    _, newest_id, newest_ts = next(one for one in reversed(came) if one[1] in ids)
    newest = Newest(message_id=MessageId(newest_id), delivered_ts=Micros(newest_ts))
    return RecentMail(newest=newest, messages=messages)
