"""The times that things had where they come from, in the place of those at which they were written here.

Each is for the unit of work that has just written the thing: nobody has seen it with another time.
"""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ContactId, LeaseId, ProjectId
from mcp_agent_mail.domain.leases import EndedBy
from mcp_agent_mail.store.engine.port import Connection

_PROJECT = "UPDATE projects SET created_ts = ? WHERE id = ?"
_AGENT = "UPDATE agents SET inception_ts = ?, last_active_ts = ?, profiled_ts = ? WHERE id = ?"
_CONTACT = "UPDATE contacts SET created_ts = ?, updated_ts = ? WHERE id = ?"
_LEASE = "UPDATE leases SET created_ts = ?, released_ts = ?, ended_by = ?, evidence = ? WHERE id = ?"


class PastTimes:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def set_project(self, project_id: ProjectId, created_ts: Micros) -> None:
        self._connection.execute(_PROJECT, (created_ts, project_id))

    def set_agent(self, agent_id: AgentId, created_ts: Micros, last_active_ts: Micros) -> None:
        """Its profile counts as unchanged since it came."""
        self._connection.execute(_AGENT, (created_ts, last_active_ts, created_ts, agent_id))

    def set_contact(self, contact_id: ContactId, created_ts: Micros, updated_ts: Micros) -> None:
        self._connection.execute(_CONTACT, (created_ts, updated_ts, contact_id))

    def set_lease(
        self,
        lease_id: LeaseId,
        created_ts: Micros,
        *,
        released_ts: Micros | None,
        ended_by: EndedBy | None,
        evidence: str | None,
    ) -> None:
        """`evidence` is JSON. With a `released_ts` it is history, and nobody waits for its end."""
        ended = None if ended_by is None else ended_by.value
        self._connection.execute(_LEASE, (created_ts, released_ts, ended, evidence, lease_id))
