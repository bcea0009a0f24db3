"""Contacts at rest: who may write to whom, one row per pair and direction. Rows are never deleted."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ContactId, ProjectId
from mcp_agent_mail.domain.contacts import Contact, LinkStatus, Party, Relation, relation
from mcp_agent_mail.domain.identity.names import name_key

_CONCERNS = """
SELECT EXISTS (SELECT 1 FROM contacts WHERE source_id = :agent),
       EXISTS (SELECT 1 FROM contacts INDEXED BY contacts_denied
               WHERE target_id = :agent AND status = 'blocked' AND expires_ts IS NULL)
"""
_LINKS = """
SELECT target_id, status, expires_ts FROM contacts
WHERE source_id = ? AND target_id IN (SELECT value FROM json_each(?))
"""
_COLUMNS = """
c.id, c.status, c.reason, c.created_ts, c.updated_ts, c.expires_ts,
       s.id, s.name, s.project_id, sp.slug, sp.human_key, t.id, t.name, t.project_id, tp.slug, tp.human_key
"""
_JOINS = """
CROSS JOIN agents s ON s.id = c.source_id CROSS JOIN projects sp ON sp.id = s.project_id
CROSS JOIN agents t ON t.id = c.target_id CROSS JOIN projects tp ON tp.id = t.project_id
"""
_SELECT = f"SELECT {_COLUMNS} FROM contacts c {_JOINS}"
_FIND = f"{_SELECT} WHERE c.source_id = ? AND c.target_id = ?"
_BY_ID = f"{_SELECT} WHERE c.id = ?"
_EACH = f"{_SELECT} WHERE c.id > ? ORDER BY c.id LIMIT ?"
_OUTBOUND = f"{_SELECT} WHERE c.source_id = ? ORDER BY c.id LIMIT ?"
_INBOUND = f"{_SELECT} WHERE c.target_id = ? ORDER BY c.id LIMIT ?"
_PENDING = f"""
{_SELECT} WHERE c.target_id = ? AND c.status = 'pending' AND (c.expires_ts IS NULL OR c.expires_ts > ?)
ORDER BY c.id LIMIT ?
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
_AT_ONCE = 500


class Concerns(NamedTuple):
    """Whether an agent has any link of its own, and whether it has denied anyone: most have neither."""

    has_links: bool
    has_denied: bool


def _party(row: tuple[Any, ...]) -> Party:
    return Party(agent_id=row[0], name=row[1], project_id=row[2], project_slug=row[3], project_key=row[4])


def _contact(row: tuple[Any, ...]) -> Contact:
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
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def concerns(self, agent_id: AgentId) -> Concerns:
        """What a send must look into. Two probes of an index, for every send there is."""
        links, denied = self._connection.execute(_CONCERNS, {"agent": agent_id}).fetchone()
        return Concerns(bool(links), bool(denied))

    def relations(self, source_id: AgentId, targets: Iterable[AgentId], now: Micros) -> dict[AgentId, Relation]:
        """What the links of `source_id` to these agents are at `now`; those without one are absent."""
        rows = self._connection.execute(_LINKS, (source_id, json.dumps(list(targets))))
        return {AgentId(target): relation(LinkStatus(status), expires_ts, now) for target, status, expires_ts in rows}

    def find(self, source_id: AgentId, target_id: AgentId) -> Contact | None:
        row = self._connection.execute(_FIND, (source_id, target_id)).fetchone()
        return None if row is None else _contact(row)

    def _require(self, contact_id: ContactId) -> Contact:
        return _contact(self._connection.execute(_BY_ID, (contact_id,)).fetchone())

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
        """`agent_id` writes to these agents: its denials of them end."""
        values = {"agent": agent_id, "others": json.dumps(list(others)), "now": now}
        ids = self._connection.execute(_LIFT, values).fetchall()
        return [self._require(contact_id) for (contact_id,) in ids]

    def outbound(self, agent_id: AgentId, limit: int) -> list[Contact]:
        """The agent's own links, oldest first."""
        return [_contact(row) for row in self._connection.execute(_OUTBOUND, (agent_id, limit))]

    def inbound(self, agent_id: AgentId, limit: int) -> list[Contact]:
        """The links of others to the agent, oldest first."""
        return [_contact(row) for row in self._connection.execute(_INBOUND, (agent_id, limit))]

    def requests(self, agent_id: AgentId, now: Micros, limit: int) -> list[Contact]:
        """The requests that stand before the agent and wait for its answer, oldest first."""
        return [_contact(row) for row in self._connection.execute(_PENDING, (agent_id, now, limit))]

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
            yield from map(_contact, rows)
            after = rows[-1][0]

    def oldest_of(self, project_id: ProjectId) -> Contact | None:
        """The first link that an agent of the project was ever part of."""
        (contact_id,) = self._connection.execute(_OLDEST_OF_PROJECT, (project_id,)).fetchone()
        return None if contact_id is None else self._require(contact_id)

    def each_of(self, project_id: ProjectId) -> Iterable[Contact]:
        """Every link that an agent of the project is part of, by id. Looks through the whole table."""
        values = {"project": project_id, "after": 0, "limit": _AT_ONCE}
        while rows := self._connection.execute(_OF_PROJECT, values).fetchall():
            yield from map(_contact, rows)
            values["after"] = rows[-1][0]
