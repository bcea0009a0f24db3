"""Contacts at rest: who may write to whom, one row per pair and direction, never deleted; and who has to do with whom
by its mail, which is asked when no link decides.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ContactId, MessageId, ProjectId
from mcp_agent_mail.domain.contacts import INTRO, Contact, LinkStatus, Party, Relation, is_intro, relation
from mcp_agent_mail.domain.identity.names import name_key
from mcp_agent_mail.domain.threads import root_of_thread
from mcp_agent_mail.store.engine.port import Connection

CONCERNS = """
SELECT EXISTS (SELECT 1 FROM contacts WHERE source_id = :agent),
       EXISTS (SELECT 1 FROM contacts INDEXED BY contacts_denied
               WHERE target_id = :agent AND status = 'blocked' AND expires_ts IS NULL)
"""
_LINKS = """
SELECT target_id, status, expires_ts FROM contacts
WHERE source_id = ? AND target_id IN (SELECT value FROM json_each(?))
"""
CONTACT_COLUMNS = """
c.id, c.status, c.reason, c.created_ts, c.updated_ts, c.expires_ts,
       s.id, s.name, s.project_id, sp.slug, sp.human_key, t.id, t.name, t.project_id, tp.slug, tp.human_key
"""
CONTACT_JOINS = """
CROSS JOIN agents s ON s.id = c.source_id CROSS JOIN projects sp ON sp.id = s.project_id
CROSS JOIN agents t ON t.id = c.target_id CROSS JOIN projects tp ON tp.id = t.project_id
"""
_SELECT = f"SELECT {CONTACT_COLUMNS} FROM contacts c {CONTACT_JOINS}"
_FIND = f"{_SELECT} WHERE c.source_id = ? AND c.target_id = ?"
_BY_ID = f"{_SELECT} WHERE c.id = ?"
_EACH = f"{_SELECT} WHERE c.id > ? ORDER BY c.id LIMIT ?"
_OUTBOUND = f"{_SELECT} WHERE c.source_id = ? ORDER BY c.id LIMIT ?"
_INBOUND = f"{_SELECT} WHERE c.target_id = ? ORDER BY c.id LIMIT ?"
_PENDING = f"""
{_SELECT} WHERE c.target_id = ? AND c.status = 'pending' AND (c.expires_ts IS NULL OR c.expires_ts > ?)
ORDER BY c.id LIMIT ?
"""
_INBOUND_NAMED = f"""
SELECT {CONTACT_COLUMNS} FROM agents s CROSS JOIN contacts c ON c.source_id = s.id AND c.target_id = :target
CROSS JOIN projects sp ON sp.id = s.project_id CROSS JOIN agents t ON t.id = c.target_id
CROSS JOIN projects tp ON tp.id = t.project_id
WHERE s.name_key = :name AND sp.archived_ts IS NULL ORDER BY c.id LIMIT :limit
"""
_COUNT_PENDING = """
SELECT count(*) FROM contacts INDEXED BY contacts_target
WHERE target_id = ? AND status = 'pending' AND expires_ts > ?
"""
_COUNT_FROM = "SELECT count(*) FROM contacts WHERE source_id = ?"
_PUT = """
INSERT INTO contacts (source_id, target_id, status, reason, created_ts, updated_ts, expires_ts)
VALUES (:source, :target, :status, :reason, :now, :now, :expires)
ON CONFLICT (source_id, target_id) DO UPDATE
SET status = excluded.status, reason = excluded.reason, updated_ts = excluded.updated_ts,
    expires_ts = excluded.expires_ts
RETURNING id
"""
_LIFT = """
UPDATE contacts SET expires_ts = :now, updated_ts = :now
WHERE target_id = :agent AND status = 'blocked' AND expires_ts IS NULL
  AND source_id IN (SELECT value FROM json_each(:others))
RETURNING id
"""
_ELSEWHERE = """
SELECT t.id FROM contacts c JOIN agents t ON t.id = c.target_id JOIN projects p ON p.id = t.project_id
WHERE c.source_id = :source AND c.status = 'approved' AND (c.expires_ts IS NULL OR c.expires_ts > :now)
  AND t.name_key = :name AND p.archived_ts IS NULL
