"""The messaging tools. Their docstrings are what agents read to choose one: every word costs them tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.params import (
    AGENT_ADDRESS,
    CALLER_NAME,
    IDEMPOTENCY_KEY,
    LIMIT,
    PROJECT_KEY,
    Flag,
    Id,
    Text,
    Texts,
    Time,
)
from mcp_agent_mail.core.tools import Json, ToolSpec, current_credentials, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.messages import Importance, ReceiptStep
from mcp_agent_mail.features.messaging import schemas, shapes
from mcp_agent_mail.features.messaging.parameters import (
    ATTACHMENTS,
    BODY,
    IMPORTANCE,
    INBOX_LIMIT,
    MESSAGE_IDS,
    SUBJECT,
    THREAD,
    TOPIC,
    require_one,
)
from mcp_agent_mail.features.messaging.requests import (
    InboxRequest,
    MailRequest,
    ReceiptRequest,
    RecipientList,
    ReplyRequest,
    SendRequest,
    ThreadListRequest,
    TopicRequest,
)
from mcp_agent_mail.features.messaging.service import MessagingService


def _named(to: list[str] | None, cc: list[str] | None, bcc: list[str] | None) -> RecipientList:
    return RecipientList(to=tuple(to or ()), cc=tuple(cc or ()), bcc=tuple(bcc or ()))


def messaging_tools(service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To write, to say what was read, and to read: in the order in which clients list them."""
    return [
        *_writing_tools(service, current_caller),
        *_marking_tools(service, current_caller),
        *_reading_tools(service, current_caller),
        *_thread_tools(service, current_caller),
    ]


