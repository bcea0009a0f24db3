"""Who works where, as the person sees it who watches over all projects: projects and products with counts, what
agents hold, and who asks to write to whom.

Reads alone, by the rules of who reads what: they change nothing, and no agent is active by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, AgentId, ContactId, MessageId, ProductId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.contacts import MAX_HELD_OF_MESSAGE, Contact
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind, require_operator
from mcp_agent_mail.domain.identity.names import HUMAN
from mcp_agent_mail.domain.identity.readership import READING_MAIL, Readership, may_read, require_reader
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.products import Product
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.oversight.contact_questions import ContactQuestion, contact_question
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.oversight.contact_pages import ContactSlice
from mcp_agent_mail.store.transaction import View

MOST_REQUESTS = 50
"""Shown at a time: what is answered leaves the list."""
MOST_HELD_OF_REQUEST = 10
MOST_LEASES_OF_AGENT = 100
MOST_PROJECTS_WITH_LEASES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProject:
    """`mail` and `leases` are counted as far as one more than MOST_COUNTED, and None where the caller may not know;
    `unread` and `requests` are the person's own, None for anybody else.
    """

    project: Project
    agents: int
    mail: int | None
    newest_mail_ts: Micros | None
    leases: int | None
    unread: int | None
    requests: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProjects:
    """The newest first; `next_before` is where the next page begins, None at the end."""

    projects: Sequence[ListedProject]
    next_before: ProjectId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProduct:
    """`projects` are those that the caller may read mail of."""

    product: Product
    projects: Sequence[Project]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProducts:
    """The newest first; `next_before` is where the next page begins, None at the end."""

    products: Sequence[ListedProduct]
    next_before: ProductId | None


class PeopleService:
    """What the pages of agents, contacts and projects show beside what tools do."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def lease_counts(self, caller: Caller, project: Project, agents: Sequence[AgentId]) -> Mapping[AgentId, int]:
        """How many live file reservations each has; nothing for who may not read the project's work."""
        if not may_read(caller, project, Readership.WORK):
            return {}
        return await self._store.read(
            lambda view: {one: view.leases.count_of_agent(one, LeaseKind.FILE, view.now) for one in agents}
        )

    async def leases_of(self, caller: Caller, project: Project, agent_id: AgentId) -> Sequence[Lease]:
        """The agent's live file reservations, newest first, at most MOST_LEASES_OF_AGENT."""
        if not may_read(caller, project, Readership.WORK):
            return ()
        return await self._store.read(
            lambda view: view.leases.live_of_agent(agent_id, LeaseKind.FILE, view.now, MOST_LEASES_OF_AGENT)
        )

    async def link(
        self, caller: Caller, project: Project, target: str, *, source_project: Project, source: str
    ) -> Contact | None:
        """Whether an agent may write to `target` of the project, by their names; for the operator."""
        require_operator(caller)

        def look(view: View) -> Contact | None:
            to_agent = view.agents.find_by_name(project.id, target)
            from_agent = view.agents.find_by_name(source_project.id, source)
            if to_agent is None or from_agent is None:
                return None
            return view.contacts.find(from_agent.id, to_agent.id)

        return await self._store.read(look)

    async def numbered_link(self, caller: Caller, contact_id: ContactId) -> Contact | None:
        """The link of this number, whatever project it is of; for the operator."""
        require_operator(caller)
        return await self._store.read(lambda view: view.contact_pages.numbered(contact_id))

    async def live_leases(self, caller: Caller, limit: int) -> Sequence[tuple[Project, Lease]]:
        """Live file reservations of all projects that the caller may read the work of, the newest project first; of the
        MOST_PROJECTS_WITH_LEASES newest.
        """
        require_reader(caller, "Listing reservations")

        def look(view: View) -> list[tuple[Project, Lease]]:
            found: list[tuple[Project, Lease]] = []
            for project in view.projects.newest(MOST_PROJECTS_WITH_LEASES):
                if may_read(caller, project, Readership.WORK) and len(found) < limit:
                    left = limit - len(found)
                    live = view.leases.live(project.id, LeaseKind.FILE, view.now, after_id=0, limit=left)
                    found.extend((project, lease) for lease in live)
            return found

        return await self._store.read(look)

    async def screened(self, caller: Caller, project: Project) -> Sequence[ContactQuestion]:
        """Who asks to write to the project's agents, newest first, at most MOST_REQUESTS; for the operator."""
        require_operator(caller)

        def look(view: View) -> list[ContactQuestion]:
            asked = view.contact_pages.requests_to(project.id, view.now, MOST_REQUESTS)
            return [contact_question(view, contact, MOST_HELD_OF_REQUEST) for contact in asked]

        return await self._store.read(look)

    async def questions_about(self, caller: Caller, message_id: MessageId) -> Sequence[ContactQuestion]:
        """Whose answers held copies of the message wait for, in the order addressed; for the operator."""
        require_operator(caller)

        def look(view: View) -> list[ContactQuestion]:
            asked = view.contact_pages.requests_about(message_id, MAX_HELD_OF_MESSAGE)
            return [contact_question(view, contact, 0) for contact in asked]

        return await self._store.read(look)

    async def links(self, caller: Caller, project: Project, *, before: int | None, limit: int) -> ContactSlice:
        """All links from and to the project's agents, newest first; for the operator."""
        require_operator(caller)
        below = ContactId(MOST_NUMBER if before is None else before)
        return await self._store.read(lambda view: view.contact_pages.links_of(project.id, before=below, limit=limit))

    async def projects(self, caller: Caller, *, before: int | None, limit: int) -> ListedProjects:
        """All projects, those set aside too: who may see that they exist is anybody who may come in."""
        below = ProjectId(MOST_NUMBER if before is None else before)

        def look(view: View) -> ListedProjects:
            found = view.projects.newest(limit + 1, before=below, include_archived=True)
            counted = [_counted(view, caller, one) for one in found[:limit]]
            return ListedProjects(projects=counted, next_before=counted[-1].project.id if len(found) > limit else None)

        return await self._store.read(look)

    async def products(self, caller: Caller, *, before: int | None, limit: int) -> ListedProducts:
        """Products, and their projects as far as the caller may read mail of them. An agent sees those of its own."""
        require_reader(caller, READING_MAIL)
        below = ProductId(MOST_NUMBER if before is None else before)
        is_agent = caller.kind is CallerKind.AGENT

        def look(view: View) -> ListedProducts:
            found = view.products.newest(limit + 1, before=below)
            listed = [_listed(view, caller, one) for one in found[:limit]]
            shown = [one for one in listed if one.projects or not is_agent]
            return ListedProducts(products=shown, next_before=found[limit - 1].id if len(found) > limit else None)

        return await self._store.read(look)


def _counted(view: View, caller: Caller, project: Project) -> ListedProject:
    is_readable = may_read(caller, project, Readership.WORK)
    counts = view.project_counts
    unread = requests = None
    if caller.is_operator:
        human = view.agents.find_by_name(project.id, HUMAN)
        unread = 0 if human is None else human.unread_count
        requests = len(view.contact_pages.requests_to(project.id, view.now, MOST_REQUESTS))
    return ListedProject(
        project=project,
        agents=view.agents.count(project.id),
        mail=counts.mail(project.id) if is_readable else None,
        newest_mail_ts=counts.newest_mail_ts(project.id) if is_readable else None,
        leases=counts.live_leases(project.id, LeaseKind.FILE, view.now) if is_readable else None,
        unread=unread,
        requests=requests,
    )


def _listed(view: View, caller: Caller, product: Product) -> ListedProduct:
    found = [view.projects.find(project_id) for project_id in view.products.projects(product)]
    readable = [one for one in found if one is not None and may_read(caller, one, Readership.WORK)]
    return ListedProduct(product=product, projects=readable)
