"""FastMCP's Streamable HTTP endpoint, behind rules of our own: what is posted is read and judged before it
(`transport/posted_message.py`), known requests are answered past it (`fast_path/`), a session serves whose token opened
it (`sessions/`), and no session is ever "not found".

A session id dies with a restart or after 30 idle minutes, and FastMCP then answers 404, which
many clients show to the agent as a broken tool. Nothing of ours but subscriptions lives in a session, so
such a request is served statelessly. `initialize` still opens a session, because a stateful server
that answers in JSON is the fastest form (docs/adr/0010) and subscriptions need one. Only a session
that its client has ended itself is gone: whoever still uses its id is told so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import orjson
from fastmcp import FastMCP
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST
from starlette.types import Message, Receive, Scope, Send

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.server.dispatch import RequestFacts, free
from mcp_agent_mail.server.edge.rates import RateClass
from mcp_agent_mail.server.fast_path.fast_path import FastPath, cancelled_answer
from mcp_agent_mail.server.fast_path.held_session import answers_in_json, held
from mcp_agent_mail.server.fast_path.known_requests import PING, READ, TOOL_CALL, KnownRequest
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.mcp import FACTS
from mcp_agent_mail.server.rendering.responses import send_detail, send_json, send_value
from mcp_agent_mail.server.sessions.answers import AnswerInSession
from mcp_agent_mail.server.sessions.forgotten_sessions import ForgottenSession, ForgottenSessions
from mcp_agent_mail.server.sessions.open_sessions import SESSION_ID, OpenSessions, Transports
from mcp_agent_mail.server.sessions.request_ids import (
    RequestCancelled,
    RequestIds,
    SessionEnded,
    TakenId,
    cancelled_id_of,
    request_id_of,
)
from mcp_agent_mail.server.subscriptions import SubscriptionEndpoint
from mcp_agent_mail.server.transport.hearing import HEARING, RequestHearing
from mcp_agent_mail.server.transport.limits import read_body, replay
from mcp_agent_mail.server.transport.posted_message import MessageRefused, read_message, refusal
from mcp_agent_mail.server.transport.progress_stream import ProgressStream, progress_token
from mcp_agent_mail.server.transport.protocol_versions import is_modern

_SESSION_ENDED = refusal(INVALID_REQUEST, "The client ended this session.")
_SESSION_ENDED_MEANWHILE = refusal(INTERNAL_ERROR, "Session terminated before the request completed")
"""As the SDK says it."""
_CANCELLED = b'"error":{"code":-32800,"message":"Request cancelled"}}'
"""How the SDK's answer to a cancelled call ends; no result does."""
PATH = "/mcp"
_COUNTED = (TOOL_CALL, READ)


MAX_SESSIONS = 2_000
"""An idle session costs 52 KiB. Beyond this many a client is served without one and does not notice."""
MAX_INITIALIZE_BYTES = 64 * 1024
"""A session keeps what its client said of itself in `initialize`, at several times its size."""
MAX_STREAMS = 500
"""A stream keeps its connection for as long as its client likes."""
_TOO_MANY_STREAMS = {"detail": "No event stream just now, too many are open."}
_INITIALIZE_TOO_LARGE = "An initialize request may have 64 KiB."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Posted:
    """What has to be known of a message while the SDK answers it, which keeps the message itself: it may be large.

    `request_id` is None for what is no request, `cancelled_id` for what cancels none.
    """

    size_bytes: int
    request_id: str | None
    cancelled_id: str | int | None
    is_initialize: bool