ORDER BY t.id LIMIT :limit
"""
_OLDEST_OF_PROJECT = """
SELECT min(c.id) FROM contacts c JOIN agents a ON a.id IN (c.source_id, c.target_id) WHERE a.project_id = ?
"""
_OF_PROJECT = f"""
{_SELECT} WHERE (s.project_id = :project OR t.project_id = :project) AND c.id > :after ORDER BY c.id LIMIT :limit
"""
_UNANSWERED = """
SELECT m.id, m.subject, m.body_md FROM recipients r INDEXED BY recipients_unacked JOIN messages m ON m.id = r.message_id
WHERE r.agent_id = ? AND r.sender_id = ? AND r.delivery_seq IS NOT NULL AND r.ack_required = 1 AND r.ack_ts IS NULL
  AND r.kind = 'to' AND r.expired_ts IS NULL AND (r.read_ts IS NULL OR NOT ?)
  AND m.subject >= ? AND m.subject < ? || char(1114111)
ORDER BY r.delivery_seq DESC LIMIT ?
"""
_AT_ONCE = 500

INTRODUCES_WAITING = f"""(m.subject >= '{INTRO}' AND m.subject < '{INTRO}' || char(1114111) AND EXISTS (
    SELECT 1 FROM contacts c WHERE c.source_id = r.sender_id AND c.target_id = r.agent_id
      AND c.status = 'pending' AND (c.expires_ts IS NULL OR c.expires_ts > unit_now())))"""
"""SQL for whether a copy `r` of a message `m` introduces a request that waits, whose answer closes it."""


class ContactFlags(NamedTuple):
    """Whether an agent has any link of its own, and whether it has denied anyone: most have neither."""

    has_links: bool
    has_denied: bool


def _party(row: tuple[Any, ...]) -> Party:
    return Party(agent_id=row[0], name=row[1], project_id=row[2], project_slug=row[3], project_key=row[4])


def to_contact(row: tuple[Any, ...]) -> Contact:
    """Of the columns of CONTACT_COLUMNS, in their order."""
    return Contact(
        id=row[0],
        status=LinkStatus(row[1]),
        reason=row[2],
        created_ts=row[3],
        updated_ts=row[4],
        expires_ts=row[5],
        source=_party(row[6:11]),
        target=_party(row[11:16]),
    )


class Contacts:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def concerns(self, agent_id: AgentId) -> ContactFlags:
        """Which flags of the agent must be looked into. Two probes of an index; a send asks by `SendFactsReader`."""
        links, denied = self._connection.execute(CONCERNS, {"agent": agent_id}).fetchone()
        return ContactFlags(bool(links), bool(denied))

    def relations(self, source_id: AgentId, targets: Iterable[AgentId], now: Micros) -> dict[AgentId, Relation]:
        """What the links of `source_id` to these agents are at `now`; those without one are absent."""
        rows = self._connection.execute(_LINKS, (source_id, json.dumps(list(targets))))
        return {AgentId(target): relation(LinkStatus(status), expires_ts, now) for target, status, expires_ts in rows}

    def find(self, source_id: AgentId, target_id: AgentId) -> Contact | None:
        row = self._connection.execute(_FIND, (source_id, target_id)).fetchone()
        return None if row is None else to_contact(row)

    def _require(self, contact_id: ContactId) -> Contact:
        return to_contact(self._connection.execute(_BY_ID, (contact_id,)).fetchone())

    def put(  # the columns of one row
        self,
        source_id: AgentId,
        target_id: AgentId,
        *,
        status: LinkStatus,
        reason: str,
        expires_ts: Micros | None,
        now: Micros,
    ) -> Contact:
        """Make the link, or change it: id and `created_ts` of the first stay."""
        values = {
            "source": source_id,
            "target": target_id,
            "status": status.value,
            "reason": reason,
            "expires": expires_ts,
            "now": now,
        }
        (contact_id,) = self._connection.execute(_PUT, values).fetchone()
        return self._require(contact_id)

    def lift(self, agent_id: AgentId, others: Collection[AgentId], now: Micros) -> list[Contact]:
        """End the denials that `agent_id` has given these agents, since it writes to them; the links that changed."""
        values = {"agent": agent_id, "others": json.dumps(list(others)), "now": now}
        ids = self._connection.execute(_LIFT, values).fetchall()
        return [self._require(contact_id) for (contact_id,) in ids]

    def outbound(self, agent_id: AgentId, limit: int) -> list[Contact]:
        """The agent's own links, oldest first."""
        return [to_contact(row) for row in self._connection.execute(_OUTBOUND, (agent_id, limit))]

    def inbound(self, agent_id: AgentId, limit: int) -> list[Contact]:
        """The links of others to the agent, oldest first."""
        return [to_contact(row) for row in self._connection.execute(_INBOUND, (agent_id, limit))]

    def inbound_named(self, agent_id: AgentId, name: str, limit: int = 20) -> list[Contact]:
        """The links to the agent of those with this name, in whichever project that is not archived, oldest first."""
        values = {"target": agent_id, "name": name_key(name), "limit": limit}
        return [to_contact(row) for row in self._connection.execute(_INBOUND_NAMED, values)]

    def unanswered_intros(
        self, source_id: AgentId, target_id: AgentId, limit: int, *, unread: bool = False
    ) -> list[MessageId]:
        """The introductions that the target has got from the source and not acknowledged, newest first; of them those
        that it has not read either.
        """
        values = (target_id, source_id, unread, INTRO, INTRO, limit)
        rows = self._connection.execute(_UNANSWERED, values)
        return [MessageId(number) for number, subject, body in rows if is_intro(subject, body)]

    def requests(self, agent_id: AgentId, now: Micros, limit: int) -> list[Contact]:
        """The requests that stand before the agent and wait for its answer, oldest first."""
        return [to_contact(row) for row in self._connection.execute(_PENDING, (agent_id, now, limit))]

    def count_requests(self, agent_id: AgentId, now: Micros) -> int:
        (count,) = self._connection.execute(_COUNT_PENDING, (agent_id, now)).fetchone()
        return int(count)

    def count_from(self, agent_id: AgentId) -> int:
        (count,) = self._connection.execute(_COUNT_FROM, (agent_id,)).fetchone()
        return int(count)

    def approved_elsewhere(self, source_id: AgentId, name: str, now: Micros, limit: int = 20) -> list[AgentId]:
        """Agents of this name in projects that are not archived, to whom the agent has an approved link."""
        values = {"source": source_id, "name": name_key(name), "now": now, "limit": limit}
        return [AgentId(agent_id) for (agent_id,) in self._connection.execute(_ELSEWHERE, values)]

    def each(self) -> Iterable[Contact]:
        """Every link there is, by id."""
        after = 0
        while rows := self._connection.execute(_EACH, (after, _AT_ONCE)).fetchall():
            yield from map(to_contact, rows)
            after = rows[-1][0]

    def oldest_of(self, project_id: ProjectId) -> Contact | None:
        """The first link that an agent of the project was ever part of; None without any."""
        (contact_id,) = self._connection.execute(_OLDEST_OF_PROJECT, (project_id,)).fetchone()
        return None if contact_id is None else self._require(contact_id)

    def each_of(self, project_id: ProjectId) -> Iterable[Contact]:
        """Every link that an agent of the project is part of, by id. Looks through the whole table."""
        values = {"project": project_id, "after": 0, "limit": _AT_ONCE}
        while rows := self._connection.execute(_OF_PROJECT, values).fetchall():
            yield from map(to_contact, rows)
            values["after"] = rows[-1][0]


