"""What the guard did in code repositories: the newest of each project are kept, and of each who reports to it."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.guard.decision import GuardOutcome
from mcp_agent_mail.domain.guard.events import GuardEvent, NewGuardEvent
from mcp_agent_mail.store.engine.port import Connection

KEPT_PER_PROJECT = 10_000
KEPT_PER_REPORTER = 2_000
"""In a project, of one whom a token proved: its own flood does not displace what others reported."""
PRUNE_LOT = 100

_COLUMNS = "id, project_id, project, event_key, ts, action, hook, agent, repository, detail"
_ADD = """
    INSERT INTO guard_events (project_id, project, event_key, ts, action, hook, agent, repository, detail, reporter_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (event_key) DO NOTHING
"""
_LIST = f"SELECT {_COLUMNS} FROM guard_events WHERE project_id IS ? ORDER BY ts DESC, id DESC LIMIT ?"
_LIST_ALL = f"SELECT {_COLUMNS} FROM guard_events ORDER BY ts DESC, id DESC LIMIT ?"
_PRUNE = """
    DELETE FROM guard_events WHERE id IN (
        SELECT id FROM guard_events WHERE project_id IS ? ORDER BY ts DESC, id DESC LIMIT ? OFFSET ?
    )
"""
_PRUNE_REPORTER = """
    DELETE FROM guard_events WHERE id IN (
        SELECT id FROM guard_events INDEXED BY guard_events_reporter
        WHERE project_id IS ? AND reporter_id = ? ORDER BY ts DESC, id DESC LIMIT ? OFFSET ?
    )
"""


class GuardEvents:
    """Newest first is by the time of the event: one that lay in the spool comes late."""

    def __init__(
        self,
        connection: Connection,
        *,
        kept: int = KEPT_PER_PROJECT,
        kept_of_one: int = KEPT_PER_REPORTER,
    ) -> None:
        self._connection = connection
        self._kept = kept
        self._kept_of_one = kept_of_one

    def add(self, event: NewGuardEvent, project_id: ProjectId | None, reporter_id: AgentId | None = None) -> bool:
        """Store the event; False when it is there already. Drops at most `PRUNE_LOT` of those beyond the newest of its
        reporter, and of its project. `reporter_id` is None where nobody is proven: anonymous reports, and the server's
        own spool.
        """
        values = (
            project_id,
            event.project,
            event.event_key,
            event.ts,
            event.action.value,
            event.hook,
            event.agent,
            event.repository,
            event.detail,
            reporter_id,
        )
        is_new = self._connection.execute(_ADD, values).rowcount == 1
        if is_new and reporter_id is not None:
            self._connection.execute(_PRUNE_REPORTER, (project_id, reporter_id, PRUNE_LOT, self._kept_of_one))
        if is_new:
            self._connection.execute(_PRUNE, (project_id, PRUNE_LOT, self._kept))
        return is_new

    def list_(self, project_id: ProjectId, limit: int) -> list[GuardEvent]:
        return [_event(row) for row in self._connection.execute(_LIST, (project_id, limit))]

    def list_all(self, limit: int) -> list[GuardEvent]:
        """The events of all projects, and of keys that no project had, newest first."""
        return [_event(row) for row in self._connection.execute(_LIST_ALL, (limit,))]


# Any: mixed columns, in the order of _COLUMNS.
def _event(row: tuple[Any, ...]) -> GuardEvent:
    return GuardEvent(
        id=row[0],
        project_id=None if row[1] is None else ProjectId(row[1]),
        project=row[2],
        event_key=row[3],
        ts=Micros(row[4]),
        action=GuardOutcome(row[5]),
        hook=row[6],
        agent=row[7],
        repository=row[8],
        detail=row[9],
    )