class McpEndpoint:
    """`subscriptions`, if any, are told on the streams of sessions. With `progress_every_s` a call whose client asks
    for progress, and takes an event stream, is answered as one, and told so often that it is under way. What
    `fast_path` knows is answered by that, all else by FastMCP.
    """

    def __init__(
        self,
        mcp: FastMCP[Any],
        *,
        subscriptions: SubscriptionEndpoint | None = None,
        max_sessions: int = MAX_SESSIONS,
        progress_every_s: float | None = None,
        fast_path: FastPath | None = None,
    ) -> None:
        self._fast_path = fast_path
        self._progress_every_s = progress_every_s
        self._subscriptions = subscriptions
        self._ids = RequestIds()
        self._open = OpenSessions(self._sessions, most=max_sessions)
        self._forgotten = ForgottenSessions(most=max_sessions)
        self.max_streams = MAX_STREAMS
        self._streams = 0
        self._apps = [
            mcp.http_app(path=PATH, stateless_http=stateless, json_response=True) for stateless in (False, True)
        ]

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Requests can be answered between entry and exit, which ends all sessions. Once per endpoint."""
        async with AsyncExitStack() as stack:
            for app in self._apps:
                await stack.enter_async_context(app.router.lifespan_context(app))
            self._stateful, self._stateless = (session_manager(app) for app in self._apps)
            yield

    def session(self, headers: Headers, opener: str | None) -> StreamableHTTPServerTransport | None:
        """The session that a request names, if it is one of ours that it may use. `opener` is whose token let it in."""
        return self._open.find(headers.get(SESSION_ID), opener)

    def forgotten_session(self, method: str, headers: Headers) -> ForgottenSession | None:
        """The one that a call names and that is none of ours any more: what it proves, it proves by itself."""
        named = headers.get(SESSION_ID)
        if named is None or method != "POST" or is_modern(headers):
            return None
        if self._open.has_ended(named) or self._open.is_open(named):
            return None
        return self._forgotten.find(named)

    def _sessions(self) -> Transports:
        return self._stateful._server_instances  # noqa: SLF001  # guarded by tests/server/test_mcp.py

    def end_streams(self) -> None:
        for transport in list(self._sessions().values()):
            transport.close_standalone_sse_stream()

    async def answer(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Answer one request. Raises what `read_body` raises."""
        scope[HEARING] = hearing = RequestHearing(receive, send, scope)
        try:
            if scope["method"] == "POST":
                await self._answer_post(scope, headers, receive, hearing)
            else:
                transport = self.session(headers, opener_of(scope))
                await self._answer(scope, headers, transport, receive, hearing.send, None)
        finally:
            hearing.close()

    async def _answer_post(self, scope: Scope, headers: Headers, receive: Receive, hearing: RequestHearing) -> None:
        body = await read_body(receive)
        facts = scope.get(FACTS)
        charge = facts.charge if isinstance(facts, RequestFacts) else free
        try:
            message = read_message(headers, body)
        except MessageRefused as refused:
            charge(RateClass.OTHERS)
            await send_value(hearing.send, refused.status, refused.value)
            return
        transport = self.session(headers, opener_of(scope))
        every_s = self._progress_every_s
        token = None if every_s is None else progress_token(headers, message)
        if token is None and isinstance(facts, RequestFacts):
            known = self._known(scope, headers, transport, message)
            if known is not None:
                del body, message  # A call may wait for long, and a body be large.
                if known.method == PING:
                    charge(RateClass.OTHERS)
                await self._answer_known(known, None if known.is_modern else transport, facts, hearing)
                return
        if charge is not free and not _is_counted_where_run(message):
            charge(RateClass.OTHERS)
        posted = _Posted(
            size_bytes=len(body),
            request_id=request_id_of(message),
            cancelled_id=cancelled_id_of(message),
            is_initialize=message.get("method") == "initialize",
        )
        del message
        receive = replay(body, receive)
        if every_s is None or token is None:
            await self._answer(scope, headers, transport, receive, _noting_cancelled(hearing, hearing.send), posted)
            return
        async with ProgressStream(hearing, token, every_s=every_s).opened() as send:
            await self._answer(scope, headers, transport, receive, _noting_cancelled(hearing, send), posted)

    def _known(
        self,
        scope: Scope,
        headers: Headers,
        transport: StreamableHTTPServerTransport | None,
        message: JsonObject,
    ) -> KnownRequest | None:
        """The request, where the fast path answers it. A header that came twice is the SDK's to choose of."""
        if self._fast_path is None or len(headers) != len(scope["headers"]):
            return None
        session = headers.get(SESSION_ID)
        if is_modern(headers):
            return self._fast_path.find(headers, message, is_modern=True) if session is None else None
        if transport is None and self._open.has_ended(session):
            return None
        if transport is not None and not answers_in_json(transport):
            return None
        return self._fast_path.find(headers, message, is_modern=False)

    async def _answer_known(
        self,
        request: KnownRequest,
        transport: StreamableHTTPServerTransport | None,
        facts: RequestFacts,
        hearing: RequestHearing,
    ) -> None:
        assert self._fast_path is not None, "it is who knows requests"
        if transport is None:
            await send_json(hearing.send, *await self._fast_path.answer(request, facts, hearing))
            return
        session = _id_of(transport)
        try:
            with held(transport), self._ids.running(session, request.id):
                answer = await self._fast_path.answer(request, facts, hearing)
        except TakenId as refused:
            await send_value(hearing.send, 400, refusal(INVALID_REQUEST, refused.text))
            return
        except RequestCancelled:
            hearing.close()
            answer = cancelled_answer(request)
        except SessionEnded:
            answer = 500, orjson.dumps(_SESSION_ENDED_MEANWHILE)
        await send_json(hearing.send, *answer, (SESSION_ID, session))

    async def _answer(
        self,
        scope: Scope,
        headers: Headers,
        transport: StreamableHTTPServerTransport | None,
        receive: Receive,
        send: Send,
        posted: _Posted | None,
    ) -> None:
        if b"accept" not in headers:
            scope["headers"] = [*scope["headers"], (b"accept", b"application/json, text/event-stream")]
        if transport is not None:
            if scope["method"] == "GET":
                await self._answer_stream(transport, scope, receive, send)
                return
            await self._answer_in_session(scope, headers, transport, receive, send, posted)
            if scope["method"] == "DELETE" and not self._open.is_open(session := _id_of(transport)):
                self._open.end(session)
                self._ids.end(session)
        elif is_modern(headers):
            await self._stateful.handle_request(scope, receive, send)
        elif self._open.has_ended(headers.get(SESSION_ID)):
            await send_value(send, 404, _SESSION_ENDED)
        else:
            await self._answer_without_session(scope, receive, send, posted)

    async def _answer_in_session(
        self,
        scope: Scope,
        headers: Headers,
        transport: StreamableHTTPServerTransport,
        receive: Receive,
        send: Send,
        posted: _Posted | None,
    ) -> None:
        session, answer = _id_of(transport), AnswerInSession(transport, send)
        try:
            with self._ids.entered(session, None if posted is None else posted.request_id):
                await answer.given(self._stateful.handle_request, scope, receive)
        except TakenId as refused:
            await send_value(send, 400, refusal(INVALID_REQUEST, refused.text))
            return
        if answer.is_ended:
            await send_value(send, 404, _SESSION_ENDED)
        if posted is not None and answer.is_taken and not is_modern(headers):
            # A notification. What it may end of the SDK's own the SDK has ended.
            self._ids.cancel(session, posted.cancelled_id)

    async def _answer_stream(
        self, transport: StreamableHTTPServerTransport, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Beyond the bound it is 405, which clients take as a server without streams."""
        if self._streams >= self.max_streams:
            await send_value(send, 405, _TOO_MANY_STREAMS, (b"allow", b"POST, DELETE"))
            return

        async def answer(send: Send) -> None:
            await self._stateful.handle_request(scope, receive, send)

        self._streams += 1
        try:
            if self._subscriptions is None:
                await answer(send)
            else:
                facts = scope.get(FACTS)
                reader = facts.credentials if isinstance(facts, RequestFacts) else None
                await self._subscriptions.answer_stream(transport, reader, scope, send, answer)
        finally:
            self._streams -= 1

    async def _answer_without_session(self, scope: Scope, receive: Receive, send: Send, posted: _Posted | None) -> None:
        """A handshake-era request that names no session, or one that we do not know (any more), or another's."""
        if scope["method"] == "DELETE":
            await send_value(send, 200, {})
            return
        if posted is None:
            await send_value(send, 405, {"detail": "POST only: no session, no event stream."}, (b"allow", b"POST"))
            return
        scope["headers"] = [header for header in scope["headers"] if header[0] != SESSION_ID]
        if posted.is_initialize and posted.size_bytes > MAX_INITIALIZE_BYTES:
            await send_detail(send, 413, _INITIALIZE_TOO_LARGE)
        elif posted.is_initialize and self._open.has_room_for(posted.size_bytes):
            await self._open_session(scope, receive, send, posted)
        else:
            await self._stateless.handle_request(scope, receive, send)

    async def _open_session(self, scope: Scope, receive: Receive, send: Send, posted: _Posted) -> None:
        async with self._open.opening(posted.size_bytes, opener_of(scope)) as opening:
            await self._stateful.handle_request(scope, receive, opening.sending(send))


def opener_of(scope: Scope) -> str | None:
    """Whose token let the request in, as sessions know it."""
    facts = scope.get(FACTS)
    return facts.opener if isinstance(facts, RequestFacts) else None


def _id_of(transport: StreamableHTTPServerTransport) -> bytes:
    return (transport.mcp_session_id or "").encode("latin-1")


def _noting_cancelled(hearing: RequestHearing, send: Send) -> Send:
    """A call that was cancelled as it ended is answered by the SDK with status 200, though what it gave is not told."""

    async def send_and_note(message: Message) -> None:
        if message.get("body", b"").endswith(_CANCELLED):
            hearing.close()
        await send(message)

    return send_and_note


def _is_counted_where_run(message: JsonObject) -> bool:
    """A tool call or a read counts as one where it is run, once; what only looks like one is never run."""
    return message.get("method") in _COUNTED and isinstance(message.get("params"), dict)


def session_manager(app: Any) -> StreamableHTTPSessionManager:
    """The manager behind FastMCP's one MCP route; `app` is its Starlette application, whose type it does not export."""
    (endpoint,) = (route.endpoint for route in app.routes if getattr(route, "path", None) == PATH)
    manager = endpoint.session_manager
    assert isinstance(manager, StreamableHTTPSessionManager)
    return manager
