"""Reads of mail. None of them changes anything; each walks an index and is bounded in rows and bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind
from mcp_agent_mail.domain.identity.readership import READING_MAIL, require_reader, require_to_read
from mcp_agent_mail.domain.messages import (
    GOOD,
    Addressee,
    Bodies,
    InboxEntry,
    InlineContents,
    Message,
    MessageHead,
    Recipient,
    Standing,
    bodies_that_fit,
    bodies_that_fit_escaped,
)
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.threads import UnknownThread, root_of_thread
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.delivery_hooks import WithActivity
from mcp_agent_mail.features.messaging.ends import Standings, find_reading_agent, load_standings
from mcp_agent_mail.features.messaging.requests import (
    InboxRequest,
    MessageRequest,
    OutboxRequest,
    ThreadRequest,
    TopicRequest,
)
from mcp_agent_mail.features.messaging.visibility import (
    AmbiguousAgent,
    find_home,
    is_visible_from,
    is_visible_to,
    open_inbox,
    open_outbox,
    unknown_message,
    unseen_message,
)
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.mail.inboxes import InboxCounts, InboxPage, MailFilter
from mcp_agent_mail.store.mail.messages import BEGINNING, DeliveryPosition, MailCommit
from mcp_agent_mail.store.transaction import View


class UnknownCursor(NotFound):
    """The message that `after_id` names is not part of the inbox or thread that is followed."""


class AmbiguousThread(AmbiguousAgent):
    """Several projects have mail in this thread, and none was named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxListing:
    """`bodies` is None when none were asked for; `inline` comes with them. `counts` are of the whole inbox, whatever
    part of it is listed; None where nobody looks at them. `read_ts` is when it was looked at.
    """

    mailbox: Actor
    entries: list[InboxEntry]
    read_ts: Micros
    bodies: Bodies | None = None
    counts: InboxCounts | None = None
    inline: InlineContents = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailListing:
    """Messages as seen from `project`, with what has become of them; `addressees` by message, where they were asked
    for.
    """

    project: Project
    heads: list[MessageHead]
    standings: Standings
    bodies: Bodies | None = None
    addressees: dict[MessageId, list[Addressee]] | None = None
    inline: InlineContents = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxListing:
    mailbox: Actor
    mail: MailListing


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPage:
    """`next_after_id` is None on the last page."""

    thread_id: str
    mail: MailListing
    total: int
    next_after_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMessage:
    """One message with its recipients, as seen from `project`."""

    message: Message
    recipients: list[Recipient]
    project: Project
    standing: Standing = GOOD
    inline: InlineContents = field(default_factory=dict)


def read_inbox(view: View, caller: Caller, request: InboxRequest, with_activity: WithActivity = list) -> InboxListing:
    """A page of the agent's inbox: newest first, or oldest first after `after_id`. Changes nothing of what
    is unread. `with_activity` is asked who was active last, where that decides whose inbox is meant.
    """
    project_key = request.project_key
    if project_key is None and request.takes_latest:
        project_key = find_home(view, caller, request.agent_name, with_activity)
    mailbox = open_inbox(view, caller, request.agent_name, project_key)
    counts = view.inboxes.counts(mailbox.agent.id)
    if request.limit == 0:
        return InboxListing(mailbox=mailbox, entries=[], read_ts=view.now, counts=counts)
    after_seq = 0
    if request.after_id is not None:
        after_seq = _cursor(view, mailbox.agent, request.after_id)
    if request.since is not None:
        after_seq = max(after_seq, view.inboxes.seq_until(mailbox.agent.id, request.since))
    page = InboxPage(
        limit=request.limit,
        keep=_KEEP[request.urgent_only, request.unread_only],
        thread_id=request.thread_id,
        topic=request.topic,
        after_seq=after_seq,
        oldest_first=request.after_id is not None,
        walk_kept=request.unread_only and mailbox.agent.unread_count <= _FEW_UNREAD,
    )
    if request.unread_first:
        entries = _unread_first(view, mailbox.agent, page)
    else:
        entries = view.inboxes.page(mailbox.agent.id, page)
    bodies = load_bodies(view, (entry.head for entry in entries)) if request.include_bodies else None
    return InboxListing(mailbox=mailbox, entries=entries, read_ts=view.now, bodies=bodies, counts=counts)


