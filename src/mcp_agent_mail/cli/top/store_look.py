"""Looks at a store that no server has: what its database says, over a connection that cannot write. No lock is taken:
a server can start meanwhile.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from mcp_agent_mail.cli.top.full_look import AgentLook, FullLook, ProjectLook, seen_agents
from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.engine.faults import faults_told
from mcp_agent_mail.store.transaction import View, open_view

_PROJECTS = 50
"""The newest: each is read anew at each look."""
_AGENTS = 200
_LEASES = 1_000


def look_into_store(database: Path) -> FullLook:
    """Without a server nobody listens, and nothing is called. Raises StoreRefused and StoreFailed."""
    with faults_told(), open_view(database) as view:
        backlog = view.outbox.backlog(view.now)
        projects = view.projects.newest(_PROJECTS)
        looks = [_look_at(view, project) for project in projects]
    return FullLook(
        server="none",
        projects=len(projects),
        projects_seen=len(looks),
        agents=sum(len(one.agents) for one in looks),
        unread=sum(one.unread for one in looks),
        leases=sum(one.leases for one in looks),
        pending_events=backlog.pending_events,
        oldest_pending_s=round(backlog.oldest_pending_s, 3),
        rows=seen_agents(looks),
    )


def _look_at(view: View, project: Project) -> ProjectLook:
    leases = view.leases.live(project.id, LeaseKind.FILE, view.now, limit=_LEASES)
    held = Counter(lease.agent_id for lease in leases)
    rows = [
        AgentLook(
            name=agent.name,
            project=project.slug,
            program=agent.program,
            unread=view.inboxes.counts(agent.id).unread,
            leases=held[agent.id],
            listening=None,
            last_active_ts=iso(agent.last_active_ts),
        )
        for agent in view.agents.list_(project.id, limit=_AGENTS)
    ]
    return ProjectLook(slug=project.slug, agents=rows, leases=len(leases))
