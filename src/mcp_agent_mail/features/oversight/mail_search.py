"""Search over all projects, or one, by words and by what people filter with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.readership import READING_MAIL, Readership, may_read, require_reader
from mcp_agent_mail.domain.messages import Addressee, Importance, MessageHead
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.search.query import Filters, Hit, Order, Phrase, SearchQuery, SearchScope, read_query
from mcp_agent_mail.features.oversight.filter_resolution import agents_named, meant_project
from mcp_agent_mail.features.oversight.service import scope_of, shown_addressees
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.search import search
from mcp_agent_mail.store.mail.search_filters import FEW
from mcp_agent_mail.store.transaction import View

MOST_PROJECTS = 50
"""So many of the newest projects are searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitsRequest:
    """At most `limit` messages, less the first `skip` of them. `is_unread` and `needs_ack` are of mail to `Human`, and
    so for the operator: others have no such mail. `is_system`: that of `System` alone.
    """

    words: str
    limit: int
    skip: int = 0
    project_key: str | None = None
    sender: str | None = None
    importance: Importance | None = None
    topic: str | None = None
    recipient: str | None = None
    thread_id: str | None = None
    begin_ts: Micros | None = None
    end_ts: Micros | None = None
    is_unread: bool = False
    needs_ack: bool = False
    is_system: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHits:
    """`phrases` are what was looked for, to be marked. `project_count` projects were searched, and there are more where
    `has_more_projects`. `is_asked`: the words held any to look for.
    """

    hits: Sequence[Hit]
    projects: Mapping[ProjectId, Project]
    phrases: Sequence[Phrase]
    project_count: int
    has_more_projects: bool = False
    has_more: bool = False
    heads: Mapping[MessageId, MessageHead] = field(default_factory=dict)
    addressees: Mapping[MessageId, Sequence[Addressee]] = field(default_factory=dict)
    person: Mapping[MessageId, tuple[Micros | None, Micros | None]] = field(default_factory=dict)
    is_asked: bool = True
    is_literal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Searched:
    """Where to look, and what must be true of what is found."""

    projects: Sequence[Project]
    has_more: bool
    filters: Filters


class _Beside(NamedTuple):
    heads: Mapping[MessageId, MessageHead]
    addressees: Mapping[MessageId, Sequence[Addressee]]
    person: Mapping[MessageId, tuple[Micros | None, Micros | None]]


class OversightSearch:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def find(self, caller: Caller, request: HitsRequest) -> FoundHits:
        """At most `limit` messages that the caller may read, most relevant first. Raises UnknownProject."""
        require_reader(caller, READING_MAIL)
        searched = await self._store.read(lambda view: _resolve(view, caller, request))
        query = read_query(request.words)
        seen = {one.id: one for one in searched.projects}
        hits = (
            [] if query is None or not searched.projects else await self._hits(caller, query, searched, request.limit)
        )
        shown = hits[request.skip : request.limit]
        beside = await self._store.read(lambda view: _beside(view, caller, [one.id for one in shown]))
        return FoundHits(
            hits=shown,
            heads=beside.heads,
            addressees=beside.addressees,
            person=beside.person,
            projects=seen,
            phrases=() if query is None else query.phrases,
            project_count=len(seen),
            has_more_projects=searched.has_more,
            has_more=len(hits) > request.limit,
            is_asked=query is not None,
            is_literal=query is not None and query.is_literal,
        )

    async def _hits(self, caller: Caller, query: SearchQuery, searched: _Searched, limit: int) -> list[Hit]:
        first, *more = searched.projects
        reader = SearchScope(
            project_id=first.id,
            agent_id=caller.agent_id if not more else None,
            whole_project=True,
            more_projects=tuple(one.id for one in more),
        )
        return await search(self._store, query, reader, searched.filters, order=Order.RELEVANCE, limit=limit + 1)


def _resolve(view: View, caller: Caller, request: HitsRequest) -> _Searched:
    projects, has_more = _projects(view, caller, request.project_key)
    return _Searched(
        projects=projects,
        has_more=has_more,
        filters=Filters(
            importance=request.importance,
            is_system=True if request.is_system else None,
            topic=request.topic,
            senders=None if request.sender is None else tuple(agents_named(view, request.sender)),
            recipients=None if request.recipient is None else tuple(agents_named(view, request.recipient)),
            with_blind=caller.is_operator,
            thread_id=request.thread_id,
            begin_ts=request.begin_ts,
            end_ts=request.end_ts,
            among=_persons(view, caller, request) if request.is_unread or request.needs_ack else None,
        ),
    )


def _beside(view: View, caller: Caller, ids: Sequence[MessageId]) -> _Beside:
    heads = {one: view.messages.find_head(one) for one in ids}
    return _Beside(
        heads={one: head for one, head in heads.items() if head is not None},
        addressees=shown_addressees(view, caller, ids),
        person=view.all_mail.states_of_person(ids) if caller.is_operator else {},
    )


def _projects(view: View, caller: Caller, project_key: str | None) -> tuple[list[Project], bool]:
    """Of all, those that the caller may read; whether there are more."""
    scope = scope_of(view, caller, None)
    if project_key is not None:
        project = meant_project(view, project_key)
        return ([project] if may_read(caller, project, Readership.WORK) else []), False
    if scope is None:
        newest = view.projects.newest(MOST_PROJECTS + 1)
        return newest[:MOST_PROJECTS], len(newest) > MOST_PROJECTS
    found = [view.projects.find(one) for one in sorted(scope)]
    return [one for one in found if one is not None][:MOST_PROJECTS], len(found) > MOST_PROJECTS


def _persons(view: View, caller: Caller, request: HitsRequest) -> tuple[MessageId, ...]:
    """The newest mail to `Human` that is unread, or owes an acknowledgement, or both."""
    if not caller.is_operator:
        return ()
    below = MessageId(MOST_NUMBER)
    owed = view.all_mail.owed_by_person(FEW, below) if request.needs_ack else []
    found = view.all_mail.unread_by_person(FEW, below) if request.is_unread else owed
    kept = {one.head.id for one in owed} if request.needs_ack else {one.head.id for one in found}
    return tuple(one.head.id for one in found if one.head.id in kept)
