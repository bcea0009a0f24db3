"""The messaging tools. Their docstrings are what agents read to choose one: every word costs them tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.params import (
    CALLER_NAME,
    IDEMPOTENCY_KEY,
    LIMIT,
    PROJECT_KEY,
    Flag,
    Id,
    Matching,
    Text,
    Texts,
    Time,
)
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.messages import Importance, ReceiptStep, parse_subject
from mcp_agent_mail.features.messaging import schemas, shapes
from mcp_agent_mail.features.messaging.parameters import BODY, IMPORTANCE, THREAD, TOPIC
from mcp_agent_mail.features.messaging.requests import (
    InboxRequest,
    ReceiptRequest,
    RecipientList,
    ReplyRequest,
    SendRequest,
    TopicRequest,
)
from mcp_agent_mail.features.messaging.service import MessagingService


def _named(to: list[str] | None, cc: list[str] | None, bcc: list[str] | None) -> RecipientList:
    return RecipientList(to=tuple(to or ()), cc=tuple(cc or ()), bcc=tuple(bcc or ()))


def messaging_tools(service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    return [*_writing_tools(service, current_caller), *_reading_tools(service, current_caller)]


def _writing_tools(service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def send_message(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        sender_name: Annotated[str, CALLER_NAME],
        to: Annotated[list[str] | None, Texts()] = None,
        subject: Annotated[str, Matching(parse_subject)],
        body_md: Annotated[str, BODY],
        cc: Annotated[list[str] | None, Texts()] = None,
        bcc: Annotated[list[str] | None, Texts()] = None,
        importance: Annotated[str, IMPORTANCE] = "normal",
        ack_required: Annotated[bool, Flag()] = False,
        thread_id: Annotated[str | None, THREAD] = None,
        broadcast: Annotated[bool, Flag()] = False,
        topic: Annotated[str | None, TOPIC] = None,
        auto_contact_if_blocked: Annotated[bool | None, Flag()] = None,
        idempotency_key: Annotated[str | None, IDEMPOTENCY_KEY] = None,
        reply_to: Annotated[int | None, Id()] = None,
    ) -> Json:
        """Send Markdown mail to agents by name: Name, or Name@project elsewhere. Set thread_id to keep a task
        together, broadcast=true (no to) for everyone active. Repeat safely with an idempotency_key. Mail to whom
        you need consent from is held until approved (see held), with auto_contact_if_blocked=false refused.
        To answer a message use reply_message.
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
        importance: Annotated[str | None, IMPORTANCE] = None,
        ack_required: Annotated[bool | None, Flag()] = None,
        idempotency_key: Annotated[str | None, IDEMPOTENCY_KEY] = None,
    ) -> Json:
        """Answer a message in its thread; goes to its sender alone unless to is given. Thread, topic, importance
        and ack_required are the original's unless given.
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
        )
        return schemas.show_reply_outcome(await service.reply(await current_caller(), request))

    async def mark_message_read(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        message_id: Annotated[int, Id()],
    ) -> Json:
        """Mark a message of your inbox as read; the first time stands. Use acknowledge_message when ack_required."""
        caller = await current_caller()
        request = ReceiptRequest(
            project_key=project_key,
            agent_name=agent_name,
            message_id=MessageId(message_id),
            step=ReceiptStep.READ,
        )
        return schemas.show_read(await service.mark(caller, request), caller)

    async def acknowledge_message(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        message_id: Annotated[int, Id()],
    ) -> Json:
        """Tell the sender that you have seen and accept a message; marks it read too. The first time stands."""
        caller = await current_caller()
        request = ReceiptRequest(
            project_key=project_key,
            agent_name=agent_name,
            message_id=MessageId(message_id),
            step=ReceiptStep.ACKNOWLEDGED,
        )
        return schemas.show_acknowledged(await service.mark(caller, request), caller)

    return [
        tool(send_message, cluster="messaging", title="Send a message", token_argument="sender_token"),
        tool(reply_message, cluster="messaging", title="Reply to a message", token_argument="sender_token"),
        tool(mark_message_read, cluster="messaging", title="Mark a message read", idempotent=True),
        tool(acknowledge_message, cluster="messaging", title="Acknowledge a message", idempotent=True),
    ]


def _reading_tools(service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def fetch_inbox(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        limit: Annotated[int, LIMIT] = 20,
        urgent_only: Annotated[bool, Flag()] = False,
        include_bodies: Annotated[bool, Flag()] = False,
        since_ts: Annotated[int | None, Time()] = None,
        topic: Annotated[str | None, TOPIC] = None,
        unread_only: Annotated[bool, Flag()] = False,
        after_id: Annotated[int | None, Id(low=0)] = None,
        thread_id: Annotated[str | None, THREAD] = None,
    ) -> Json:
        """Your mail, newest first; reading marks nothing. after_id (a message id of this inbox, 0 = from the start)
        pages oldest first without losing any. urgent_only: high or urgent.
        """
        request = InboxRequest(
            project_key=project_key,
            agent_name=agent_name,
            limit=limit,
            urgent_only=urgent_only,
            unread_only=unread_only,
            include_bodies=include_bodies,
            since=None if since_ts is None else Micros(since_ts),
            topic=topic,
            thread_id=thread_id,
            after_id=after_id,
        )
        return shapes.show_inbox_items(await service.inbox(await current_caller(), request))

    async def fetch_topic(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        topic_name: Annotated[str, TOPIC],
        limit: Annotated[int, LIMIT] = 50,
        include_bodies: Annotated[bool, Flag()] = True,
        since_ts: Annotated[int | None, Time()] = None,
    ) -> Json:
        """The project's mail on a topic, whoever it was sent to, newest first."""
        request = TopicRequest(
            project_key=project_key,
            topic=topic_name,
            limit=limit,
            include_bodies=include_bodies,
            since=None if since_ts is None else Micros(since_ts),
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
