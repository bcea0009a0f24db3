"""What lists of mailboxes show, and which have long been idle."""

from __future__ import annotations

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.passed_ends import still_valid

SENT_LOOKED_AT = 5_000
"""Of one sender so many messages are looked at, the newest."""

_WAITS = f"""r.delivery_seq IS NOT NULL AND r.read_ts IS NULL AND r.expired_ts IS NULL
  AND {still_valid("r")}
  AND NOT EXISTS (SELECT 1 FROM pops p WHERE p.message_id = r.message_id AND p.agent_id = r.agent_id)"""
_FROM = f"""
SELECT m.sender_id, count(*) FROM recipients r INDEXED BY recipients_unread CROSS JOIN messages m ON m.id = r.message_id
WHERE r.agent_id = ? AND {_WAITS} GROUP BY m.sender_id
"""
_SENT = f"""
SELECT EXISTS (
    SELECT 1 FROM (SELECT id FROM messages WHERE sender_id = ? ORDER BY id DESC LIMIT {SENT_LOOKED_AT}) m
    CROSS JOIN recipients r ON r.message_id = m.id
    WHERE r.agent_id <> ? AND r.read_ts IS NULL AND r.expired_ts IS NULL AND r.withdrawn_ts IS NULL
      AND r.refused_ts IS NULL AND {still_valid("r")})
"""
_IDLE = """
SELECT n.id, n.agent_id FROM wire_names n JOIN agents a ON a.id = n.agent_id JOIN projects p ON p.id = n.project_id
WHERE n.id > ? AND n.owner = ? AND a.retired_ts IS NULL AND a.last_active_ts < ? AND p.archived_ts IS NULL
ORDER BY n.id LIMIT ?
"""

_DOORS = ", ".join(f"'{door.value}'" for door in Door)
_MADE = f"""
SELECT count(*) FROM agents
WHERE project_id = ? AND program IN ({_DOORS})
  AND (retired_ts IS NULL OR inception_ts > ?)
"""
_TOLD_OF = f"""
SELECT a.id FROM agents a WHERE a.project_id = :project AND (:agent IS NULL OR a.id = :agent) AND (
    (a.program IN ({_DOORS}) AND a.token_hash IS NULL)
    OR EXISTS (SELECT 1 FROM wire_names n WHERE n.agent_id = a.id AND (n.owner IS NOT NULL
        OR EXISTS (SELECT 1 FROM wire_name_doors d WHERE d.wire_name_id = n.id AND d.door = :door))))
"""
_HAS_MAIL_FROM = """
SELECT 1 FROM recipients INDEXED BY recipients_sender
WHERE agent_id = ? AND sender_id = ? AND delivery_seq IS NOT NULL LIMIT 1
"""
MADE_LATELY = Micros(3_600 * SECOND)


class MailboxReader:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def pending_from(self, agent_id: AgentId) -> dict[AgentId, int]:
        """How many messages a door could give of each sender."""
        return {AgentId(sender): int(count) for sender, count in self._connection.execute(_FROM, (agent_id,))}

    def count_made(self, project_id: ProjectId, now: Micros) -> int:
        """How many mailboxes of the project doors have made: those that have not retired, and of the last hour also
        those that have, so that to make and to retire them in turn makes no room.
        """
        (made,) = self._connection.execute(_MADE, (project_id, now - MADE_LATELY)).fetchone()
        return int(made)

    def told_of(self, project_id: ProjectId, door: Door, agent_id: AgentId | None = None) -> set[AgentId]:
        """Of the project's agents, or of that one: mailboxes that doors own, or that one has made and nobody has, and
        whoever is linked with this door.
        """
        values = {"project": project_id, "door": door.value, "agent": agent_id}
        return {AgentId(number) for (number,) in self._connection.execute(_TOLD_OF, values)}

    def has_mail_from(self, agent_id: AgentId, sender_id: AgentId) -> bool:
        """Whether anything of the sender's was delivered to the agent, read or not."""
        return self._connection.execute(_HAS_MAIL_FROM, (agent_id, sender_id)).fetchone() is not None

    def has_sent_unread(self, agent_id: AgentId) -> bool:
        """Whether mail of the agent's waits with somebody else, of the newest SENT_LOOKED_AT messages."""
        (found,) = self._connection.execute(_SENT, (agent_id, agent_id)).fetchone()
        return bool(found)

    def idle(self, door: Door, before: Micros, *, after: int, limit: int) -> list[tuple[int, AgentId]]:
        """The numbers of names that the door owns, those above `after` in their order, with the agents that they are
        of, where these were last active before that time and have not retired, in projects that are not set aside.
        """
        rows = self._connection.execute(_IDLE, (after, door.value, before, limit))
        return [(number, AgentId(agent_id)) for number, agent_id in rows]
