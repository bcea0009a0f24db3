"""Subscriptions to resources over MCP, in both eras: who is told is `features/delivery`'s to say, this is how.

Up to 2025-11-25 a session subscribes by request and is told on the stream that it opens by GET; from 2026-07-28 on one
request names what it wants, and its answer is the stream. (docs/adr/0154)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import orjson
from mcp.server.context import ServerRequestContext
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY, ResourceUpdated, event_to_notification
from mcp_types import (
    DiscoverResult,
    ServerCapabilities,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from starlette.types import Message, Scope, Send

from mcp_agent_mail.core.errors import AgentMailError, Unavailable
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.delivery.subscription_counts import URIS_EACH, TooManyUris
from mcp_agent_mail.features.delivery.subscriptions import ResourceStream, Subscriptions
from mcp_agent_mail.server.rendering.responses import send_value
from mcp_agent_mail.server.rendering.wire import error_object, http_status, retry_headers
from mcp_agent_mail.server.transport.answers import begin_stream

logger = logging.getLogger("mcp_agent_mail.server")

Context = ServerRequestContext[Any, Any]
_UPDATED = "notifications/resources/updated"


class NoSession(Unavailable):
    """Without a session there is no stream to be told on."""


class SubscriptionEndpoint:
    """What the protocol asks of subscriptions. `of` is by session, which is told apart by identity."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions
        self._streams: WeakKeyDictionary[object, ResourceStream] = WeakKeyDictionary()
        self._tied: WeakSet[object] = WeakSet()
        """Sessions that end their subscriptions with them."""

    async def subscribe(self, ctx: Context, uri: str, credentials: Credentials) -> None:
        """For the session that asks. Raises NoSession, and what `ResourceStream.subscribe` raises."""
        session = credentials.session
        if session is None:
            raise NoSession(
                "This request is of no session, and so there is no stream to be told on.",
                hint="Initialize again, or read the resource instead.",
            )
        stream = self._of(session)
        if session not in self._tied:
            self._tied.add(session)
            connection = ctx.session._connection  # noqa: SLF001  # guarded by tests/server/test_subscriptions.py
            connection.exit_stack.callback(stream.end)
        await stream.subscribe(uri, credentials)

    def unsubscribe(self, uri: str, credentials: Credentials) -> None:
        """A repeat, or without a subscription, does nothing."""
        stream = self._streams.get(credentials.session) if credentials.session is not None else None
        if stream is not None:
            stream.unsubscribe(uri)

    def _of(self, session: object) -> ResourceStream:
        stream = self._streams.get(session)
        if stream is None:
            stream = self._streams[session] = self._subscriptions.stream()
        return stream

    async def answer_stream(
        self,
        session: object,
        reader: Credentials | None,
        scope: Scope,
        send: Send,
        answer: Callable[[Send], Awaitable[None]],
    ) -> None:
        """The event stream of a session, which `answer` begins, keeps alive and ends: what has changed is written in
        between, each notification as one piece. `reader` is who asks for it. 503 where there is no place for it.

        Not through the SDK's own channel: that drops what comes before its reader runs, and a client that takes nothing
        would hold up all other answers of its session.
        """
        stream = self._of(session)
        try:
            holder = None if reader is None else await self._subscriptions.readers.find(reader)
            if stream.is_open:  # A second one, which the SDK refuses.
                await answer(send)
                return
            async with stream.opened(reader=reader, holder=holder):
                begin_stream(scope)
                await _StreamWriter(stream, send).run(answer)
        except AgentMailError as error:
            await send_value(send, http_status(error), error_object(error), *retry_headers(error))

    async def listen(
        self, ctx: Context, params: SubscriptionsListenRequestParams, credentials: Credentials
    ) -> SubscriptionsListenResult:
        """Acknowledge what will be told, then tell it until the client leaves or the server stops.

        Of several URIs those that may not be read are left out of the acknowledgement. Raises their refusal where none
        is left, TooManyUris, NoPlaceToWait and WaitingEnds before it; later what `ResourceStream.changes`
        raises. Who asks for nothing must be proven as readers are: it takes a place, too.
        """
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        stream = self._subscriptions.stream()
        asked = params.notifications.resource_subscriptions or []
        holder = await self._subscriptions.readers.find(credentials, must_be_proven=not asked)
        try:
            await _subscribe_all(stream, asked, credentials)
            async with stream.opened(always_seated=True, reader=credentials, holder=holder):
                if ctx.request is not None:
                    begin_stream(ctx.request.scope)
                honored = SubscriptionFilter(resource_subscriptions=stream.uris or None)
                acknowledged = SubscriptionsAcknowledgedNotification(
                    params=SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=meta)
                )
                await ctx.session.send_notification(acknowledged, related_request_id=ctx.request_id)
                async for uri in stream.changes():
                    await ctx.session.send_notification(
                        event_to_notification(ResourceUpdated(uri=uri), meta), related_request_id=ctx.request_id
                    )
        finally:
            stream.end()
        return SubscriptionsListenResult(_meta=meta)