LETTERS = 5_000
"""So many of the newest copies that an agent sent or got are looked through."""
MESSAGES = 500
"""So many of the newest messages of a thread are looked through for who wrote them."""
COPIES = 20
"""So many of the newest copies of a thread in one inbox are looked at."""

_WRITERS = """
SELECT DISTINCT m.sender_id FROM (
    SELECT message_id FROM message_projects INDEXED BY message_projects_thread
    WHERE thread_id = :thread AND project_id = :project ORDER BY delivery_seq DESC LIMIT :messages
) t CROSS JOIN messages m ON m.id = t.message_id
"""
_READERS = """
SELECT value FROM json_each(:agents) WHERE EXISTS (
    SELECT 1 FROM (
        SELECT r.message_id, r.kind FROM recipients r INDEXED BY recipients_thread
        WHERE r.agent_id = value AND r.thread_id = :thread AND r.delivery_seq IS NOT NULL
        ORDER BY r.delivery_seq DESC LIMIT :copies
    ) got CROSS JOIN message_projects mp ON mp.project_id = :project AND mp.message_id = got.message_id
    WHERE got.kind <> 'bcc'
)
"""
_OF_ROOT = """
SELECT m.sender_id FROM messages m CROSS JOIN message_projects mp ON mp.project_id = :project AND mp.message_id = m.id
WHERE m.id = :root
UNION SELECT r.agent_id FROM recipients r
CROSS JOIN message_projects mp ON mp.project_id = :project AND mp.message_id = r.message_id
WHERE r.message_id = :root AND r.delivery_seq IS NOT NULL AND r.kind <> 'bcc'
"""
_WROTE_TO = """
SELECT DISTINCT agent_id FROM (
    SELECT r.agent_id, m.created_ts FROM messages m INDEXED BY messages_sender
    CROSS JOIN recipients r ON r.message_id = m.id AND r.delivery_seq IS NOT NULL
    WHERE m.sender_id = :agent ORDER BY m.id DESC LIMIT :letters
) AS mail WHERE created_ts > :since
"""
_HEARD_FROM = """
SELECT DISTINCT sender_id FROM (
    SELECT m.sender_id, r.delivered_ts FROM recipients r INDEXED BY recipients_inbox
    CROSS JOIN messages m ON m.id = r.message_id
    WHERE r.agent_id = :agent AND r.delivery_seq IS NOT NULL ORDER BY r.delivery_seq DESC LIMIT :letters
) AS mail WHERE delivered_ts > :since
"""
_SENDER_OF_RECEIVED = """
SELECT m.sender_id FROM recipients r CROSS JOIN messages m ON m.id = r.message_id
WHERE r.message_id = ? AND r.agent_id = ? AND r.delivery_seq IS NOT NULL
"""


