"""Search: one use case, find mail by words."""

from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import parse_address
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.names import KnownNames
from mcp_agent_mail.domain.identity.readership import READING_MAIL, Readership, may_read, require_reader
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.search.query import Filters, Order, SearchScope, read_query
from mcp_agent_mail.features.identity.lookup import require_agent
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.features.search.results import SearchResult
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.search import search
from mcp_agent_mail.store.mail.summaries import read_threads
from mcp_agent_mail.store.transaction import View


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """`agent_name` keeps what that agent sent or got; `from_agent` is a name or an address."""

    project_key: str
    query: str
    limit: int
    order: Order
    agent_name: str | None = None
    importance: Importance | None = None
    from_agent: str | None = None
    thread_id: str | None = None
    since_ts: Micros | None = None


class SearchService:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def search(self, caller: Caller, request: SearchRequest) -> SearchResult:
        """Mail of the project that holds the words, and mail of other projects that the caller itself got or sent.

        A caller that is proven to be of another project, which no product links to this one, finds only what it takes
        part in.
        """
        require_reader(caller, READING_MAIL)
        project, filters = await self._store.read(lambda view: _resolve(view, caller, request))
        query = read_query(request.query)
        if query is None:
            return SearchResult(project=project, hits=[], is_asked=False)
        reader = SearchScope(
            project_id=project.id,
            agent_id=caller.agent_id,
            whole_project=may_read(caller, project, Readership.WORK),
        )
        hits = await search(self._store, query, reader, filters, order=request.order, limit=request.limit)
        found = SearchResult(
            project=project,
            hits=hits,
            is_literal=query.is_literal,
            only_of=None if reader.whole_project else caller.agent_name,
        )
        if hits or request.thread_id is None or not reader.whole_project:
            return found
        return await self._without_thread(found, request.thread_id)

    async def _without_thread(self, found: SearchResult, thread_id: str) -> SearchResult:
        """What was found with the thread that was asked for, where that has no mail, and those that may be meant."""
        (thread,) = await read_threads(self._store, found.project.id, [thread_id], limit=1)
        if thread.total:
            return found
        known = KnownNames(await self._store.read(lambda view: view.messages.recent_threads(found.project.id)))
        return replace(found, no_thread=thread_id, near=known.nearest(thread_id))


def _resolve(view: View, caller: Caller, request: SearchRequest) -> tuple[Project, Filters]:
    project = require_project(view, request.project_key)
    participant_id: AgentId | None = None
    with_blind = False
    if request.agent_name is not None:
        participant_id = require_agent(view, project, request.agent_name).id
        with_blind = may_read(caller, project, Readership.OWN, (participant_id,))
    return project, Filters(
        participant_id=participant_id,
        with_blind=with_blind,
        sender_id=None if request.from_agent is None else _sender_id(view, project, request.from_agent),
        importance=request.importance,
        thread_id=request.thread_id,
        since_ts=request.since_ts,
    )


def _sender_id(view: View, project: Project, from_agent: str) -> AgentId:
    """A sender of another project is named as results name it: `Name@slug`. What is refused says by which argument it
    came: another may hold the same name.
    """
    try:
        address = parse_address(from_agent)
        home = project if address.project_key is None else require_project(view, address.project_key)
        return require_agent(view, home, address.name).id
    except AgentMailError as refused:
        refused.data["parameter"] = "from_agent"
        raise