def _unread_first(view: View, agent: Agent, page: InboxPage) -> list[InboxEntry]:
    """As many as the page holds. Where read mail is listed there is less unread mail than that, so that one page of
    everything has enough of it.
    """
    unread = view.inboxes.page(agent.id, replace(page, keep=MailFilter.UNREAD))
    room = page.limit - len(unread)
    if not room:
        return unread
    everything = view.inboxes.page(agent.id, page)
    listed = {entry.delivery_seq for entry in unread}
    return [*unread, *[entry for entry in everything if entry.delivery_seq not in listed][:room]]


_FEW_UNREAD = 2_000
"""Up to so much unread mail, looking through it beats looking through a thread or topic that may be larger."""

_KEEP = {
    (False, False): MailFilter.ANY,
    (True, False): MailFilter.URGENT,
    (False, True): MailFilter.UNREAD,
    (True, True): MailFilter.URGENT_UNREAD,
}


def _cursor(view: View, agent: Agent, after_id: int) -> int:
    if after_id == 0:
        return 0
    seq = view.inboxes.cursor(agent.id, MessageId(after_id))
    if seq is None:
        raise UnknownCursor(
            f"after_id {after_id} is no message of {agent.name}'s inbox.",
            hint="Send the id of the last message you got from this inbox, or 0 for everything from the beginning.",
            data={"parameter": "after_id", "after_id": after_id},
        )
    return seq


def read_view(view: View, caller: Caller, agent_name: str, project_key: str | None, page: InboxPage) -> InboxListing:
    mailbox = open_inbox(view, caller, agent_name, project_key)
    return InboxListing(mailbox=mailbox, entries=view.inboxes.page(mailbox.agent.id, page), read_ts=view.now)


def read_overdue(
    view: View, caller: Caller, agent_name: str, project_key: str | None, until: Micros, limit: int
) -> InboxListing:
    """Mail that waits for an acknowledgement since `until` or longer, oldest first."""
    mailbox = open_inbox(view, caller, agent_name, project_key)
    to_seq = view.inboxes.seq_until(mailbox.agent.id, until)
    page = InboxPage(limit=limit, keep=MailFilter.UNACKNOWLEDGED, to_seq=to_seq, oldest_first=True)
    return InboxListing(mailbox=mailbox, entries=view.inboxes.page(mailbox.agent.id, page), read_ts=view.now)


def read_outbox(view: View, caller: Caller, request: OutboxRequest) -> OutboxListing:
    """Newest first; what is held or was returned is for the eyes of the proven sender alone.

    Ends early, before `limit`, where the names of recipients would become too many to list.
    """
    mailbox = open_outbox(view, caller, request.agent_name, request.project_key)
    heads = view.messages.list_sent(
        mailbox.agent.id, since=request.since, limit=request.limit, with_held=mailbox.verified
    )
    addressees = view.messages.addressees([head.id for head in heads])
    heads = [head for head in heads if head.id in addressees]
    mail = MailListing(
        project=mailbox.project,
        heads=heads,
        standings=_standings(view, caller, mailbox.project, heads),
        bodies=load_bodies(view, heads) if request.include_bodies else None,
        addressees=addressees,
    )
    return OutboxListing(mailbox=mailbox, mail=mail)


def read_topic(view: View, caller: Caller, request: TopicRequest) -> MailListing:
    """What every agent of the project may read on the topic, newest first; bodies only when asked for."""
    project = require_project(view, request.project_key)
    require_to_read(caller, project, READING_MAIL)
    heads = view.messages.list_topic(project.id, request.topic, since=request.since, limit=request.limit)
    bodies = load_bodies(view, heads) if request.include_bodies else None
    standings = _standings(view, caller, project, heads, request.said_agent)
    return MailListing(project=project, heads=heads, standings=standings, bodies=bodies)


def _standings(
    view: View, caller: Caller, project: Project, heads: Iterable[MessageHead], said: str | None = None
) -> Standings:
    reader = find_reading_agent(view, caller, project, said)
    return load_standings(view, caller, project, (head.id for head in heads), reader)


