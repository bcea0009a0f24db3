"""Reads for those who have no resources: one message, a thread from its beginning, and which threads there are.

What the caller may see is decided as for the resources, and none of it changes what is unread.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.readership import READING_MAIL, require_reader, require_to_read
from mcp_agent_mail.domain.messages import Addressee, MessageHead
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.actor import Actor, require_actor_in
from mcp_agent_mail.features.messaging.ends import find_reading_agent, load_standings
from mcp_agent_mail.features.messaging.read import MailListing, load_bodies, read_thread
from mcp_agent_mail.features.messaging.requests import MailRequest, ThreadListRequest, ThreadRequest
from mcp_agent_mail.features.messaging.visibility import is_visible_from, is_visible_to, unseen_message
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.mail.messages import MAX_ADDRESSEES
from mcp_agent_mail.store.mail.threads import ListedThread, ThreadFilter
from mcp_agent_mail.store.transaction import View


@dataclass(frozen=True, slots=True, kw_only=True)
class MailPage:
    """`reader` is the agent that the caller reads as, if it names one. `next_after_id` is None on the last page."""

    mail: MailListing
    total: int
    next_after_id: int | None
    reader: Actor | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadListing:
    """`unread` is by thread, for the agent that was named, else for the one that calls; None where it is not known.
    `topic` is the one that was asked for, where nothing else was.
    """

    project: Project
    threads: list[ListedThread]
    total: int
    unread: Mapping[str, int] | None
    reader: Actor | None
    topic: str | None


def read_mail(view: View, caller: Caller, request: MailRequest) -> MailPage:
    """The message, or the thread in the order of delivery, oldest first. Raises NotFound for what the caller may not
    see.

    Ends early, before `limit`, where the names of recipients would become too many to list.
    """
    require_reader(caller, READING_MAIL)
    project = require_project(view, request.project_key)
    reader = _reader(view, caller, project, request.agent_name)
    agent = find_reading_agent(view, caller, project, None) if reader is None else reader.agent
    if request.message_id is not None:
        heads = [_one(view, caller, project, reader, request.message_id)]
        total, next_after_id = 1, None
    else:
        assert request.thread_id is not None
        page = read_thread(
            view,
            caller,
            ThreadRequest(
                project_key=project.human_key,
                thread_id=request.thread_id,
                limit=request.limit,
                after_id=request.after_id,
            ),
        )
        heads, total, next_after_id = page.mail.heads, page.total, page.next_after_id
    addressees = _addressees(view, heads)
    if len(addressees) < len(heads):
        heads = heads[: len(addressees)]
        next_after_id = heads[-1].id
    bodies = load_bodies(view, heads) if request.include_bodies else None
    standings = load_standings(view, caller, project, (head.id for head in heads), agent)
    mail = MailListing(project=project, heads=heads, bodies=bodies, addressees=addressees, standings=standings)
    return MailPage(mail=mail, total=total, next_after_id=next_after_id, reader=reader)


def _reader(view: View, caller: Caller, project: Project, agent_name: str | None) -> Actor | None:
    """Naming an agent is acting as it: so it sees its blind copies, and nobody else does."""
    return None if agent_name is None else require_actor_in(view, caller, project, agent_name)


def _one(view: View, caller: Caller, project: Project, reader: Actor | None, message_id: MessageId) -> MessageHead:
    message = view.messages.find(message_id)
    is_seen = message is not None and (
        is_visible_from(view, caller, message, project)
        or (reader is not None and is_visible_to(view, message, reader.agent))
    )
    head = view.messages.find_head(message_id) if is_seen else None
    if head is None:
        raise unseen_message(view, message_id, None if reader is None else reader.agent)
    return head


def _addressees(view: View, heads: list[MessageHead]) -> dict[MessageId, list[Addressee]]:
    """Of the first messages, as many as fit; of one at least, since no message has more."""
    found: dict[MessageId, list[Addressee]] = {}
    room = MAX_ADDRESSEES
    for head in heads:
        named = view.messages.addressees([head.id]).get(head.id, [])
        if len(named) > room:
            break
        room -= len(named)
        found[head.id] = named
    return found


def list_threads(view: View, caller: Caller, request: ThreadListRequest) -> ThreadListing:
    """By their newest mail, newest first. In which threads an agent takes part is its own to know: blind copies are
    among them.
    """
    project = require_project(view, request.project_key)
    reader = _reader(view, caller, project, request.agent_name)
    require_to_read(caller, project, READING_MAIL)
    keep = ThreadFilter(agent_id=None if reader is None else reader.agent.id, topic=request.topic, since=request.since)
    threads, total = view.threads.list_(project.id, keep, limit=request.limit)
    agent = find_reading_agent(view, caller, project, request.said_agent) if reader is None else reader.agent
    unread = None if agent is None else view.threads.unread(agent.id)
    topic = request.topic if keep == ThreadFilter(topic=request.topic) else None
    return ThreadListing(project=project, threads=threads, total=total, unread=unread, reader=reader, topic=topic)
