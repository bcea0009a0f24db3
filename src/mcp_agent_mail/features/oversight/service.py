"""What the person sees who watches over all projects: newest mail, what needs a person, what `System` told.

Reads alone, by the rules of who reads what: they change nothing, and no agent is active by them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind, require_operator
from mcp_agent_mail.domain.identity.names import name_key
from mcp_agent_mail.domain.identity.readership import READING_MAIL, Readership, may_read, require_reader
from mcp_agent_mail.domain.messages import MOST_NEWER, Addressee, Importance, MessageHead, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.threads import is_in_thread, thread_of, topic_key
from mcp_agent_mail.features.oversight.filter_resolution import (
    agents_meant,
    agents_named,
    meant_project,
    numbered_project,
    unknown_agents,
)
from mcp_agent_mail.features.oversight.needs import (
    FIRST_NEEDS,
    NeedCounts,
    Needs,
    NeedsPlace,
    count_needs,
    look_at_needs,
)
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.all_mail import HumanMail, HumanReason, MailQuery
from mcp_agent_mail.store.mail.messages import END, MailCommit
from mcp_agent_mail.store.transaction import View

_LOOKED_AT = 10
"""So many of the newest messages are looked at for a project that takes more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailPageRequest:
    """Which mail, newest first: below the message `before`. `project_key` is whatever people call it: its mail is what
    was sent from there or came there. `sender` and `recipient` are names, or `Name@project`. `begin_ts` and `end_ts`
    are between which times it was sent, the first one in. `is_system`: the mail of `System` alone.
    """

    limit: int
    before: int | None = None
    project_key: str | None = None
    sender: str | None = None
    importance: Importance | None = None
    topic: str | None = None
    recipient: str | None = None
    thread_id: str | None = None
    begin_ts: Micros | None = None
    end_ts: Micros | None = None
    is_system: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OversightMail:
    """`person` is when a `Human` read and acknowledged what came to it, `reasons` why it did: empty but for the
    operator, who alone is that.
    `projects` are those that the mail was sent from. `places` are the slugs of others to read it from, where who asks
    may not read it from there.

    `next_before`: where the next page begins; None where nothing older is left.
    """

    heads: Sequence[MessageHead]
    addressees: Mapping[MessageId, Sequence[Addressee]]
    person: Mapping[MessageId, tuple[Micros | None, Micros | None]]
    reasons: Mapping[MessageId, HumanReason]
    projects: Mapping[ProjectId, Project]
    next_before: MessageId | None
    now: Micros
    places: Mapping[MessageId, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanSlice:
    """Mail to `Human`. `next_before`: where the next page begins; None where nothing older is left."""

    mail: Sequence[HumanMail]
    next_before: MessageId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """`newer` is how much mail of its thread came later, counted as far as one more than MOST_NEWER; `commit` holds it
    in the archive, None while Git has yet to get it. `before` and `after` are its neighbours in the thread.
    """

    commit: MailCommit | None
    newer: int
    before: MessageId | None = None
    after: MessageId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPlace:
    """Where a page of a thread stands that begins behind a message: `before` is how much of the thread is before it.
    The page before it begins behind `earlier`, the last page behind `newest`, both None for the beginning. `subject` is
    that of its first message.
    """

    before: int
    earlier: MessageId | None
    newest: MessageId | None
    subject: str | None


class OversightService:
    """`late_after_s`: so long an agent has for an acknowledgement."""

    def __init__(self, store: Store, *, late_after_s: int) -> None:
        self._store = store
        self._late_after = Micros(late_after_s * SECOND)

    async def mail(self, caller: Caller, request: MailPageRequest) -> OversightMail:
        """A page of delivered mail. The operator sees blind copies and private mail; an agent what its project, and
        those linked to it, may read.
        """
        require_reader(caller, READING_MAIL)

        def look(view: View) -> OversightMail:
            query = MailQuery(
                limit=request.limit,
                before=None if request.before is None else MessageId(request.before),
                projects=scope_of(view, caller, request.project_key),
                senders=None if request.sender is None else agents_named(view, request.sender),
                recipients=None if request.recipient is None else agents_named(view, request.recipient),
                thread_id=request.thread_id,
                begin_ts=request.begin_ts,
                end_ts=request.end_ts,
                importance=request.importance,
                topic=request.topic,
                is_system=request.is_system,
                with_closed=caller.is_operator,
            )
            found = view.all_mail.page(query)
            ids = [head.id for head in found.heads]
            person = view.all_mail.states_of_person(ids) if caller.is_operator else {}
            return OversightMail(
                heads=found.heads,
                addressees=shown_addressees(view, caller, ids),
                person=person,
                reasons=view.all_mail.reasons_of_person(person),
                projects=_projects_of(view, found.heads),
                next_before=found.next_before,
                now=view.now,
                places={} if caller.is_operator else _reading_places(view, query.projects, found.heads),
            )

        return await self._store.read(look)

    async def to_person(self, caller: Caller, request: MailPageRequest, *, owes_ack: bool = False) -> HumanSlice:
        """Mail to `Human` that is unread, or whose acknowledgement is owed, newest first; for the operator. A page may
        be short, or empty, with more behind it.
        """
        require_operator(caller)
        below = MessageId(MOST_NUMBER if request.before is None else request.before)

        def look(view: View) -> HumanSlice:
            project = None if request.project_key is None else meant_project(view, request.project_key)
            walked = view.all_mail.owed_by_person if owes_ack else view.all_mail.unread_by_person
            found = walked(request.limit + 1, below)
            shown = found[: request.limit]
            wanted = _Wanted(
                request=request,
                senders=_called(view, request.sender),
                recipients=_called(view, request.recipient),
                project=project,
            )
            kept = [one for one in shown if wanted.passes(view, one.head)]
            return HumanSlice(mail=kept, next_before=shown[-1].head.id if len(found) > request.limit else None)

        return await self._store.read(look)

    async def needs(self, caller: Caller, place: NeedsPlace = FIRST_NEEDS) -> Needs:
        """A page of what waits for a person, for the operator."""
        require_operator(caller)
        return await self._store.read(
            lambda view: look_at_needs(view, place, late_until=Micros(view.now - self._late_after))
        )

    async def count(self, caller: Caller) -> NeedCounts:
        """How much waits for a person; nothing does for anybody but the operator."""
        if not caller.is_operator:
            return NeedCounts(unread=0, needs=0)
        return await self._store.read(count_needs)

    async def reasons(self, caller: Caller, message_ids: Collection[MessageId]) -> Mapping[MessageId, HumanReason]:
        """Why those of the messages came to `Human` that did; for the operator."""
        require_operator(caller)
        return await self._store.read(lambda view: view.all_mail.reasons_of_person(message_ids))

    async def projects(self, *, limit: int) -> Sequence[Project]:
        """Those that are not set aside, the newest first: who may see that they exist is anybody who may come in."""
        return await self._store.read(lambda view: view.projects.newest(limit))

    async def newest_place(self) -> str | None:
        """The slug of the project that the newest mail of an agent or a person is from; None where there is none."""

        def look(view: View) -> str | None:
            newest = view.all_mail.page(MailQuery(limit=_LOOKED_AT, with_closed=True)).heads
            found = (view.projects.find(head.project_id) for head in newest)
            return next((one.slug for one in found if one is not None and not one.is_archived), None)

        return await self._store.read(look)

    async def beside(self, message_id: MessageId, project: Project, thread_id: str | None) -> Beside:
        """What stands beside a message that the caller was found to see from `project`."""

        def look(view: View) -> Beside:
            commit = view.messages.commits(project.id, [message_id]).get(message_id)
            if (place := view.messages.place(project.id, message_id)) is None:
                return Beside(commit=commit, newer=0)
            thread = thread_of(message_id, thread_id)
            later = view.thread_messages.list_(project.id, thread, after=place, limit=MOST_NEWER + 1)
            before = view.thread_messages.find_before(project.id, thread, place)
            return Beside(commit=commit, newer=len(later), before=before, after=later[0].id if later else None)

        return await self._store.read(look)

    async def meant(self, key: str) -> Project:
        """A project by whatever people call it. Raises UnknownProject, AmbiguousProject."""
        return await self._store.read(lambda view: meant_project(view, key))

    async def unknown_agents(self, names: Sequence[str]) -> str:
        """What is to be said of names that no agent has; empty where each is somebody's."""
        return await self._store.read(lambda view: unknown_agents(view, names)) if names else ""

    async def thread_place(self, project: Project, thread_id: str, after: int, *, page_size: int) -> ThreadPlace:
        """Of a thread that the caller was found to see from `project`; `after` is 0 for its beginning."""

        def look(view: View) -> ThreadPlace:
            thread = view.thread_messages
            first = thread.list_(project.id, thread_id, limit=1)
            place = view.messages.place(project.id, MessageId(after)) if after else None
            before, earlier = 0, None
            if place is not None:
                before = thread.count_up_to(project.id, thread_id, place)
                earlier = thread.find_back(project.id, thread_id, place, steps=page_size)
            return ThreadPlace(
                before=before,
                earlier=earlier,
                newest=thread.find_back(project.id, thread_id, END, steps=page_size),
                subject=first[0].subject if first else None,
            )

        return await self._store.read(look)

    async def project(self, key: str) -> Project:
        """A project by its slug, a former one, its path, or its number. Raises UnknownProject."""
        return await self._store.read(lambda view: numbered_project(view, key))


_Called = Collection[tuple[ProjectId, str]]
"""Agents by their projects and the keys of their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What a page of the person's own mail is filtered with, which is short by itself. `senders` and `recipients` are
    None for all.
    """

    request: MailPageRequest
    senders: _Called | None
    recipients: _Called | None
    project: Project | None

    def passes(self, view: View, head: MessageHead) -> bool:
        asked = self.request
        return (
            (not asked.is_system or bool(head.is_system))
            and (asked.thread_id is None or is_in_thread(asked.thread_id, head.id, head.thread_id))
            and (asked.begin_ts is None or head.created_ts >= asked.begin_ts)
            and (asked.end_ts is None or head.created_ts < asked.end_ts)
            and (asked.importance is None or head.importance == asked.importance)
            and (asked.topic is None or topic_key(head.topic or "") == topic_key(asked.topic))
            and (self.senders is None or (head.project_id, name_key(head.sender_name)) in self.senders)
            and self._is_to(view, head)
            and self._is_of_place(view, head)
        )

    def _is_to(self, view: View, head: MessageHead) -> bool:
        if self.recipients is None:
            return True
        found = view.messages.addressees([head.id]).get(head.id, ())
        return any((one.project_id, name_key(one.name)) in self.recipients for one in found)

    def _is_of_place(self, view: View, head: MessageHead) -> bool:
        """Sent from the project, open to its readers, or come to its `Human`."""
        if self.project is None or head.project_id == self.project.id:
            return True
        return view.messages.is_open_to(head.id, self.project.id) or any(
            one.project_id == self.project.id for one in view.all_mail.copies_of_person([head.id])
        )


def _called(view: View, text: str | None) -> _Called | None:
    return None if text is None else {(one.project_id, name_key(one.name)) for one in agents_meant(view, text)}


def _reading_places(
    view: View, scope: Collection[ProjectId] | None, heads: Sequence[MessageHead]
) -> Mapping[MessageId, str]:
    """Of mail that was sent from elsewhere, the slug of one of these projects to whose readers it is open."""
    if scope is None:
        return {}
    found: dict[MessageId, str] = {}
    for head in heads:
        places = () if head.project_id in scope else sorted(scope)
        place = next((one for one in places if view.messages.is_open_to(head.id, one)), None)
        if place is not None and (project := view.projects.find(place)) is not None:
            found[head.id] = project.slug
    return found


def _projects_of(view: View, heads: Sequence[MessageHead]) -> Mapping[ProjectId, Project]:
    found = {one: view.projects.find(one) for one in {head.project_id for head in heads}}
    return {one: project for one, project in found.items() if project is not None}


def scope_of(view: View, caller: Caller, project_key: str | None) -> Collection[ProjectId] | None:
    """The projects to look in; None for all."""
    is_agent = caller.kind is CallerKind.AGENT and caller.project_id is not None
    if project_key is None:
        return {caller.project_id, *caller.linked_projects} if is_agent and caller.project_id else None
    project = meant_project(view, project_key)
    return {project.id} if may_read(caller, project, Readership.WORK) else set()


def shown_addressees(view: View, caller: Caller, ids: Collection[MessageId]) -> Mapping[MessageId, list[Addressee]]:
    """Who it is to, as far as the caller may know."""
    found = view.messages.addressees(ids)
    if caller.is_operator:
        return found
    return {
        message_id: [one for one in those if one.kind != RecipientKind.BCC and one.state == "delivered"]
        for message_id, those in found.items()
    }