class ContactHistory:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def taking_part(self, project_id: ProjectId, thread_id: str, agents: Collection[AgentId]) -> set[AgentId]:
        """Who of `agents` wrote or openly got mail of the project in this thread.

        A blind copy counts for nothing: what it opens would tell of it.
        """
        values = {
            "project": project_id,
            "thread": thread_id,
            "agents": json.dumps(list(agents)),
            "messages": MESSAGES,
            "copies": COPIES,
            "root": root_of_thread(thread_id),
        }
        found = {agent_id for (agent_id,) in self._connection.execute(_WRITERS, values)}
        found.update(agent_id for (agent_id,) in self._connection.execute(_READERS, values))
        found.update(agent_id for (agent_id,) in self._connection.execute(_OF_ROOT, values))
        return found & set(agents)

    def correspondents(self, agent_id: AgentId, since: Micros) -> set[AgentId]:
        """Those to whom the agent wrote after `since` and who wrote to it, both times delivered."""
        values = {"agent": agent_id, "since": since, "letters": LETTERS}
        wrote_to = {other for (other,) in self._connection.execute(_WROTE_TO, values)}
        if not wrote_to:
            return set()
        return wrote_to & {other for (other,) in self._connection.execute(_HEARD_FROM, values)}

    def answers(self, agent_id: AgentId, message_id: MessageId | None) -> AgentId | None:
        """The sender of this message, if the agent got it; None otherwise."""
        if message_id is None:
            return None
        row = self._connection.execute(_SENDER_OF_RECEIVED, (message_id, agent_id)).fetchone()
        return None if row is None else AgentId(row[0])
