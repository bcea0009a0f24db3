"""One name's mail in every project of a product. The same name in two projects is two agents, each with its inbox."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind, require_to_act
from mcp_agent_mail.domain.identity.names import UnknownAgent, did_you_mean
from mcp_agent_mail.domain.messages import InboxEntry
from mcp_agent_mail.domain.products import Product
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.lookup import find_agent, known_names, present_names, told_present
from mcp_agent_mail.features.messaging.read import load_bodies
from mcp_agent_mail.features.products.lookup import open_product
from mcp_agent_mail.features.products.results import ProductInbox
from mcp_agent_mail.store.mail.inboxes import InboxPage, MailFilter
from mcp_agent_mail.store.transaction import View

_AT_ONCE = 20
"""Rows read at a time from one inbox: together no more are read than are shown, and one page of each inbox."""

_NAMED = 10
"""Agents or projects that a refusal names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductInboxRequest:
    product_key: str
    agent_name: str
    limit: int
    urgent_only: bool = False
    include_bodies: bool = False
    since: Micros | None = None


def read_product_inbox(view: View, caller: Caller, request: ProductInboxRequest) -> ProductInbox:
    """Newest first, in the order in which the store delivered. Changes nothing of what is unread.

    It is read by acting as one of the agents. Of the inboxes of its namesakes, who are other agents, a caller who is
    proven to be one of them sees what every agent of the product may read: no blind copies.
    """
    product, projects = open_product(view, caller, request.product_key)
    namesakes = _namesakes(view, product, projects, request.agent_name)
    _require_to_act_as_one(caller, [agent for agent, _ in namesakes])
    page = InboxPage(limit=_AT_ONCE, keep=MailFilter.URGENT if request.urgent_only else MailFilter.ANY)
    inboxes = [
        _newest_first(view, caller, agent, project, _since(view, agent, request, page)) for agent, project in namesakes
    ]
    merged = heapq.merge(*inboxes, key=lambda one: one[0].delivery_seq, reverse=True)
    entries = list(islice(merged, request.limit))
    bodies = None
    if request.include_bodies:
        heads = {entry.head.id: entry.head for entry, _ in entries}
        bodies = load_bodies(view, heads.values())
    return ProductInbox(
        entries=entries, read_ts=view.now, bodies=bodies, owners={home.id: agent for agent, home in namesakes}
    )


def _namesakes(view: View, product: Product, projects: Sequence[Project], name: str) -> list[tuple[Agent, Project]]:
    found = [(agent, project) for project in projects if (agent := find_agent(view, project.id, name)) is not None]
    if not found:
        names = known_names(view, *(project.id for project in projects))
        close = names.nearest(name)
        present = [] if close else [known for project in projects for known in present_names(view, project)][:_NAMED]
        raise UnknownAgent(
            f"No project of the product {product.name} has an agent {name.strip()!r:.100}.",
            hint=f"{did_you_mean(names.told(close)) or told_present(present)}{_where_to_look(projects)}",
            data={
                "parameter": "agent_name",
                "nearest": close,
                "present": present,
                "projects": [project.human_key for project in projects],
            },
            refused=name,
        )
    return found


def _where_to_look(projects: Sequence[Project]) -> str:
    if not projects:
        return "The product has no project yet: products_link adds one."
    keys = [project.human_key for project in projects[:_NAMED]]
    more = f" and {len(projects) - len(keys)} more" if len(projects) > len(keys) else ""
    return f"Its projects are {', '.join(keys)}{more}; list_agents names their agents."


def _require_to_act_as_one(caller: Caller, agents: Sequence[Agent]) -> None:
    """Raises as acting as the first of them does."""
    its_own = [agent for agent in agents if agent.id == caller.agent_id]
    require_to_act(caller, (its_own or list(agents))[0])


def _since(view: View, agent: Agent, request: ProductInboxRequest, page: InboxPage) -> InboxPage:
    if request.since is None:
        return page
    return replace(page, after_seq=view.inboxes.seq_until(agent.id, request.since))


def _newest_first(
    view: View, caller: Caller, agent: Agent, project: Project, page: InboxPage
) -> Iterator[tuple[InboxEntry, Project]]:
    is_others = caller.kind is CallerKind.AGENT and caller.agent_id != agent.id
    page = replace(page, without_blind=is_others)
    while True:
        entries = view.inboxes.page(agent.id, page)
        yield from ((entry, project) for entry in entries)
        if len(entries) < page.limit:
            return
        page = replace(page, to_seq=entries[-1].delivery_seq - 1)
