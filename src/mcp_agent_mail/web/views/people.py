"""Agents and projects: a row for each, and one agent by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.presence import Presence
from mcp_agent_mail.features.identity.results import AgentList
from mcp_agent_mail.features.oversight.people import ListedProduct, ListedProject
from mcp_agent_mail.store.oversight.project_counts import MOST_COUNTED


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentView:
    """`unread` and `leases` are None where the reader may not know. `listens_by` is empty unless mail would reach the
    agent now; `busy_since_ts` None: idle, or not known.
    """

    name: str
    kind: str
    program: str
    model: str
    task: str
    status: str
    status_note: str
    contact_policy: str
    listens_by: str
    busy_since_ts: Micros | None
    inception_ts: Micros
    last_active_ts: Micros
    retired_ts: Micros | None
    unread: int | None
    leases: int | None


def agent_view(agent: Agent, presence: Presence, *, unread: int | None, leases: int | None) -> AgentView:
    """The counts are what the reader may know: None for nothing."""
    return AgentView(
        name=agent.name,
        kind=str(agent.kind),
        program=agent.program,
        model=agent.model,
        task=agent.task_description,
        status=str(agent.status),
        status_note=agent.status_note or "",
        contact_policy=str(agent.contact_policy),
        listens_by=str(presence.via) if presence.via is not None else "",
        busy_since_ts=presence.busy_since,
        inception_ts=agent.inception_ts,
        last_active_ts=agent.last_active_ts,
        retired_ts=agent.retired_ts,
        unread=unread,
        leases=leases,
    )


def agent_views(listed: AgentList, leases: Mapping[AgentId, int]) -> list[AgentView]:
    """Last active first."""
    return [
        agent_view(one, listed.presences[one.id], unread=listed.unread[one.id], leases=leases.get(one.id))
        for one in listed.agents
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectView:
    """`name` is the last part of the directory, as people call it. A count is text, since it may be `10,000+`; empty
    where the reader may not know it.
    """

    slug: str
    name: str
    human_key: str
    agents: int
    mail: str
    newest_mail_ts: Micros | None
    leases: str
    unread: int | None
    requests: int | None
    is_archived: bool


def project_view(one: ListedProject) -> ProjectView:
    """Counts as text, bounded as they were counted."""
    return ProjectView(
        slug=one.project.slug,
        name=one.project.name,
        human_key=one.project.human_key,
        agents=one.agents,
        mail=_count(one.mail),
        newest_mail_ts=one.newest_mail_ts,
        leases=_count(one.leases),
        unread=one.unread,
        requests=one.requests,
        is_archived=one.project.is_archived,
    )


def _count(number: int | None) -> str:
    if number is None:
        return ""
    return f"{MOST_COUNTED:,}+" if number > MOST_COUNTED else f"{number:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductView:
    """`projects` are slug and name of each."""

    name: str
    uid: str
    created_ts: Micros
    projects: Sequence[tuple[str, str]]


def product_view(one: ListedProduct) -> ProductView:
    """With the projects that the reader may read mail of, oldest first."""
    return ProductView(
        name=one.product.name,
        uid=one.product.uid,
        created_ts=one.product.created_ts,
        projects=[(project.slug, project.name) for project in one.projects],
    )
