"""Copies whose acknowledgement a project's agents owe, and when each was last reminded of.

A reminder is mail of the project's System that answers the message: where it lies says that it was sent, and to whom.
"""

from __future__ import annotations

from typing import NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.importing.imported_records import not_imported
from mcp_agent_mail.store.mail.passed_ends import still_valid

_IS_OWED = f"""r.delivery_seq IS NOT NULL AND r.ack_required = 1 AND r.ack_ts IS NULL AND r.expired_ts IS NULL
AND {still_valid("r")} AND r.delivered_ts <= :until"""
_REMINDED = """(
    SELECT d.delivered_ts FROM recipients d INDEXED BY recipients_sender CROSS JOIN messages n ON n.id = d.message_id
    WHERE d.agent_id = r.agent_id AND d.sender_id = s.id AND d.delivery_seq IS NOT NULL
      AND d.delivery_seq > r.delivery_seq AND n.reply_to = r.message_id
    ORDER BY d.delivery_seq DESC LIMIT 1)"""
_COLUMNS = f"""
SELECT r.agent_id, r.message_id, r.kind, r.delivered_ts, r.read_ts, {_REMINDED} AS reminded_ts, r.delivery_seq
FROM agents s CROSS JOIN agents a CROSS JOIN recipients r INDEXED BY"""
_OF_PROJECT = "s.project_id = :project AND s.kind = 'system' AND a.project_id = :project AND r.agent_id = a.id"
_LIST = f"""
{_COLUMNS} recipients_unacked
WHERE {_OF_PROJECT} AND a.ack_pending_count > 0 AND (:agent IS NULL OR a.id = :agent)
  AND (a.retired_ts IS NULL OR a.id = :agent) AND {_IS_OWED}
ORDER BY r.delivery_seq LIMIT :limit
"""
# Nobody is reminded of mail that came as history, and a person only by name.
_IS_TO_REMIND = f"""a.retired_ts IS NULL AND (a.kind = 'agent' OR a.id = :agent) AND {not_imported("r.message_id")}
AND (reminded_ts IS NULL OR reminded_ts <= :quiet_since)"""
_TO_REMIND = f"""
{_COLUMNS} recipients_unacked
WHERE {_OF_PROJECT} AND a.ack_pending_count > 0 AND (:agent IS NULL OR a.id = :agent)
  AND {_IS_OWED} AND {_IS_TO_REMIND}
ORDER BY r.delivery_seq LIMIT :limit
"""
_ONE_TO_REMIND = f"""
{_COLUMNS} recipients_unacked
WHERE {_OF_PROJECT} AND a.id = :agent AND r.message_id = :message AND {_IS_OWED} AND {_IS_TO_REMIND}
LIMIT 1
"""


_CopyRow = tuple[int, int, str, int, int | None, int | None, int]


class OwedCopy(NamedTuple):
    """One recipient's copy: `reminded_ts` is when a reminder last came to it, `delivery_seq` its place in time."""

    agent_id: AgentId
    message_id: MessageId
    kind: RecipientKind
    delivered_ts: Micros
    read_ts: Micros | None
    reminded_ts: Micros | None
    delivery_seq: int


class OwedCopies:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list_(self, project_id: ProjectId, agent_id: AgentId | None, until: Micros, limit: int) -> list[OwedCopy]:
        """What this agent of the project, or each that is not retired, was delivered at `until` or before and owes an
        acknowledgement of; by delivery.
        """
        given = {"project": project_id, "agent": agent_id, "until": until, "limit": limit}
        return [_copy(row) for row in self._connection.execute(_LIST, given)]

    def to_remind(
        self, project_id: ProjectId, agent_id: AgentId | None, until: Micros, quiet_since: Micros, limit: int
    ) -> list[OwedCopy]:
        """Those of `list_` whose agents may be reminded: of none of them after `quiet_since`, nor of history. People
        only where one is named.
        """
        given = {"project": project_id, "agent": agent_id, "until": until, "quiet_since": quiet_since, "limit": limit}
        return [_copy(row) for row in self._connection.execute(_TO_REMIND, given)]

    def is_to_remind(self, project_id: ProjectId, copy: OwedCopy, until: Micros, quiet_since: Micros) -> bool:
        """Whether one that `to_remind` gave still is so."""
        given = {
            "project": project_id,
            "agent": copy.agent_id,
            "message": copy.message_id,
            "until": until,
            "quiet_since": quiet_since,
        }
        return self._connection.execute(_ONE_TO_REMIND, given).fetchone() is not None


def _copy(row: _CopyRow) -> OwedCopy:
    agent_id, message_id, kind, delivered_ts, read_ts, reminded_ts, delivery_seq = row
    return OwedCopy(
        agent_id=AgentId(agent_id),
        message_id=MessageId(message_id),
        kind=RecipientKind(kind),
        delivered_ts=Micros(delivered_ts),
        read_ts=None if read_ts is None else Micros(read_ts),
        reminded_ts=None if reminded_ts is None else Micros(reminded_ts),
        delivery_seq=delivery_seq,
    )
