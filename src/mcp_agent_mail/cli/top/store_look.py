"""Looks at a store that no server has: what its database says, over a connection that cannot write. No lock is taken:
a server can start meanwhile.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from mcp_agent_mail.cli.top.full_look import AgentLook, FullLook, ProjectLook, added_up, seen_agents
from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.engine.sqlite.faults import faults_told
from mcp_agent_mail.store.oversight.project_counts import MOST_COUNTED
from mcp_agent_mail.store.transaction import View, open_view

_PROJECTS = 50
"""The newest: each is read anew at each look. The others are counted."""
_AGENTS = 200
"""Of each project, those active last. The others are counted, their mail is not."""


def look_into_store(database: Path) -> FullLook:
    """Without a server nobody listens, and nothing is called. Raises StoreRefused and StoreFailed."""
    with faults_told(), open_view(database) as view:
        backlog = view.outbox.backlog(view.now)
        projects = view.project_counts.projects()
        looks = [_look_at(view, project) for project in view.projects.newest(_PROJECTS)]
    sums = added_up(looks, is_whole=len(looks) >= projects)
    return FullLook(
        server="none",
        projects=min(projects, MOST_COUNTED),
        has_more_projects=projects > MOST_COUNTED,
        projects_seen=len(looks),
        **asdict(sums),
        pending_events=backlog.pending_events,
        oldest_pending_s=round(backlog.oldest_pending_s, 3),
        rows=seen_agents(looks),
    )


def _look_at(view: View, project: Project) -> ProjectLook:
    leases = view.project_counts.live_leases(project.id, LeaseKind.FILE, view.now)
    rows = [
        AgentLook(
            name=agent.name,
            project=project.slug,
            program=agent.program,
            unread=view.inboxes.counts(agent.id).unread,
            leases=view.leases.count_of_agent(agent.id, LeaseKind.FILE, view.now),
            listening=None,
            last_active_ts=iso(agent.last_active_ts),
        )
        for agent in view.agents.list_(project.id, limit=_AGENTS)
    ]
    return ProjectLook(
        slug=project.slug,
        agents=rows,
        agents_count=view.agents.count(project.id),
        leases=min(leases, MOST_COUNTED),
        has_more_leases=leases > MOST_COUNTED,
    )
