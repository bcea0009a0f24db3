"""Old mail: looking through it beside everything else, and leaving tombstones in units of work."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.retention import OldMessage, tombstone
from mcp_agent_mail.store.engine.port import Connection, LongReader, TimeBound

# What is unread, held, unacknowledged or delivered lately is kept, for whichever recipient; so is what Git has yet to
# get, and what is mail of a project whose mail is to be left alone.
_MAY_GO = """
EXISTS (
    SELECT 1 FROM recipients r
    WHERE r.message_id = messages.id AND coalesce(r.delivery_seq, r.withdrawn_seq) IS NOT NULL)
AND NOT EXISTS (
    SELECT 1 FROM recipients r WHERE r.message_id = messages.id AND CASE
        WHEN r.refused_ts IS NOT NULL OR r.expired_ts IS NOT NULL OR r.withdrawn_seq IS NOT NULL THEN
            coalesce(r.delivered_ts, 0) > :cutoff
        WHEN r.delivery_seq IS NULL THEN r.withdrawn_ts IS NULL
        ELSE r.read_ts IS NULL OR r.delivered_ts > :cutoff OR (r.ack_required = 1 AND r.ack_ts IS NULL) END)
AND NOT EXISTS (
    SELECT 1 FROM outbox o WHERE o.message_id = messages.id AND o.kind = 'mail' AND o.commit_id IS NULL)
AND (:spared = '[]' OR NOT EXISTS (
    SELECT 1 FROM recipients r CROSS JOIN agents a ON a.id = r.agent_id
    WHERE r.message_id = messages.id AND a.project_id IN (SELECT value FROM json_each(:spared))))
"""
_OLD = f"""
SELECT id, created_ts, {_MAY_GO}, (SELECT count(*) FROM recipients r WHERE r.message_id = messages.id), body_bytes
FROM messages INDEXED BY messages_unpurged
WHERE project_id = :project AND purged_ts IS NULL AND created_ts <= :cutoff
  AND (created_ts, id) > (:after_ts, :after_id)
ORDER BY created_ts, id LIMIT :limit
"""
_PURGE = f"""
UPDATE messages SET purged_ts = :now, body_md = :body, body_bytes = :body_bytes
WHERE id = :id AND purged_ts IS NULL AND created_ts <= :cutoff AND {_MAY_GO}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionCutoff:
    """What is old. Mail that somebody in one of the projects `spared` got is left alone."""

    at: Micros
    spared: Collection[ProjectId] = ()

    def values(self) -> dict[str, object]:
        return {"cutoff": self.at, "spared": json.dumps(sorted(self.spared))}


async def list_old(
    store: LongReader,
    project_id: ProjectId,
    cutoff: RetentionCutoff,
    after: OldMessage | None,
    limit: int,
) -> list[OldMessage]:
    """Messages that agents of the project sent, oldest first, those that must stay too."""
    values = cutoff.values() | {
        "project": project_id,
        "after_ts": -1 if after is None else after.created_ts,
        "after_id": -1 if after is None else after.id,
        "limit": limit,
    }

    def read(connection: Connection, _bound: TimeBound) -> list[Any]:
        return connection.execute(_OLD, values).fetchall()

    rows = await store.long_read(read)
    return [
        OldMessage(id=MessageId(row[0]), created_ts=row[1], may_go=bool(row[2]), copies=row[3], body_bytes=row[4])
        for row in rows
    ]


class Retention:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def purge(self, message_id: MessageId, cutoff: RetentionCutoff, now: Micros) -> bool:
        """Leave a tombstone, if the message may go now; whether it went. Search no longer finds it."""
        body = tombstone(now)
        values = cutoff.values() | {"id": message_id, "now": now, "body": body, "body_bytes": len(body.encode())}
        return self._connection.execute(_PURGE, values).rowcount == 1
