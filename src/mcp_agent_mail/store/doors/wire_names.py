"""The names that doors know agents by: each once in its project, of one agent, and of one owner at most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.doors.names import Door, TooManyNames, WireName, wire_key
from mcp_agent_mail.store.engine.port import Connection

MAX_NAMES_EACH = 16
"""Of one agent."""
MAX_SENDERS = 1_000
"""Of those who have written to an agent so many are looked through for a name, the oldest agents first."""

_SELECT = """
SELECT n.id, n.project_id, n.agent_id, n.name, n.owner, n.created_ts,
       (SELECT group_concat(d.door) FROM wire_name_doors d WHERE d.wire_name_id = n.id)
FROM wire_names n
"""
_FIND = f"{_SELECT} WHERE n.project_id = ? AND n.name_key = ?"
_FIND_BY_ID = f"{_SELECT} WHERE n.id = ?"
_OF_AGENT = f"{_SELECT} WHERE n.agent_id = ? ORDER BY n.id LIMIT {MAX_NAMES_EACH}"
# Project by project along the index: a name's key is compared within each.
_EVERYWHERE = """
SELECT n.agent_id FROM projects p CROSS JOIN wire_names n ON n.project_id = p.id AND n.name_key = ?
WHERE p.archived_ts IS NULL ORDER BY p.id LIMIT ?
"""
_HAS_SOME = "SELECT 1 FROM wire_names WHERE project_id = ? LIMIT 1"
_LIST = f"{_SELECT} WHERE n.id > ? ORDER BY n.id LIMIT ?"
_ADD = """
INSERT INTO wire_names (project_id, agent_id, name, name_key, created_ts) VALUES (?, ?, ?, ?, ?) RETURNING id
"""
_RESTORE = """
INSERT INTO wire_names (id, project_id, agent_id, name, name_key, owner, created_ts) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_RESTORE_LINK = "INSERT INTO wire_name_doors (wire_name_id, door) VALUES (?, ?)"
_OWN = "UPDATE wire_names SET owner = ? WHERE id = ? AND owner IS NULL"
_RENAME = "UPDATE wire_names SET name = ?, name_key = ? WHERE id = ?"
_REMOVE = "DELETE FROM wire_names WHERE id = ?"
_LINK = "INSERT INTO wire_name_doors (wire_name_id, door) VALUES (?, ?) ON CONFLICT DO NOTHING"
_UNLINK = "DELETE FROM wire_name_doors WHERE wire_name_id = ? AND door = ?"


# From sender to sender along the index, however much each has written.
_CORRESPONDENTS = f"""
WITH RECURSIVE senders (id) AS (
    SELECT min(sender_id) FROM recipients INDEXED BY recipients_sender
    WHERE agent_id = :reader AND delivery_seq IS NOT NULL
    UNION ALL
    SELECT (SELECT min(r.sender_id) FROM recipients r INDEXED BY recipients_sender
            WHERE r.agent_id = :reader AND r.sender_id > senders.id AND r.delivery_seq IS NOT NULL)
    FROM senders WHERE senders.id IS NOT NULL LIMIT {MAX_SENDERS}
)
SELECT a.id FROM senders s JOIN agents a ON a.id = s.id
WHERE a.project_id <> :home AND a.kind = 'agent' AND (a.name_key = :name OR EXISTS (
    SELECT 1 FROM wire_names n WHERE n.agent_id = a.id AND n.name_key = :name))
ORDER BY a.project_id, a.id LIMIT :limit
"""


