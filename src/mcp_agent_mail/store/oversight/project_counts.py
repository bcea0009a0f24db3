"""How many projects there are, and how much each has, counted no further than whoever watches needs."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.store.engine.port import Connection

MOST_COUNTED = 10_000
"""One more than that says that there are more."""

_PROJECTS = """
SELECT count(*) FROM (SELECT 1 FROM projects WHERE archived_ts IS NULL LIMIT ?) AS counted
"""
_MAIL = """
SELECT count(*) FROM (SELECT 1 FROM message_projects WHERE project_id = ? LIMIT ?) AS counted
"""
_NEWEST = "SELECT delivered_ts FROM message_projects WHERE project_id = ? ORDER BY message_id DESC LIMIT 1"
_LEASES = """
SELECT count(*) FROM (
    SELECT 1 FROM leases INDEXED BY leases_live
    WHERE project_id = ? AND kind = ? AND released_ts IS NULL AND expires_ts > ? LIMIT ?
) AS counted
"""


class ProjectCounts:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def projects(self) -> int:
        """Projects that are not archived, as far as one more than MOST_COUNTED."""
        (count,) = self._connection.execute(_PROJECTS, (MOST_COUNTED + 1,)).fetchone()
        return int(count)

    def mail(self, project_id: ProjectId) -> int:
        """Mail of the project, as far as one more than MOST_COUNTED."""
        (count,) = self._connection.execute(_MAIL, (project_id, MOST_COUNTED + 1)).fetchone()
        return int(count)

    def newest_mail_ts(self, project_id: ProjectId) -> Micros | None:
        """When its latest message was delivered; None without any."""
        row = self._connection.execute(_NEWEST, (project_id,)).fetchone()
        return None if row is None else Micros(row[0])

    def live_leases(self, project_id: ProjectId, kind: LeaseKind, now: Micros) -> int:
        """Live leases of this kind, as far as one more than MOST_COUNTED."""
        values = (project_id, kind, now, MOST_COUNTED + 1)
        (count,) = self._connection.execute(_LEASES, values).fetchone()
        return int(count)
