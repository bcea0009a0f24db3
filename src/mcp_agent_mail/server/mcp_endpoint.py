"""FastMCP's Streamable HTTP endpoint, with two changes: known requests are answered past it (`fast_path/`), and no
session is ever "not found".

A session id dies with a restart or after 30 idle minutes, and FastMCP then answers 404, which
many clients show to the agent as a broken tool. Nothing of ours but subscriptions lives in a session, so
such a request is served statelessly. `initialize` still opens a session, because a stateful server
that answers in JSON is the fastest form (docs/adr/0010) and subscriptions need one. Only a session
that its client has ended itself is gone: whoever still uses its id is told so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import orjson
from fastmcp import FastMCP
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Message, Receive, Scope, Send

from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.server.dispatch import RequestFacts, free
from mcp_agent_mail.server.edge.rates import RateClass
from mcp_agent_mail.server.fast_path.fast_path import FastPath, cancelled_answer
from mcp_agent_mail.server.fast_path.held_session import answers_in_json, held
from mcp_agent_mail.server.fast_path.known_requests import PING, READ, TOOL_CALL, KnownRequest
from mcp_agent_mail.server.forgotten_sessions import ForgottenSession, ForgottenSessions
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.mcp import FACTS, SESSION_HEADER
from mcp_agent_mail.server.plain_calls import is_json
from mcp_agent_mail.server.rendering.responses import send_detail, send_json, send_value
from mcp_agent_mail.server.request_ids import RequestCancelled, RequestIds, SessionEnded, TakenId
from mcp_agent_mail.server.subscriptions import SubscriptionEndpoint
from mcp_agent_mail.server.transport.hearing import HEARING, RequestHearing
from mcp_agent_mail.server.transport.limits import MAX_BESIDE_BYTES, has_much_beside, is_one_object, read_body, replay
from mcp_agent_mail.server.transport.progress_stream import ProgressStream, progress_token

_HANDSHAKE = frozenset(version.encode() for version in HANDSHAKE_PROTOCOL_VERSIONS)
_SESSION_ID = SESSION_HEADER.encode()
_SESSION_ENDED = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "The client ended this session."}}
_SESSION_ENDED_MEANWHILE = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": -32603, "message": "Session terminated before the request completed"},
}
"""As the SDK says it."""
_TAKEN = 202
_NO_OBJECT = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {
        "code": -32600,
        "message": "Send one JSON-RPC request as a JSON object in UTF-8; batches are not served.",
    },
}
_NO_JSON_TYPE = "Send Content-Type: application/json."
_NO_JSON_RPC = (
    'This is no request of JSON-RPC 2.0. Send {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": '
    '"health_check", "arguments": {}}}; or, without MCP, the arguments alone to POST /rpc/<tool>.'
)
_CANCELLED = b'"error":{"code":-32800,"message":"Request cancelled"}}'
"""How the SDK's answer to a cancelled call ends; no result does."""
_MUCH_BESIDE = (
    f"A request may have {MAX_BESIDE_BYTES >> 10} KiB beside its arguments, `_meta` included; nothing was done."
)
PATH = "/mcp"
_COUNTED = (TOOL_CALL, READ)


