"""Messaging: the use cases. A transaction begins and ends here; nothing else stores or reads mail for callers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.messages import ReceiptStep, require_body_fits
from mcp_agent_mail.features.contacts.consent import DEFAULT_DELIVERY, DeliveryPolicy
from mcp_agent_mail.features.identity.actor import Actor, require_able, require_actor
from mcp_agent_mail.features.identity.idempotency import Replay, once
from mcp_agent_mail.features.messaging import read, receipts
from mcp_agent_mail.features.messaging.read_mail import (
    MailPage,
    ThreadListing,
    list_threads,
    read_mail,
)
from mcp_agent_mail.features.messaging.requests import (
    InboxRequest,
    MailRequest,
    OutboxRequest,
    ReceiptRequest,
    ReplyRequest,
    SendRequest,
    ThreadListRequest,
    ThreadRequest,
    TopicRequest,
)
from mcp_agent_mail.features.messaging.schemas import show_reply
from mcp_agent_mail.features.messaging.send import (
    Sent,
    compose_new,
    compose_reply,
    post,
)
from mcp_agent_mail.features.messaging.shapes import show_sent
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.inboxes import InboxPage, MailFilter
from mcp_agent_mail.store.transaction import Tx

T = TypeVar("T", MailPage, ThreadListing)


class MessagingService:
    """`note_activity` is told of every agent that acts; `clock` measures ages in reads.

    `delivery` decides who may write to whom. `throttle` is awaited before mail is stored: it may hold a sender back for
    a moment, and never refuses.
    """

    def __init__(
        self,
        store: Store,
        *,
        body_max_bytes: int,
        note_activity: Callable[[Agent], None],
        throttle: Callable[[], Awaitable[None]],
        clock: Clock,
        delivery: DeliveryPolicy = DEFAULT_DELIVERY,
    ) -> None:
        self._store = store
        self._body_max_bytes = body_max_bytes
        self._note_activity = note_activity
        self._throttle = throttle
        self._clock = clock
        self._delivery = delivery

    async def send(self, caller: Caller, request: SendRequest) -> Sent | Replay:
        """Store and deliver one message. All or nothing, except that a broadcast skips whom it cannot reach.

        A repeat with the same idempotency key and arguments gives the first answer again.
        """
        await self.before_sending(request.body_md)
        outcome = await self._store.write(lambda tx: self.send_within(tx, caller, request))
        self._note_activity(outcome.actor.agent)
        return outcome

    async def before_sending(self, body_md: str) -> None:
        """Check the body's size and wait for backpressure, before a unit of work with `send_within` in it. Raises
        BodyTooLong.
        """
        require_body_fits(body_md, self._body_max_bytes)
        await self._throttle()

    def send_within(self, tx: Tx, caller: Caller, request: SendRequest) -> Sent | Replay:
        """`send`, as a part of a larger unit of work."""
        sender = require_actor(tx, caller, request.project_key, request.sender_name)

        def send() -> Sent:
            require_able(sender, "it sends no mail")
            return post(tx, compose_new(tx, self._delivery, sender, request))

        return once(tx, sender, request, send, show_sent, made="message")

    async def reply(self, caller: Caller, request: ReplyRequest) -> Sent | Replay:
        """Answer a message that the sender may see, which is read by that and, if asked, acknowledged; safe to repeat
        as `send` is.
        """
        require_body_fits(request.body_md, self._body_max_bytes)

        def unit(tx: Tx) -> Sent | Replay:
            sender = require_actor(tx, caller, request.project_key, request.sender_name)

            def send() -> Sent:
                require_able(sender, "it sends no mail")
                sent = post(tx, compose_reply(tx, self._delivery, sender, request))
                return _settle_original(tx, sender, request, sent)

            return once(tx, sender, request, send, show_reply, made="message")

        await self._throttle()
        outcome = await self._store.write(unit)
        self._note_activity(outcome.actor.agent)
        return outcome

    async def mark(self, caller: Caller, request: ReceiptRequest) -> receipts.MarkedReceipts:
        """Note that the agent read or acknowledged messages: the first time stands for good, and acknowledging implies
        reading.

        Any message may be acknowledged, asked for or not; nothing changes where the agent is no recipient.
        """
        marked = await self._store.write(lambda tx: receipts.mark(tx, caller, request))
        self._note_activity(marked.agent)
        return marked

    async def inbox(self, caller: Caller, request: InboxRequest) -> read.InboxListing:
        """A page of an inbox: newest first, or oldest first after `after_id`. Changes nothing of what is unread, unless
        the request says so.
        """
        if request.mark_read and request.limit:
            return self._opened(caller, await self._store.write(lambda tx: receipts.mark_listed(tx, caller, request)))
        return self._opened(caller, await self._store.read(lambda view: read.read_inbox(view, caller, request)))

    async def mailbox(
        self, caller: Caller, agent_name: str, project_key: str | None, limit: int
    ) -> tuple[read.InboxListing, dict[MessageId, tuple[str, str]]]:
        """The inbox, and the commit that holds each message in the project's archive."""
        request = InboxRequest(project_key=project_key, agent_name=agent_name, limit=limit)
        listing = await self.inbox(caller, request)
        commits = await self._store.read(lambda view: read.commits_of(view, listing.mailbox.project, listing.entries))
        return listing, commits

    async def urgent_unread(
        self, caller: Caller, agent_name: str, project_key: str | None, limit: int
    ) -> read.InboxListing:
        """High and urgent mail not read yet, newest first."""
        page = InboxPage(limit=limit, keep=MailFilter.URGENT_UNREAD)
        return await self._view(caller, agent_name, project_key, page)

    async def unacknowledged(
        self, caller: Caller, agent_name: str, project_key: str | None, limit: int
    ) -> read.InboxListing:
        """Mail that asks for an acknowledgement and has none, newest first."""
        page = InboxPage(limit=limit, keep=MailFilter.UNACKNOWLEDGED)
        return await self._view(caller, agent_name, project_key, page)

    async def _view(
        self, caller: Caller, agent_name: str, project_key: str | None, page: InboxPage
    ) -> read.InboxListing:
        return self._opened(
            caller, await self._store.read(lambda view: read.read_view(view, caller, agent_name, project_key, page))
        )

    async def overdue(
        self, caller: Caller, agent_name: str, project_key: str | None, age_s: int, limit: int
    ) -> tuple[read.InboxListing, Micros]:
        """Mail that has waited `age_s` seconds or longer for this agent's acknowledgement, oldest first; and the time
        that ages are counted from.
        """
        now = self._clock()
        until = Micros(now - age_s * SECOND)
        listing = await self._store.read(
            lambda view: read.read_overdue(view, caller, agent_name, project_key, until, limit)
        )
        return self._opened(caller, listing), now

    def _opened(self, caller: Caller, listing: read.InboxListing) -> read.InboxListing:
        """An agent that looks into its inbox is active; the operator who looks is not the agent."""
        if not caller.is_operator:
            self._note_activity(listing.mailbox.agent)
        return listing

    async def outbox(self, caller: Caller, request: OutboxRequest) -> read.OutboxListing:
        """What the agent sent, newest first."""
        return await self._store.read(lambda view: read.read_outbox(view, caller, request))

    async def topic(self, caller: Caller, request: TopicRequest) -> read.MailListing:
        """The project's mail on a topic, newest first, whoever the recipients."""
        return await self._store.read(lambda view: read.read_topic(view, caller, request))

    async def thread(self, caller: Caller, request: ThreadRequest) -> read.ThreadPage:
        """The project's mail in a thread, oldest first."""
        return await self._store.read(lambda view: read.read_thread(view, caller, request))

    async def mail(self, caller: Caller, request: MailRequest) -> MailPage:
        """One message or a page of a thread, with to and cc of each; what the caller may not see does not exist."""
        return self._looked(caller, await self._store.read(lambda view: read_mail(view, caller, request)))

    async def threads(self, caller: Caller, request: ThreadListRequest) -> ThreadListing:
        """The project's threads, or those that one agent takes part in, by their newest mail."""
        return self._looked(caller, await self._store.read(lambda view: list_threads(view, caller, request)))

    def _looked(self, caller: Caller, looked: T) -> T:
        """Who reads in its own name is active, as one that opens its inbox."""
        if looked.reader is not None and not caller.is_operator:
            self._note_activity(looked.reader.agent)
        return looked

    async def message(self, caller: Caller, message_id: MessageId, project_key: str | None) -> read.SeenMessage:
        """One message with its body; it does not exist for those who may not see it."""
        return await self._store.read(lambda view: read.read_message(view, caller, message_id, project_key))


def _settle_original(tx: Tx, sender: Actor, request: ReplyRequest, sent: Sent) -> Sent:
    """Whoever answers has read what it answers."""
    step = ReceiptStep.ACKNOWLEDGED if request.acknowledge else ReceiptStep.READ
    states = receipts.mark_own(tx, sender, [request.message_id], step)
    return replace(sent, acknowledged=bool(states)) if request.acknowledge else sent