async def _subscribe_all(stream: ResourceStream, asked: list[str], credentials: Credentials) -> None:
    uris = list(dict.fromkeys(asked))
    if len(uris) > URIS_EACH:
        raise TooManyUris(
            f"{len(uris)} resources were named; a stream tells of {URIS_EACH}.",
            hint="Name fewer, or open another stream. An inbox tells of all mail that its agent gets.",
            data={"limit": URIS_EACH},
        )
    refusals: list[AgentMailError] = []
    for uri in uris:
        try:
            await stream.subscribe(uri, credentials)
        except AgentMailError as refused:
            refusals.append(refused)
    if refusals and not stream.uris:
        raise refusals[0]


def without_list_changes(result: DiscoverResult) -> DiscoverResult:
    """Lists of tools, prompts and resources do not change while the server runs; the SDK promises word of that wherever
    `subscriptions/listen` is served.
    """
    told: ServerCapabilities = result.capabilities
    parts = {
        name: part.model_copy(update={"list_changed": False})
        for name in ("tools", "prompts", "resources")
        if (part := getattr(told, name)) is not None
    }
    return result.model_copy(update={"capabilities": told.model_copy(update=parts)})


class _StreamWriter:
    """Writes into a stream of events that is another's to begin and to end."""

    def __init__(self, stream: ResourceStream, send: Send) -> None:
        self._stream = stream
        self._send = send
        self._telling: asyncio.Task[None] | None = None
        self._until = asyncio.timeout(None)
        self._is_over = False

    async def run(self, answer: Callable[[Send], Awaitable[None]]) -> None:
        """Until it ends, or nothing more is told on it: its reader may not have it any more, or telling failed."""
        try:
            async with self._until:
                await answer(self._pass_on)
        except TimeoutError:
            if not self._is_over:
                raise
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await self._stop()

    async def _pass_on(self, message: Message) -> None:
        is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if is_last:
            await self._stop()
        await self._send(message)
        if message["type"] == "http.response.start" and message["status"] == 200:
            self._telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        try:
            async for uri in self._stream.changes():
                body = orjson.dumps({"jsonrpc": "2.0", "method": _UPDATED, "params": {"uri": uri}})
                piece = b"event: message\r\ndata: " + body + b"\r\n\r\n"
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        except AgentMailError:
            # Whoever opens it again is told why.
            self._end()
        except Exception:
            # Silent, it would keep its place, and its agent listening; whoever opens it again is told what waits.
            logger.exception("a stream of resource updates failed")
            self._end()

    def _end(self) -> None:
        self._is_over = True
        self._until.reschedule(asyncio.get_running_loop().time())

    async def _stop(self) -> None:
        telling, self._telling = self._telling, None
        if telling is not None:
            telling.cancel()
            await asyncio.wait([telling])