MAX_SESSIONS = 2_000
"""An idle session costs 52 KiB. Beyond this many a client is served without one and does not notice."""
MAX_INITIALIZE_BYTES = 64 * 1024
"""A session keeps what its client said of itself in `initialize`, at several times its size."""
MAX_KEPT_BYTES = 2 * 1024 * 1024
"""Of all sessions together; beyond it, too, a client is served without one. Clients say a few hundred bytes."""
MAX_STREAMS = 500
"""A stream keeps its connection for as long as its client likes."""
_TOO_MANY_STREAMS = {"detail": "No event stream just now, too many are open."}
_INITIALIZE_TOO_LARGE = "An initialize request may have 64 KiB."


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
        self._max_sessions = max_sessions
        self._ids = RequestIds()
        self._forgotten = ForgottenSessions(most=max_sessions)
        self._ended: deque[bytes] = deque(maxlen=max_sessions)
        self._accepted: set[bytes] = set()
        """Sessions whose `initialize` had a result: in others the SDK refuses all else."""
        self._kept_bytes: dict[str, int] = {}
        self._opening_bytes: dict[object, int] = {}
        """Of sessions whose first answer has not begun."""
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

    def session(self, headers: Headers) -> StreamableHTTPServerTransport | None:
        """The session that a request names, if it is one of ours."""
        return self._sessions().get(headers.get(_SESSION_ID, b"").decode("latin-1"))

    def forgotten_session(self, method: str, headers: Headers) -> ForgottenSession | None:
        """The one that a call names and that is none of ours any more: what it proves, it proves by itself."""
        named = headers.get(_SESSION_ID)
        if named is None or method != "POST" or is_modern(headers):
            return None
        if named in self._ended or self.session(headers) is not None:
            return None
        return self._forgotten.find(named)

    def _sessions(self) -> dict[str, StreamableHTTPServerTransport]:
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
                await self._answer(scope, headers, receive, hearing.send, b"")
        finally:
            hearing.close()

    async def _answer_post(self, scope: Scope, headers: Headers, receive: Receive, hearing: RequestHearing) -> None:
        body = await read_body(receive)
        refusal = _body_refusal(headers, body)
        facts = scope.get(FACTS)
        charge = facts.charge if isinstance(facts, RequestFacts) else free
        if refusal is not None:
            charge(RateClass.OTHERS)
            await send_value(hearing.send, *refusal)
            return
        every_s = self._progress_every_s
        token = None if every_s is None else progress_token(headers, body)
        if token is None and isinstance(facts, RequestFacts) and (known := self._known(scope, headers, body)):
            del body  # A call may wait for long, and a body be large.
            if known.method == PING:
                charge(RateClass.OTHERS)
            await self._answer_known(known, headers, facts, hearing)
            return
        if charge is not free and not _is_counted_where_run(body):
            charge(RateClass.OTHERS)
        receive = replay(body, receive)
        if every_s is None or token is None:
            await self._answer(scope, headers, receive, _noting_cancelled(hearing, hearing.send), body)
            return
        async with ProgressStream(hearing, token, every_s=every_s).opened() as send:
            await self._answer(scope, headers, receive, _noting_cancelled(hearing, send), body)

    def _known(self, scope: Scope, headers: Headers, body: bytes) -> KnownRequest | None:
        """The request, where the fast path answers it. A header that came twice is the SDK's to choose of."""
        if self._fast_path is None or len(headers) != len(scope["headers"]):
            return None
        session = headers.get(_SESSION_ID)
        if is_modern(headers):
            return self._fast_path.find(headers, body, is_modern=True) if session is None else None
        transport = self.session(headers)
        if transport is not None and not (session in self._accepted and answers_in_json(transport)):
            return None
        if transport is None and session is not None and session in self._ended:
            return None
        return self._fast_path.find(headers, body, is_modern=False)

    async def _answer_known(
        self, request: KnownRequest, headers: Headers, facts: RequestFacts, hearing: RequestHearing
    ) -> None:
        assert self._fast_path is not None, "it is who knows requests"
        transport = None if request.is_modern else self.session(headers)
        if transport is None:
            await send_json(hearing.send, *await self._fast_path.answer(request, facts, hearing))
            return
        session = headers[_SESSION_ID]
        try:
            with held(transport), self._ids.running(session, request.id):
                answer = await self._fast_path.answer(request, facts, hearing)
        except TakenId as refused:
            await send_value(hearing.send, 400, _refusal(refused))
            return
        except RequestCancelled:
            hearing.close()
            answer = cancelled_answer(request)
        except SessionEnded:
            answer = 500, orjson.dumps(_SESSION_ENDED_MEANWHILE)
        await send_json(hearing.send, *answer, (_SESSION_ID, session))

    async def _answer(self, scope: Scope, headers: Headers, receive: Receive, send: Send, body: bytes) -> None:
        if b"accept" not in headers:
            scope["headers"] = [*scope["headers"], (b"accept", b"application/json, text/event-stream")]
        session = headers.get(_SESSION_ID)
        if (transport := self.session(headers)) is not None:
            if scope["method"] == "GET":
                await self._answer_stream(transport, scope, receive, send)
                return
            await self._answer_in_session(scope, headers, receive, send, body)
            if scope["method"] == "DELETE" and session is not None and self.session(headers) is None:
                self._ended.append(session)
                self._ids.end(session)
        elif is_modern(headers):
            await self._answer_in_session(scope, headers, receive, send, body)
        elif session is not None and session in self._ended:
            await send_value(send, 404, _SESSION_ENDED)
        else:
            await self._answer_without_session(scope, receive, send)

    async def _answer_in_session(
        self, scope: Scope, headers: Headers, receive: Receive, send: Send, body: bytes
    ) -> None:
        """By the SDK, which takes the first of several sessions that a request names."""
        session = next((value for name, value in scope["headers"] if name == _SESSION_ID), None)
        if session is None:
            await self._stateful.handle_request(scope, receive, send)
            return
        statuses: list[int] = []

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        try:
            with self._ids.entered(session, body):
                await self._stateful.handle_request(scope, receive, send_and_note)
        except TakenId as refused:
            await send_value(send, 400, _refusal(refused))
            return
        if statuses == [_TAKEN] and not is_modern(headers):
            # A notification. What it may end of the SDK's own the SDK has ended.
            self._ids.cancel(session, body)

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

    async def _answer_without_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A handshake-era request that names no session, or one we do not know (any more)."""
        if scope["method"] == "DELETE":
            await send_value(send, 200, {})
        elif scope["method"] != "POST":
            await send_value(send, 405, {"detail": "POST only: no session, no event stream."}, (b"allow", b"POST"))
        else:
            body = await read_body(receive)
            scope["headers"] = [header for header in scope["headers"] if header[0] != _SESSION_ID]
            if not _is_initialize(body):
                await self._stateless.handle_request(scope, replay(body, receive), send)
            elif len(body) > MAX_INITIALIZE_BYTES:
                await send_detail(send, 413, _INITIALIZE_TOO_LARGE)
            elif self._has_room_for(body):
                await self._open_session(scope, body, receive, send)
            else:
                await self._stateless.handle_request(scope, replay(body, receive), send)

    def _has_room_for(self, body: bytes) -> bool:
        sessions = self._sessions()
        # Those that are opening too: any number may ask before the first of them is answered.
        if len(sessions) + len(self._opening_bytes) >= self._max_sessions:
            return False
        self._kept_bytes = {name: size for name, size in self._kept_bytes.items() if name in sessions}
        self._accepted = {name for name in self._accepted if name.decode("latin-1") in sessions}
        kept_bytes = sum(self._kept_bytes.values()) + sum(self._opening_bytes.values())
        return kept_bytes + len(body) <= MAX_KEPT_BYTES

    async def _open_session(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Its bytes count from now on, as the session's once an answer names it; without one they are given back."""
        opening = object()
        self._opening_bytes[opening] = size_bytes = len(body)
        opened = b""

        async def send_and_note(message: Message) -> None:
            nonlocal opened
            if message["type"] == "http.response.start":
                self._opening_bytes.pop(opening, None)
                opened = next((value for name, value in message["headers"] if name == _SESSION_ID), b"")
                if opened:
                    self._kept_bytes[opened.decode("latin-1")] = size_bytes
            elif opened and "result" in _message(message.get("body", b"")):
                self._accepted.add(opened)
            await send(message)

        try:
            await self._stateful.handle_request(scope, replay(body, receive), send_and_note)
        finally:
            self._opening_bytes.pop(opening, None)


