"""The messaging resources: the same reads as the tools, by URI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.params import AGENT_ADDRESS, LIMIT, PROJECT_KEY, Count, Flag, Id, Time
from mcp_agent_mail.core.resources import BYTES_TYPE, ContentResult, ResourceSpec, resource
from mcp_agent_mail.core.tools import Json, current_credentials
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.messaging import schemas
from mcp_agent_mail.features.messaging.parameters import DIGEST, THREAD
from mcp_agent_mail.features.messaging.requests import InboxRequest, MessageRequest, OutboxRequest, ThreadRequest
from mcp_agent_mail.features.messaging.service import MessagingService

_MAX_AGE_S = 10 * 365 * 24 * 3_600


def messaging_resources(
    service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]
) -> list[ResourceSpec]:
    return [*_mail(service, current_caller), *_boxes(service, current_caller), *_views(service, current_caller)]


def _mail(service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ResourceSpec]:
    async def message(message_id: Annotated[int, Id()], project: Annotated[str | None, PROJECT_KEY] = None) -> Json:
        """One message with its body."""
        request = MessageRequest(
            message_id=MessageId(message_id), project_key=project, said_agent=current_credentials().said_agent
        )
        return schemas.show_seen_message(await service.message(await current_caller(), request))

    async def thread(
        thread_id: Annotated[str, THREAD],
        project: Annotated[str | None, PROJECT_KEY] = None,
        include_bodies: Annotated[bool, Flag()] = False,
        limit: Annotated[int, LIMIT] = 1_000,
        after_id: Annotated[int | None, Id(low=0)] = None,
    ) -> Json:
        """The project's mail in a thread, oldest first; next_after_id continues."""
        request = ThreadRequest(
            project_key=project,
            thread_id=thread_id,
            limit=limit,
            include_bodies=include_bodies,
            after_id=after_id or 0,
            said_agent=current_credentials().said_agent,
        )
        return schemas.show_thread(await service.thread(await current_caller(), request))

    async def attachment(sha256: Annotated[str, DIGEST], project: Annotated[str | None, PROJECT_KEY] = None) -> Json:
        """What a message carries, up to 4 MiB: by the sha256 of an attachment."""
        seen, data = await service.attachment_content(await current_caller(), sha256, project)
        return ContentResult(seen.media_type, data)

    return [
        resource(message, uri="resource://message/{message_id}{?project}", name="message", title="A message"),
        resource(
            thread,
            uri="resource://thread/{thread_id}{?project,include_bodies,limit,after_id}",
            name="thread",
            title="A thread",
        ),
        resource(
            attachment,
            uri="resource://attachment/{sha256}{?project}",
            name="attachment",
            title="An attachment",
            media_type=BYTES_TYPE,
        ),
    ]


def _boxes(service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ResourceSpec]:
    async def inbox(
        agent: Annotated[str, AGENT_ADDRESS],
        project: Annotated[str | None, PROJECT_KEY] = None,
        since_ts: Annotated[Micros | None, Time()] = None,
        urgent_only: Annotated[bool, Flag()] = False,
        include_bodies: Annotated[bool, Flag()] = False,
        limit: Annotated[int, LIMIT] = 20,
    ) -> Json:
        """An agent's inbox, newest first. Reading marks nothing."""
        request = InboxRequest(
            project_key=project,
            agent_name=agent,
            limit=limit,
            urgent_only=urgent_only,
            include_bodies=include_bodies,
            since=since_ts,
        )
        return schemas.show_inbox(await service.inbox(await current_caller(), request))

    async def outbox(
        agent: Annotated[str, AGENT_ADDRESS],
        project: Annotated[str | None, PROJECT_KEY] = None,
        limit: Annotated[int, LIMIT] = 20,
        include_bodies: Annotated[bool, Flag()] = False,
        since_ts: Annotated[Micros | None, Time()] = None,
    ) -> Json:
        """What an agent sent, newest first; bcc for the proven sender alone."""
        request = OutboxRequest(
            project_key=project,
            agent_name=agent,
            limit=limit,
            include_bodies=include_bodies,
            since=since_ts,
        )
        return schemas.show_outbox(await service.outbox(await current_caller(), request))

    async def mailbox(
        agent: Annotated[str, AGENT_ADDRESS],
        project: Annotated[str | None, PROJECT_KEY] = None,
        limit: Annotated[int, LIMIT] = 20,
    ) -> Json:
        """An agent's inbox with the Git commit that holds each message (null while it is pending)."""
        return schemas.show_mailbox(*await service.mailbox(await current_caller(), agent, project, limit))

    async def mailbox_with_commits(
        agent: Annotated[str, AGENT_ADDRESS],
        project: Annotated[str | None, PROJECT_KEY] = None,
        limit: Annotated[int, LIMIT] = 20,
    ) -> Json:
        """As mailbox, and when each commit was made (null while it is pending). No diffs."""
        found = await service.mailbox(await current_caller(), agent, project, limit)
        return schemas.show_mailbox(*found, with_times=True)

    return [
        resource(
            inbox,
            uri="resource://inbox/{agent}{?project,since_ts,urgent_only,include_bodies,limit}",
            name="inbox",
            title="Inbox of an agent",
        ),
        resource(
            outbox,
            uri="resource://outbox/{agent}{?project,limit,include_bodies,since_ts}",
            name="outbox",
            title="Outbox of an agent",
        ),
        resource(
            mailbox, uri="resource://mailbox/{agent}{?project,limit}", name="mailbox", title="Inbox with its commits"
        ),
        resource(
            mailbox_with_commits,
            uri="resource://mailbox-with-commits/{agent}{?project,limit}",
            name="mailbox-with-commits",
            title="Inbox with its commits and their times",
        ),
    ]


