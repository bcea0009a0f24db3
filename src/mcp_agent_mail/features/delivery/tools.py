"""The delivery tools. Their docstrings are what agents read to choose one: every word costs them tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.cursors import Cursor
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.params import CALLER_NAME, PROJECT_KEY, Choice, Count, Flag, Id, Text
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.hooks.announcements import MAX_ITEMS, ImportanceBound
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.presence import SessionEvent
from mcp_agent_mail.features.delivery import schemas
from mcp_agent_mail.features.delivery.requests import (
    FeedRequest,
    FollowRequest,
    HeartbeatRequest,
    HookClaimRequest,
    HookEventRequest,
    StatusRequest,
    WaitRequest,
    WithdrawRequest,
)
from mcp_agent_mail.features.delivery.service import DeliveryService
from mcp_agent_mail.features.messaging.parameters import THREAD

_REASON = Text(max_length=1_000)
_EVENTS = Count(1, 1_000)
_CURSOR = Cursor()
_TIMEOUT = Count(1, 50)
_SESSION = Text(max_length=200)
_CLIENT = Text(max_length=128, may_be_blank=True)
_LEAST = Choice(tuple(one.value for one in ImportanceBound))
_ITEMS = Count(0, MAX_ITEMS)
_CLAIM = Text(max_length=64)
_HEARD = Choice(tuple(one.value for one in SessionEvent))


def delivery_tools(service: DeliveryService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """In the order in which clients list them."""

    async def message_status(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        message_id: Annotated[int, Id()],
        agent_name: Annotated[str | None, CALLER_NAME] = None,
    ) -> Json:
        """How far a message got with each recipient: held, delivered, handed_over, shown, read, acknowledged, answered;
        or refused, expired, withdrawn. agent_name is you: a sender sees
        what it withdrew by that, and blind and held copies with its token alone.
        """
        request = StatusRequest(project_key=project_key, message_id=MessageId(message_id), agent_name=agent_name)
        return schemas.show_status(await service.status(await current_caller(), request))

    async def wait_for_messages(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        after_cursor: Annotated[int | None, _CURSOR] = None,
        timeout_s: Annotated[int, _TIMEOUT] = 25,
        urgent_only: Annotated[bool, Flag()] = False,
        thread_id: Annotated[str | None, THREAD] = None,
    ) -> Json:
        """Wait up to 50 s for mail; unread mail answers at once. Go on with after_cursor=next_cursor of a wait with the
        same filter. Marks nothing read; no bodies.
        """
        request = WaitRequest(
            project_key=project_key,
            agent_name=agent_name,
            after_cursor=after_cursor,
            timeout_s=timeout_s,
            urgent_only=urgent_only,
            thread_id=thread_id,
        )
        return schemas.show_found_mail(await service.wait(current_caller, request))

    async def fetch_inbox_events(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        after: Annotated[int, _CURSOR] = 0,
        limit: Annotated[int, _EVENTS] = 100,
        position_now: Annotated[bool, Flag()] = False,
    ) -> Json:
        """What happened to your mail behind a cursor, without bodies: delivered, withdrawn, expired; of what you sent
        read, answered and so on.
        """
        request = FeedRequest(
            project_key=project_key, agent_name=agent_name, after=after, limit=limit, position_now=position_now
        )
        return schemas.show_feed(await service.feed(await current_caller(), request))

    async def withdraw_message(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        sender_name: Annotated[str, CALLER_NAME],
        message_id: Annotated[int, Id()],
        reason: Annotated[str | None, _REASON] = None,
    ) -> Json:
        """Take back a message of yours: unread copies disappear, whoever has read it sees when and why. Blind
        and held copies are listed with your token alone.
        """
        request = WithdrawRequest(
            project_key=project_key, sender_name=sender_name, message_id=MessageId(message_id), reason=reason
        )
        return schemas.show_withdrawal(await service.withdraw(await current_caller(), request))

    return [
        tool(message_status, cluster="delivery", title="Message status", read_only=True, idempotent=True),
        tool(wait_for_messages, cluster="delivery", title="Wait for messages", read_only=True, idempotent=True),
        tool(fetch_inbox_events, cluster="delivery", title="Inbox events", read_only=True, idempotent=True),
        tool(withdraw_message, cluster="delivery", title="Withdraw a message", destructive=True, idempotent=True),
    ]


FOLLOW = "follow_feed"


def following(service: DeliveryService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """What opens a stream of events: a call like a tool's, which answers with a `FeedStream`. No client lists it."""

    async def follow_feed(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        after: Annotated[int | None, _CURSOR] = None,
    ) -> Json:
        request = FollowRequest(project_key=project_key, agent_name=agent_name, after=after)
        return await service.follow(await current_caller(), request)

    return [tool(follow_feed, cluster="delivery", title="Follow a feed", read_only=True)]