def _noting_cancelled(hearing: RequestHearing, send: Send) -> Send:
    """A call that was cancelled as it ended is answered by the SDK with status 200, though what it gave is not told."""

    async def send_and_note(message: Message) -> None:
        if message.get("body", b"").endswith(_CANCELLED):
            hearing.close()
        await send(message)

    return send_and_note


def _refusal(error: TakenId) -> JsonObject:
    """Without the id: whoever waits for the answer to it must not take this for it."""
    return {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": error.text}}


def is_modern(headers: Headers) -> bool:
    """Whether a request is of the stateless era: its header names a version that has no handshake."""
    version = headers.get(b"mcp-protocol-version")
    return version is not None and version not in _HANDSHAKE


def _body_refusal(headers: Headers, body: bytes) -> tuple[int, JsonObject] | None:
    """Why the body is no request that MCP knows, with the status; None for what is handed on to be read."""
    if not is_json(headers):
        return 400, {"detail": _NO_JSON_TYPE}
    if not is_one_object(body):
        return 400, _NO_OBJECT
    if has_much_beside(body):
        return 413, {"detail": _MUCH_BESIDE}
    return None if b'"jsonrpc"' in body else (400, {"detail": _NO_JSON_RPC})


def _is_initialize(body: bytes) -> bool:
    return b'"initialize"' in body and _message(body).get("method") == "initialize"


def _is_counted_where_run(body: bytes) -> bool:
    """A tool call or a read counts as one where it is run, once; what only looks like one is never run."""
    if not any(method.encode() in body for method in _COUNTED):
        return False
    message = _message(body)
    is_request = message.get("jsonrpc") == "2.0" and isinstance(message.get("id"), int | str)
    return is_request and message.get("method") in _COUNTED and isinstance(message.get("params"), dict)


def _message(body: bytes) -> JsonObject:
    """Nothing where it is no JSON object."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return message if isinstance(message, dict) else {}


def session_manager(app: Any) -> StreamableHTTPSessionManager:
    """The manager behind FastMCP's one MCP route; `app` is its Starlette application, whose type it does not export."""
    (endpoint,) = (route.endpoint for route in app.routes if getattr(route, "path", None) == PATH)
    manager = endpoint.session_manager
    assert isinstance(manager, StreamableHTTPSessionManager)
    return manager