class WireNames:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, project_id: ProjectId, name: str) -> WireName | None:
        """By its key: see `wire_key`."""
        row = self._connection.execute(_FIND, (project_id, wire_key(name))).fetchone()
        return None if row is None else _name(row)

    def find_everywhere(self, name: str, limit: int = 50) -> list[AgentId]:
        """Whom doors know by it in the projects that are not archived, oldest project first."""
        return [AgentId(number) for (number,) in self._connection.execute(_EVERYWHERE, (wire_key(name), limit))]

    def of_agent(self, agent_id: AgentId) -> list[WireName]:
        """The agent's names, oldest first."""
        return [_name(row) for row in self._connection.execute(_OF_AGENT, (agent_id,))]

    def of_agents(self, project_id: ProjectId, agent_ids: Iterable[AgentId]) -> dict[AgentId, list[WireName]]:
        """The names of those of the project's agents that have some, each agent's oldest first."""
        if self._connection.execute(_HAS_SOME, (project_id,)).fetchone() is None:
            return {}
        return {agent_id: names for agent_id in agent_ids if (names := self.of_agent(agent_id))}

    def correspondents(self, reader_id: AgentId, home_id: ProjectId, name: str, *, limit: int) -> list[AgentId]:
        """Agents of other projects than `home_id` that go by this name, natively or at doors, and whose mail the reader
        has got; by project.
        """
        values = {"reader": reader_id, "home": home_id, "name": wire_key(name), "limit": limit}
        return [AgentId(number) for (number,) in self._connection.execute(_CORRESPONDENTS, values)]

    def list_(self, *, after: int = 0, limit: int) -> list[WireName]:
        """Names of all projects with numbers above `after`, in their order."""
        return [_name(row) for row in self._connection.execute(_LIST, (after, limit))]

    def add(self, project_id: ProjectId, agent_id: AgentId, name: str, now: Micros) -> WireName:
        """A name that the project does not know yet, for an agent of it; nobody's until `own`. Raises TooManyNames."""
        if len(self.of_agent(agent_id)) >= MAX_NAMES_EACH:
            raise TooManyNames(
                f"Doors know this agent by {MAX_NAMES_EACH} names already.",
                hint="Use one of them.",
                data={"limit": MAX_NAMES_EACH},
            )
        values = (project_id, agent_id, name, wire_key(name), now)
        (number,) = self._connection.execute(_ADD, values).fetchone()
        return self._require(number)

    def restore(self, names: Iterable[WireName]) -> None:
        """As an archive tells of them, with their numbers."""
        for one in names:
            owner = None if one.owner is None else one.owner.value
            values = (one.id, one.project_id, one.agent_id, one.name, wire_key(one.name), owner, one.created_ts)
            self._connection.execute(_RESTORE, values)
            self._connection.executemany(_RESTORE_LINK, [(one.id, door.value) for door in one.linked])

    def own(self, known: WireName, door: Door) -> WireName:
        """Give the name, which nobody has, to the callers of the door."""
        changed = self._connection.execute(_OWN, (door.value, known.id)).rowcount
        assert changed == 1, known
        return self._require(known.id)

    def rename(self, known: WireName, name: str) -> WireName:
        """Call it so from now on, where no other name of the project is compared as that."""
        self._connection.execute(_RENAME, (name, wire_key(name), known.id))
        return self._require(known.id)

    def remove(self, known: WireName) -> None:
        """It is nobody's name any more. One that is linked is not to be removed."""
        self._connection.execute(_REMOVE, (known.id,))

    def link(self, known: WireName, door: Door) -> WireName:
        """Let callers of the door speak as the name besides. A repeat does nothing more."""
        self._connection.execute(_LINK, (known.id, door.value))
        return self._require(known.id)

    def unlink(self, known: WireName, door: Door) -> WireName:
        """What it owns stays the owner's. A repeat does nothing more."""
        self._connection.execute(_UNLINK, (known.id, door.value))
        return self._require(known.id)

    def _require(self, number: int) -> WireName:
        return _name(self._connection.execute(_FIND_BY_ID, (number,)).fetchone())


def _name(row: Sequence[Any]) -> WireName:  # Any: SQLite's rows are untyped
    number, project_id, agent_id, name, owner, created_ts, linked = row
    return WireName(
        id=number,
        project_id=ProjectId(project_id),
        agent_id=AgentId(agent_id),
        name=name,
        owner=None if owner is None else Door(owner),
        linked=frozenset(Door(door) for door in linked.split(",")) if linked else frozenset(),
        created_ts=Micros(created_ts),
    )
