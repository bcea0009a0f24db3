"""What goes on just now over all projects: which agents are at work, what they called last, and what they hold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import nlargest
from itertools import islice

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.readership import READING_MAIL, require_reader
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.introspection.service import OWN_CALLS
from mcp_agent_mail.features.introspection.usage import RecentCall, Usage
from mcp_agent_mail.features.oversight.service import scope_of
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View

AT_WORK_S = 15 * 60
"""Who has called within so long is at work."""
MOST_AGENTS = 50
MOST_LEASES = 100
MOST_PROJECTS = 200
"""So many of the newest projects are looked through."""
MOST_CALLS = 5_000
"""So many of the last calls are looked through for those of the agents that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenWorker:
    """`last_call` is None where it made none since the server's start that the reader may know of."""

    agent: Agent
    project: Project
    last_call: RecentCall | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenLease:
    """A reservation of files that counts now."""

    lease: Lease
    project: Project


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenActivity:
    """`agents` last active first, `leases` the newest first; there is more where `has_more` of each."""

    agents: Sequence[SeenWorker]
    leases: Sequence[SeenLease]
    has_more_agents: bool
    has_more_leases: bool
    has_more_projects: bool
    now: Micros


class OversightActivity:
    def __init__(self, store: Store, usage: Usage) -> None:
        self._store = store
        self._usage = usage

    async def look(self, caller: Caller) -> SeenActivity:
        """What the caller may see of it."""
        require_reader(caller, READING_MAIL)
        return await self._store.read(lambda view: self._look(view, caller))

    def _look(self, view: View, caller: Caller) -> SeenActivity:
        projects, has_more_projects = _projects(view, scope_of(view, caller, None))
        since = Micros(view.now - AT_WORK_S * SECOND)
        found = [
            agent
            for project_id in projects
            for agent in view.agents.list_(project_id, active_since=since, limit=MOST_AGENTS + 1)
        ]
        agents = nlargest(MOST_AGENTS + 1, found, key=lambda agent: (agent.last_active_ts, agent.id))
        calls = self._last_calls(since, is_operator=caller.is_operator)
        held = [
            lease
            for project_id in projects
            for lease in view.leases.newest_live(project_id, LeaseKind.FILE, view.now, MOST_LEASES + 1)
        ]
        leases = nlargest(MOST_LEASES + 1, held, key=lambda lease: lease.id)
        return SeenActivity(
            agents=[
                SeenWorker(
                    agent=agent,
                    project=projects[agent.project_id],
                    last_call=calls.get((agent.project_id, agent.name)),
                )
                for agent in agents[:MOST_AGENTS]
            ],
            leases=[SeenLease(lease=lease, project=projects[lease.project_id]) for lease in leases[:MOST_LEASES]],
            has_more_agents=len(agents) > MOST_AGENTS,
            has_more_leases=len(leases) > MOST_LEASES,
            has_more_projects=has_more_projects,
            now=view.now,
        )

    def _last_calls(self, since: Micros, *, is_operator: bool) -> dict[tuple[ProjectId, str], RecentCall]:
        """That an agent read its mail tells of blind copies: it is for the operator."""
        found: dict[tuple[ProjectId, str], RecentCall] = {}
        for call in islice(self._usage.recent(since), MOST_CALLS):
            if call.agent is None or call.project_id is None or (call.tool in OWN_CALLS and not is_operator):
                continue
            found.setdefault((call.project_id, call.agent), call)
        return found


def _projects(view: View, scope: Collection[ProjectId] | None) -> tuple[dict[ProjectId, Project], bool]:
    """By id, those that are not set aside; whether there are more."""
    if scope is None:
        newest = view.projects.newest(MOST_PROJECTS + 1)
        return {one.id: one for one in newest[:MOST_PROJECTS]}, len(newest) > MOST_PROJECTS
    found = [view.projects.find(one) for one in sorted(scope)]
    return {one.id: one for one in found if one is not None}, False
