"""Messaging: the use cases. A transaction begins and ends here; nothing else stores or reads mail for callers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import TypeVar

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.messages import (
    NO_INLINE,
    Bodies,
    InlineContents,
    Message,
    MessageHead,
    require_body_fits,
)
from mcp_agent_mail.features.attachments.requests import AttachmentRequest
from mcp_agent_mail.features.attachments.results import ImageLeft, PreparedAttachments
from mcp_agent_mail.features.contacts.consent import DEFAULT_DELIVERY, DeliveryPolicy
from mcp_agent_mail.features.identity.actor import Actor, require_able, require_actor
from mcp_agent_mail.features.identity.delivery_hooks import NO_HOOKS, DeliveryHooks
from mcp_agent_mail.features.identity.idempotency import Replay, find_answer, once
from mcp_agent_mail.features.messaging import read, receipts
from mcp_agent_mail.features.messaging.attachments import (
    MailStore,
    SeenAttachment,
    brings_attachments,
    carry,
    contents_by_digest,
    find_readable,
    require_named,
    unknown_attachment,
)
from mcp_agent_mail.features.messaging.contents import NO_ATTACHMENTS, MailAttachments, OpenContent
from mcp_agent_mail.features.messaging.read_mail import (
    MailPage,
    ThreadListing,
    list_threads,
    read_mail,
)
from mcp_agent_mail.features.messaging.requests import (
    InboxRequest,
    MailRequest,
    MessageRequest,
    OutboxRequest,
    ReceiptRequest,
    ReplyRequest,
    SendRequest,
    ThreadListRequest,
    ThreadRequest,
    TopicRequest,
)
from mcp_agent_mail.features.messaging.schemas import show_reply
from mcp_agent_mail.features.messaging.send import Draft, Sent, compose_new, compose_reply, draft_new, post
from mcp_agent_mail.features.messaging.shapes import show_sent
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.inboxes import InboxPage, MailFilter
from mcp_agent_mail.store.mail.messages import MailCommit
from mcp_agent_mail.store.transaction import Tx, View

T = TypeVar("T", MailPage, ThreadListing)


class NoAttachments(Unavailable):
    """Files were to be sent by a service that was made without the parts that keep them."""


class MessagingService:
    """`note_activity` is told of every agent that acts; `clock` measures ages in reads. `hooks` are those of delivery.

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
        attachments: MailAttachments = NO_ATTACHMENTS,
        hooks: DeliveryHooks = NO_HOOKS,
    ) -> None:
        self._store = store
        self._body_max_bytes = body_max_bytes
        self._note_activity = note_activity
        self._throttle = throttle
        self._clock = clock
        self._delivery = delivery
        self._prepare = attachments.prepare
        self._contents = attachments.contents
        self._note_handed = hooks.handed
        self._presence_of = hooks.presence_of
        self._with_activity = hooks.with_activity

    async def send(self, caller: Caller, request: SendRequest) -> Sent | Replay:
        """Store and deliver one message. All or nothing, except that a broadcast skips whom it cannot reach.

        A repeat with the same idempotency key and arguments gives the first answer again, and needs nothing of what the
        first one brought.
        """
        await self.before_sending(request.body_md)
        async with self._made_ready(caller, request) as brought:
            outcome = (
                brought
                if isinstance(brought, Replay)
                else await self._store.write(lambda tx: self.send_within(tx, caller, request, brought))
            )
        self._note_activity(outcome.actor.agent)
        return outcome

    async def draft(self, caller: Caller, request: SendRequest) -> Draft:
        """What `send` would store now: whom a broadcast would reach."""
        return await self._store.read(lambda view: draft_new(view, self._delivery, caller, request))

    @asynccontextmanager
    async def _made_ready(
        self, caller: Caller, request: SendRequest | ReplyRequest
    ) -> AsyncIterator[PreparedAttachments | Replay | None]:
        """What the message carries, on disk before it is stored; the first answer where the call is a repeat. None for
        a message that carries nothing.
        """
        prepare = self._prepare
        if not brings_attachments(request):
            yield None
            return
        if prepare is None:
            if request.attachment_paths:
                raise NoAttachments("This server keeps no attachments.", hint="Say in which file it stands.")
            yield None
            return

        def look(view: View) -> tuple[Actor, Replay | None]:
            sender = require_actor(view, caller, request.project_key, request.sender_name)
            answer = find_answer(view, sender, request, made="message")
            if answer is not None:
                return sender, Replay(actor=sender, answer=answer)
            require_able(sender, "it sends no mail")
            # Whoever is refused for this is so before anything is read, converted or kept.
            if isinstance(request, SendRequest):
                compose_new(view, self._delivery, sender, request)
            else:
                compose_reply(view, self._delivery, sender, request)
            require_named(view, sender, request.attachment_paths)
            return sender, None

        sender, replay = await self._store.read(look)
        if replay is not None:
            yield replay
            return
        self._store.growth.require()  # Before anything of it lies on disk.
        wanted = AttachmentRequest(
            caller=caller,
            sender_id=sender.agent.id,
            project=sender.project,
            project_key=request.project_key,
            policy=request.image_policy or sender.agent.attachments_policy,
            paths=request.attachment_paths,
            body_md=request.body_md,
            convert=request.convert_images,
            inline_max_bytes=request.inline_max_bytes,
            answers=request.message_id if isinstance(request, ReplyRequest) else None,
        )
        async with prepare(wanted, MailStore(self._store)) as prepared:
            if self._contents is not None and any(isinstance(item, str) for item in prepared.items):
                again = await self._store.read(lambda view: contents_by_digest(view, sender, prepared))
                await self._contents.require_there(again)
            yield prepared

    def _post(self, tx: Tx, draft: Draft, brought: PreparedAttachments | None) -> Sent:
        images_left: tuple[ImageLeft, ...] = ()
        if brought is not None:
            draft, unreadable = carry(tx, draft, brought, self._delivery.attachments_limit_bytes)
            images_left = (*brought.images_left, *unreadable)
        return post(tx, draft, self._presence_of, images_left)

    async def before_sending(self, body_md: str, *, called: str = "body_md") -> None:
        """Check the body's size and wait for backpressure, before a unit of work with `send_within` in it. Raises
        BodyTooLong.
        """
        require_body_fits(body_md, self._body_max_bytes, called=called)
        await self._throttle()

    def send_within(
        self, tx: Tx, caller: Caller, request: SendRequest, brought: PreparedAttachments | None = None
    ) -> Sent | Replay:
        """`send`, as a part of a larger unit of work. Of attachments it sends what was `brought` alone."""
        sender = require_actor(tx, caller, request.project_key, request.sender_name)
        return self.send_as(tx, sender, request, brought)

    def send_as(
        self, tx: Tx, sender: Actor, request: SendRequest, brought: PreparedAttachments | None, to: Agent | None = None
    ) -> Sent | Replay:
        """`send_within`, where it is known who sends, and that `to`, of the same project, is the one recipient."""

        def send() -> Sent:
            require_able(sender, "it sends no mail")
            sent = self._post(tx, compose_new(tx, self._delivery, sender, request, to), brought)
            if request.reply_to is not None and sent.message is not None:
                receipts.mark_answered(tx, sender, request.reply_to)
            return sent

        return once(tx, sender, request, send, show_sent, made="message")

    async def reply(self, caller: Caller, request: ReplyRequest) -> Sent | Replay:
        """Answer a message that the sender may see, which is read by that and, if asked, acknowledged; safe to repeat
        as `send` is.
        """
        await self.before_sending(request.body_md)
        async with self._made_ready(caller, request) as brought:
            outcome = (
                brought
                if isinstance(brought, Replay)
                else await self._store.write(lambda tx: self._reply_within(tx, caller, request, brought))
            )
        self._note_activity(outcome.actor.agent)
        return outcome

    def _reply_within(
        self, tx: Tx, caller: Caller, request: ReplyRequest, brought: PreparedAttachments | None
    ) -> Sent | Replay:
        sender = require_actor(tx, caller, request.project_key, request.sender_name)

        def send() -> Sent:
            require_able(sender, "it sends no mail")
            sent = self._post(tx, compose_reply(tx, self._delivery, sender, request), brought)
            return _settle_original(tx, sender, request, sent)

        return once(tx, sender, request, send, show_reply, made="message")

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
            listing = await self._store.write(lambda tx: receipts.mark_listed(tx, caller, request))
        else:
            listing = await self._store.read(lambda view: read.read_inbox(view, caller, request, self._with_activity))
        listing = self._opened(caller, listing)
        inline = await self.load_inline((entry.head for entry in listing.entries), listing.bodies)
        return replace(listing, inline=inline) if inline else listing

    async def mailbox(
        self, caller: Caller, agent_name: str, project_key: str | None, limit: int
    ) -> tuple[read.InboxListing, dict[MessageId, MailCommit]]:
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
        self._note_handed(caller, listing.mailbox.agent, [entry.head.id for entry in listing.entries])
        return listing

    async def _note_copies(
        self, caller: Caller, reader: AgentId | None, heads: Iterable[MessageHead | Message]
    ) -> None:
        """`reader` is the agent that the caller reads as, or is proven to be; None: nobody's copies are in it."""
        if reader is None:
            return
        found = [head.id for head in heads]
        agent, own = await self._store.read(
            lambda view: (view.agents.find(reader), view.ladder.delivered_to(reader, found))
        )
        if agent is not None:
            self._note_handed(caller, agent, own)

    async def outbox(self, caller: Caller, request: OutboxRequest) -> read.OutboxListing:
        """What the agent sent, newest first."""
        listing = await self._store.read(lambda view: read.read_outbox(view, caller, request))
        return replace(listing, mail=await self._with_inline(listing.mail))

    async def topic(self, caller: Caller, request: TopicRequest) -> read.MailListing:
        """The project's mail on a topic, newest first, whoever the recipients."""
        return await self._with_inline(await self._store.read(lambda view: read.read_topic(view, caller, request)))

    async def thread(self, caller: Caller, request: ThreadRequest) -> read.ThreadPage:
        """The project's mail in a thread, oldest first."""
        page = await self._store.read(lambda view: read.read_thread(view, caller, request))
        await self._note_copies(caller, caller.agent_id, page.mail.heads)
        return replace(page, mail=await self._with_inline(page.mail))

    async def mail(self, caller: Caller, request: MailRequest) -> MailPage:
        """One message or a page of a thread, with to and cc of each; what the caller may not see does not exist."""
        page = self._looked(caller, await self._store.read(lambda view: read_mail(view, caller, request)))
        reader = caller.agent_id if page.reader is None else page.reader.agent.id
        await self._note_copies(caller, reader, page.mail.heads)
        return replace(page, mail=await self._with_inline(page.mail))

    async def threads(self, caller: Caller, request: ThreadListRequest) -> ThreadListing:
        """The project's threads, or those that one agent takes part in, by their newest mail."""
        return self._looked(caller, await self._store.read(lambda view: list_threads(view, caller, request)))

    def _looked(self, caller: Caller, looked: T) -> T:
        """Who reads in its own name is active, as one that opens its inbox."""
        if looked.reader is not None and not caller.is_operator:
            self._note_activity(looked.reader.agent)
        return looked

    async def message(self, caller: Caller, request: MessageRequest) -> read.SeenMessage:
        """One message with its body; it does not exist for those who may not see it."""
        seen = await self._store.read(lambda view: read.read_message(view, caller, request))
        await self._note_copies(caller, caller.agent_id, [seen.message])
        inline = await self.load_inline([seen.message], {seen.message.id: seen.message.body_md})
        return replace(seen, inline=inline)

    async def load_inline(self, shown: Iterable[MessageHead | Message], bodies: Bodies | None) -> InlineContents:
        """The inline contents that are shown beside these bodies, as far as there is room; none without bodies."""
        return NO_INLINE if self._contents is None else await self._contents.load_inline(shown, bodies)

    async def _with_inline(self, mail: read.MailListing) -> read.MailListing:
        inline = await self.load_inline(mail.heads, mail.bodies)
        return replace(mail, inline=inline) if inline else mail

    async def attachment(self, caller: Caller, sha256: str, project_key: str | None) -> SeenAttachment:
        """A content that some message carries which the caller sees. Raises UnknownAttachment."""
        return await self._store.read(lambda view: find_readable(view, caller, sha256, project_key))

    def opened(self, seen: SeenAttachment) -> AbstractAsyncContextManager[OpenContent]:
        """The content of what `attachment` found, to be read piece by piece. Raises TooManyOpenContents, and
        AttachmentLost for one that is gone.
        """
        if self._contents is None:
            raise unknown_attachment(seen.content.sha256)
        return self._contents.opened(seen)

    async def attachment_content(
        self, caller: Caller, sha256: str, project_key: str | None
    ) -> tuple[SeenAttachment, bytes]:
        """`attachment`, with the whole content. Raises ContentTooLarge, and AttachmentLost for one that is gone."""
        seen = await self.attachment(caller, sha256, project_key)
        if self._contents is None:
            raise unknown_attachment(sha256)
        return seen, await self._contents.whole(seen)


def _settle_original(tx: Tx, sender: Actor, request: ReplyRequest, sent: Sent) -> Sent:
    """Whoever answers has read what it answers."""
    is_own = receipts.mark_answered(tx, sender, request.message_id, acknowledges=request.acknowledge)
    return replace(sent, acknowledged=is_own) if request.acknowledge else sent