def hook_tools(service: DeliveryService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """What clients' hooks call: no MCP client sees it, and no agent pays for its text."""

    async def heartbeat(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        session: Annotated[str, _SESSION],
        event: Annotated[str, _HEARD],
        client: Annotated[str, _CLIENT] = "",  # noqa: ARG001  # said by hooks, and nothing rests on it
    ) -> Json:
        """A client's hook tells of its session: it has started, a turn has begun, a tool runs, it is idle, it has
        ended. Until listening_until the agent counts as listening by it; null once the session has ended. session is
        the client's own name for it.
        """
        request = HeartbeatRequest(
            project_key=project_key, agent_name=agent_name, session=session, event=SessionEvent(event)
        )
        return schemas.show_heard(await service.heartbeat(await current_caller(), request))

    async def hook_event(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        session: Annotated[str, _SESSION],
        event: Annotated[str, _HEARD],
        client: Annotated[str, _CLIENT] = "",  # noqa: ARG001  # said by hooks, and nothing rests on it
        least: Annotated[str | None, _LEAST] = None,
        limit: Annotated[int, _ITEMS] = MAX_ITEMS,
        stop: Annotated[bool, Flag()] = False,
        can_refuse: Annotated[bool, Flag()] = False,
        reprime: Annotated[bool, Flag()] = False,
        subagent: Annotated[bool, Flag()] = False,
    ) -> Json:
        """A heartbeat that also asks what the hook may tell of unread mail: by least (urgent: after a tool, high: at
        the end of a turn, any: at the next turn) up to limit messages, in each session each once. What is given has a
        claim, to be confirmed by hook_told once it is printed. stop: before a tool call, which an urgent message of
        the topic stop refuses; can_refuse: the client can refuse tool calls, so that mail waits for one. reprime: who
        the agent is and where it stands. subagent: a sub-agent's event, which is told no mail and shows none.
        """
        heartbeat = HeartbeatRequest(
            project_key=project_key, agent_name=agent_name, session=session, event=SessionEvent(event)
        )
        request = HookEventRequest(
            heartbeat=heartbeat,
            least=None if least is None else ImportanceBound(least),
            limit=limit,
            stop=stop,
            can_refuse=can_refuse,
            reprime=reprime,
            subagent=subagent,
        )
        return schemas.show_announced(*await service.hook_event(await current_caller(), request))

    async def hook_told(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        session: Annotated[str, _SESSION],
        claim: Annotated[str, _CLAIM],
    ) -> Json:
        """The hook has printed what hook_event gave it, and flushed its output: that mail is handed over. A repeat
        says told: 0.
        """
        request = HookClaimRequest(project_key=project_key, agent_name=agent_name, session=session, claim=claim)
        return {"told": await service.hook_told(await current_caller(), request)}

    async def hook_wait(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        after_cursor: Annotated[int | None, _CURSOR] = None,
        timeout_s: Annotated[int, _TIMEOUT] = 25,
        urgent_only: Annotated[bool, Flag()] = False,
    ) -> Json:
        """wait_for_messages for a program that tells an agent of its mail, as am wait: told is what a hook would tell
        of it, the most important first, and more counts the rest. No session is given it, and nothing is to be
        confirmed.
        """
        request = WaitRequest(
            project_key=project_key,
            agent_name=agent_name,
            after_cursor=after_cursor,
            timeout_s=timeout_s,
            urgent_only=urgent_only,
            tells=True,
        )
        return schemas.show_found_mail(await service.wait(current_caller, request))

    return [
        tool(heartbeat, cluster="delivery", title="Tell that a session lives", idempotent=True, off_mcp=True),
        tool(hook_event, cluster="delivery", title="Ask what a hook may tell", off_mcp=True),
        tool(hook_told, cluster="delivery", title="Confirm what a hook told", idempotent=True, off_mcp=True),
        tool(hook_wait, cluster="delivery", title="Wait as a hook", read_only=True, idempotent=True, off_mcp=True),
    ]