def read_thread(view: View, caller: Caller, request: ThreadRequest) -> ThreadPage:
    """The thread in the order in which the project's agents could first read it, which for mail that was held is its
    approval: so whoever follows by `after_id` misses nothing. A thread started by a reply has the message that was
    answered too.
    """
    require_reader(caller, READING_MAIL)
    project = _project_of_thread(view, caller, request)
    require_to_read(caller, project, READING_MAIL)
    total = view.thread_messages.count(project.id, request.thread_id)
    if total == 0:
        raise _unknown_thread(request.thread_id)
    after = _place(view, project, request.after_id)
    heads = view.thread_messages.list_(project.id, request.thread_id, after=after, limit=request.limit + 1)
    page = heads[: request.limit]
    bodies = load_bodies(view, page) if request.include_bodies else None
    return ThreadPage(
        thread_id=request.thread_id,
        mail=MailListing(
            project=project,
            heads=page,
            standings=_standings(view, caller, project, page, request.said_agent),
            bodies=bodies,
        ),
        total=total,
        next_after_id=page[-1].id if len(heads) > len(page) else None,
    )


def _place(view: View, project: Project, after_id: int) -> DeliveryPosition:
    if after_id == 0:
        return BEGINNING
    place = view.messages.place(project.id, MessageId(after_id))
    if place is None:
        raise UnknownCursor(
            f"after_id {after_id} is no message of this project's mail.",
            hint="Send the id of the last message you got of this thread, or 0 for all of it from the beginning.",
            data={"parameter": "after_id", "after_id": after_id},
        )
    return place


def _project_of_thread(view: View, caller: Caller, request: ThreadRequest) -> Project:
    """The project named, else the caller's own, else the only one that has mail in the thread, or where the newest is
    what is asked for, the one with the newest.
    """
    if request.project_key is not None:
        return require_project(view, request.project_key)
    if caller.kind is CallerKind.AGENT and caller.project_id is not None:
        ids = [caller.project_id]
    else:
        ids = view.messages.projects_of_thread(request.thread_id)
        root = root_of_thread(request.thread_id)
        head = None if root is None else view.messages.find_head(root)
        if head is not None and head.project_id not in ids:
            ids.append(head.project_id)
    projects = [project for project_id in ids if (project := view.projects.find(project_id)) is not None]
    if not projects:
        raise _unknown_thread(request.thread_id)
    if request.takes_latest:
        return max(projects, key=lambda one: view.messages.newest_of_thread(one.id, request.thread_id))
    if len(projects) > 1:
        raise AmbiguousThread(
            f"Thread {request.thread_id} has mail in {len(projects)} projects.",
            hint=f"Add ?project= with one of: {', '.join(p.slug for p in projects[:10])}.",
            data={"projects": [{"slug": p.slug, "human_key": p.human_key} for p in projects]},
        )
    return projects[0]


def _unknown_thread(thread_id: str) -> UnknownThread:
    return UnknownThread(
        f"No mail in thread {thread_id} is to be seen here.",
        hint="Thread ids stand in fetch_inbox and search_messages; letter case counts.",
        data={"thread_id": thread_id},
    )


def read_message(view: View, caller: Caller, request: MessageRequest) -> SeenMessage:
    """The message as seen from the project named, else from the caller's own, else from the sender's; by the agent that
    its connection says it is, where it may act as that one. Raises UnknownMessage for one that the caller may not see.
    """
    require_reader(caller, READING_MAIL)
    message = view.messages.find(request.message_id)
    if message is None:
        raise unknown_message(request.message_id)
    if request.project_key is not None:
        project: Project | None = require_project(view, request.project_key)
    else:
        is_agent = caller.kind is CallerKind.AGENT and caller.project_id is not None
        project = view.projects.find(caller.project_id if is_agent and caller.project_id else message.project_id)
    assert project is not None
    reader = find_reading_agent(view, caller, project, request.said_agent)
    if not is_visible_from(view, caller, message, project) and not (reader and is_visible_to(view, message, reader)):
        raise unseen_message(view, message.id, reader)
    return SeenMessage(
        message=message,
        recipients=view.messages.recipients(message.id),
        project=project,
        standing=load_standings(view, caller, project, [message.id], reader).get(message.id, GOOD),
    )


def load_bodies(view: View, heads: Iterable[MessageHead]) -> Bodies:
    """The bodies that one answer carries, in order and together at most 2 MiB as JSON writes them; SQLite never reads
    the others.
    """
    found = bodies_that_fit(heads)
    bodies = view.messages.bodies(found)
    return bodies_that_fit_escaped({message_id: bodies[message_id] for message_id in found if message_id in bodies})


def commits_of(view: View, project: Project, entries: Sequence[InboxEntry]) -> dict[MessageId, MailCommit]:
    return view.messages.commits(project.id, (entry.head.id for entry in entries))