def _views(service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ResourceSpec]:
    async def urgent_unread(
        agent: Annotated[str, AGENT_ADDRESS],
        project: Annotated[str | None, PROJECT_KEY] = None,
        limit: Annotated[int, LIMIT] = 20,
    ) -> Json:
        """Unread mail of high or urgent importance, newest first."""
        return schemas.show_inbox(await service.urgent_unread(await current_caller(), agent, project, limit))

    async def ack_required(
        agent: Annotated[str, AGENT_ADDRESS],
        project: Annotated[str | None, PROJECT_KEY] = None,
        limit: Annotated[int, LIMIT] = 20,
    ) -> Json:
        """Mail that still waits for this agent's acknowledgement, newest first."""
        return schemas.show_inbox(await service.unacknowledged(await current_caller(), agent, project, limit))

    async def acks_stale(
        agent: Annotated[str, AGENT_ADDRESS],
        project: Annotated[str | None, PROJECT_KEY] = None,
        ttl_seconds: Annotated[int, Count(1, _MAX_AGE_S)] = 1_800,
        limit: Annotated[int, LIMIT] = 20,
    ) -> Json:
        """Mail that has waited ttl_seconds or longer for this agent's acknowledgement, oldest first."""
        listing, now = await service.overdue(await current_caller(), agent, project, ttl_seconds, limit)
        return schemas.show_stale_inbox(listing, now, ttl_seconds)

    async def ack_overdue(
        agent: Annotated[str, AGENT_ADDRESS],
        project: Annotated[str | None, PROJECT_KEY] = None,
        ttl_minutes: Annotated[int, Count(1, _MAX_AGE_S // 60)] = 60,
        limit: Annotated[int, LIMIT] = 50,
    ) -> Json:
        """Mail that has waited ttl_minutes or longer for this agent's acknowledgement, oldest first."""
        listing, _ = await service.overdue(await current_caller(), agent, project, ttl_minutes * 60, limit)
        return {**schemas.show_inbox(listing), "ttl_minutes": ttl_minutes}

    return [
        resource(
            urgent_unread,
            uri="resource://views/urgent-unread/{agent}{?project,limit}",
            name="urgent-unread",
            title="Urgent unread mail",
        ),
        resource(
            ack_required,
            uri="resource://views/ack-required/{agent}{?project,limit}",
            name="ack-required",
            title="Mail to acknowledge",
        ),
        resource(
            acks_stale,
            uri="resource://views/acks-stale/{agent}{?project,ttl_seconds,limit}",
            name="acks-stale",
            title="Stale acknowledgements",
        ),
        resource(
            ack_overdue,
            uri="resource://views/ack-overdue/{agent}{?project,ttl_minutes,limit}",
            name="ack-overdue",
            title="Overdue acknowledgements",
        ),
    ]