def _writing_tools(service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def send_message(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        sender_name: Annotated[str, CALLER_NAME],
        to: Annotated[list[str] | None, Texts()] = None,
        subject: Annotated[str | None, SUBJECT],
        body_md: Annotated[str, BODY],
        cc: Annotated[list[str] | None, Texts()] = None,
        bcc: Annotated[list[str] | None, Texts()] = None,
        attachment_paths: Annotated[list[str] | None, ATTACHMENTS] = None,
        convert_images: Annotated[bool | None, Flag()] = None,
        importance: Annotated[str, IMPORTANCE] = "normal",
        ack_required: Annotated[bool, Flag()] = False,
        thread_id: Annotated[str | None, THREAD] = None,
        broadcast: Annotated[bool, Flag()] = False,
        topic: Annotated[str | None, TOPIC] = None,
        auto_contact_if_blocked: Annotated[bool | None, Flag()] = None,
        idempotency_key: Annotated[str | None, IDEMPOTENCY_KEY] = None,
        reply_to: Annotated[int | None, Id()] = None,
        valid_until: Annotated[Micros | None, Time()] = None,
        supersedes: Annotated[int | None, Id()] = None,
    ) -> Json:
        """Send Markdown mail to agents by name: Name, or Name@project elsewhere. Set thread_id to keep a task
        together, broadcast=true (no to) for everyone active. Repeat safely with an idempotency_key. Mail to whom
        you need consent from is held until approved (see held), with auto_contact_if_blocked=false refused.
        attachment_paths: files of the project, data: URIs or sha256: of an attachment; images of the body that are
        files or data: URIs come along too (images_left: which do not). To answer a message use reply_message.
        supersedes: your earlier message; those who get this one lose its unread copy, others keep it. Unread, it
        expires at valid_until (without an offset UTC).
        """
        request = SendRequest(
            project_key=project_key,
            sender_name=sender_name,
            recipients=_named(to, cc, bcc),
            subject=subject,
            body_md=body_md,
            importance=Importance(importance),
            ack_required=ack_required,
            thread_id=thread_id,
            topic=topic,
            broadcast=broadcast,
            reply_to=None if reply_to is None else MessageId(reply_to),
            auto_contact_if_blocked=auto_contact_if_blocked,
            idempotency_key=idempotency_key,
            attachment_paths=tuple(attachment_paths or ()),
            convert_images=convert_images,
            valid_until=valid_until,
            supersedes=None if supersedes is None else MessageId(supersedes),
        )
        return shapes.show_send_outcome(await service.send(await current_caller(), request))

    async def reply_message(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        message_id: Annotated[int, Id()],
        sender_name: Annotated[str, CALLER_NAME],
        body_md: Annotated[str, BODY],
        to: Annotated[list[str] | None, Texts()] = None,
        cc: Annotated[list[str] | None, Texts()] = None,
        bcc: Annotated[list[str] | None, Texts()] = None,
        subject_prefix: Annotated[str, Text(max_length=128)] = "Re:",
        attachment_paths: Annotated[list[str] | None, ATTACHMENTS] = None,
        importance: Annotated[str | None, IMPORTANCE] = None,
        ack_required: Annotated[bool | None, Flag()] = None,
        acknowledge: Annotated[bool, Flag()] = False,
        idempotency_key: Annotated[str | None, IDEMPOTENCY_KEY] = None,
    ) -> Json:
        """Answer a message in its thread, to its sender alone unless to is given; importance is the original's. It
        marks the original read, with acknowledge=true acknowledged.
        """
        request = ReplyRequest(
            project_key=project_key,
            sender_name=sender_name,
            message_id=MessageId(message_id),
            recipients=_named(to, cc, bcc),
            body_md=body_md,
            subject_prefix=subject_prefix,
            importance=None if importance is None else Importance(importance),
            ack_required=ack_required,
            idempotency_key=idempotency_key,
            acknowledge=acknowledge,
            attachment_paths=tuple(attachment_paths or ()),
        )
        return schemas.show_reply_outcome(await service.reply(await current_caller(), request))

    return [
        tool(send_message, cluster="messaging", title="Send a message", token_argument="sender_token"),
        tool(reply_message, cluster="messaging", title="Reply to a message", token_argument="sender_token"),
    ]


def _marking_tools(service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def mark_message_read(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        message_id: Annotated[int | None, Id()] = None,
        message_ids: Annotated[list[int] | None, MESSAGE_IDS] = None,
    ) -> Json:
        """Mark mail of your inbox as read, one or many; the first time stands. Use acknowledge_message when
        ack_required.
        """
        require_one("mark_message_read", message_id=message_id, message_ids=message_ids)
        caller = await current_caller()
        request = _receipts(project_key, agent_name, message_ids or [message_id], ReceiptStep.READ)
        marked = await service.mark(caller, request)
        return schemas.show_receipts(marked, request.step, caller, as_list=message_ids is not None)

    async def acknowledge_message(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        message_id: Annotated[int | None, Id()] = None,
        message_ids: Annotated[list[int] | None, MESSAGE_IDS] = None,
    ) -> Json:
        """Tell the sender that you have seen and accept a message (or many); marks it read too. The first time
        stands.
        """
        require_one("acknowledge_message", message_id=message_id, message_ids=message_ids)
        caller = await current_caller()
        request = _receipts(project_key, agent_name, message_ids or [message_id], ReceiptStep.ACKNOWLEDGED)
        marked = await service.mark(caller, request)
        return schemas.show_receipts(marked, request.step, caller, as_list=message_ids is not None)

    return [
        tool(mark_message_read, cluster="messaging", title="Mark a message read", idempotent=True),
        tool(acknowledge_message, cluster="messaging", title="Acknowledge a message", idempotent=True),
    ]


def _receipts(project_key: str, agent_name: str, ids: Sequence[int | None], step: ReceiptStep) -> ReceiptRequest:
    message_ids = tuple(MessageId(one) for one in ids if one is not None)
    return ReceiptRequest(project_key=project_key, agent_name=agent_name, message_ids=message_ids, step=step)


def _reading_tools(service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def fetch_inbox(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        limit: Annotated[int, INBOX_LIMIT] = 20,
        urgent_only: Annotated[bool, Flag()] = False,
        include_bodies: Annotated[bool, Flag()] = False,
        since_ts: Annotated[Micros | None, Time()] = None,
        topic: Annotated[str | None, TOPIC] = None,
        unread_only: Annotated[bool, Flag()] = False,
        after_id: Annotated[int | None, Id(low=0)] = None,
        thread_id: Annotated[str | None, THREAD] = None,
        mark_read: Annotated[bool, Flag(writes=True)] = False,
    ) -> Json:
        """Your mail, newest first; marks nothing unless mark_read. limit=0: counts alone. after_id (a message id of
        this inbox, 0 = from the start) pages oldest first without losing any. urgent_only: high or urgent.
        Attachments: resource://attachment/<sha256>, or GET /attachments/<project slug>/<sha256>.
        """
        request = InboxRequest(
            project_key=project_key,
            agent_name=agent_name,
            limit=limit,
            urgent_only=urgent_only,
            unread_only=unread_only,
            include_bodies=include_bodies,
            since=since_ts,
            topic=topic,
            thread_id=thread_id,
            after_id=after_id,
            mark_read=mark_read,
        )
        listing = await service.inbox(await current_caller(), request)
        if limit == 0 and listing.counts is not None:
            return shapes.show_counts(listing.counts)
        return shapes.show_inbox_page(listing)

    async def fetch_topic(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        topic_name: Annotated[str, TOPIC],
        limit: Annotated[int, LIMIT] = 50,
        include_bodies: Annotated[bool, Flag()] = True,
        since_ts: Annotated[Micros | None, Time()] = None,
    ) -> Json:
        """The project's mail on a topic, whoever it was sent to, newest first."""
        request = TopicRequest(
            project_key=project_key,
            topic=topic_name,
            limit=limit,
            include_bodies=include_bodies,
            since=since_ts,
            said_agent=current_credentials().said_agent,
        )
        return schemas.show_mail(await service.topic(await current_caller(), request))

    return [
        tool(
            fetch_inbox,
            cluster="messaging",
            title="Fetch the inbox",
            read_only=True,
            idempotent=True,
            result_list=True,
        ),
        tool(
            fetch_topic,
            cluster="messaging",
            title="Fetch a topic",
            read_only=True,
            idempotent=True,
            result_list=True,
        ),
    ]


def _thread_tools(service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def read_mail(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str | None, CALLER_NAME] = None,
        message_id: Annotated[int | None, Id()] = None,
        thread_id: Annotated[str | None, THREAD] = None,
        limit: Annotated[int, LIMIT] = 20,
        include_bodies: Annotated[bool, Flag()] = True,
        after_id: Annotated[int | None, Id(low=0)] = None,
    ) -> Json:
        """One message, or a thread oldest first (next_after_id continues it), whoever got it; marks nothing.
        Attachments: resource://attachment/<sha256>, or GET /attachments/<project slug>/<sha256>.
        """
        require_one("read_mail", message_id=message_id, thread_id=thread_id)
        request = MailRequest(
            project_key=project_key,
            agent_name=agent_name,
            message_id=None if message_id is None else MessageId(message_id),
            thread_id=thread_id,
            limit=limit,
            include_bodies=include_bodies,
            after_id=after_id or 0,
        )
        return schemas.show_mail_page(await service.mail(await current_caller(), request))

    async def list_threads(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str | None, AGENT_ADDRESS] = None,
        limit: Annotated[int, LIMIT] = 20,
        topic: Annotated[str | None, TOPIC] = None,
        since_ts: Annotated[Micros | None, Time()] = None,
    ) -> Json:
        """The project's threads, newest activity first; with agent_name your own, and what is unread in each."""
        request = ThreadListRequest(
            project_key=project_key,
            agent_name=agent_name,
            limit=limit,
            topic=topic,
            since=since_ts,
            said_agent=current_credentials().said_agent,
        )
        return schemas.show_threads(await service.threads(await current_caller(), request))

    return [
        tool(read_mail, cluster="messaging", title="Read mail", read_only=True, idempotent=True),
        tool(list_threads, cluster="messaging", title="List threads", read_only=True, idempotent=True),
    ]
