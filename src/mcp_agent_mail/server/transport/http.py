"""The ASGI application: who may come in, which door they want, and what every request is given.

Plain ASGI throughout (no BaseHTTPMiddleware): each layer costs a few microseconds. The MCP
endpoint is FastMCP's, called past its router, since the router only ever has one route to find.
"""

from __future__ import annotations

import itertools
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from starlette.types import Message, Receive, Scope, Send

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.logging import request_scope
from mcp_agent_mail.core.profiles import Profiles
from mcp_agent_mail.core.settings.mcp_paths import MCP_PATHS
from mcp_agent_mail.facades.asgi import DoorApp, DoorRequest
from mcp_agent_mail.server.auth import UNPROVEN, Admitted, Gate, HttpRefusal, is_from_elsewhere
from mcp_agent_mail.server.dispatch import Calls, RequestFacts
from mcp_agent_mail.server.doors import NO_DOORS, Doors
from mcp_agent_mail.server.identity import Headers, read_credentials, read_query
from mcp_agent_mail.server.mcp import FACTS
from mcp_agent_mail.server.mcp_endpoint import McpEndpoint
from mcp_agent_mail.server.observability.trace_context import read_trace
from mcp_agent_mail.server.plain_calls import send_error
from mcp_agent_mail.server.preferences import Connections, ResponsePreferences
from mcp_agent_mail.server.rendering.responses import send_detail, send_value
from mcp_agent_mail.server.rpc import PREFIX, Rpc
from mcp_agent_mail.server.transport.limits import (
    MAX_VALUES,
    BodyTooLarge,
    ClientLeft,
    TooManyValues,
    declared_too_large,
)

logger = logging.getLogger("mcp_agent_mail.http")

_WELL_KNOWN = "/.well-known/"
_TOO_LARGE = (
    "The request body is over 4 MiB; nothing was done. A message's body_md may have 1 MiB (MESSAGE_BODY_MAX_BYTES): "
    "send the essence and say in which file the rest stands."
)
_TOO_MANY_VALUES = (
    f"The request body has more than {MAX_VALUES:,} JSON values; nothing was done. No tool takes that many: send fewer."
)


def both_forms(paths: tuple[str, ...]) -> frozenset[str]:
    """Each path with and without its closing slash: a redirect would lose the POST of some clients."""
    bare = {f"/{path.strip('/')}" for path in paths}
    return frozenset(form for path in bare for form in (path, f"{path.rstrip('/')}/"))


Route = Callable[[Scope, RequestFacts, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """`http_path` is one more path for MCP beside `MCP_PATHS`; `routes` are protected as `/rpc` is: whole paths, and
    with a closing slash all below the first part of a path. `endpoints` are those of profiles that have tool tables of
    their own, by the profile's name: MCP's paths lead to them for who asks for it. They have no event streams. `doors`
    have what is theirs, whatever else is served there.

    `bound_waiters` is told how many may wait for mail, calls and event streams together: each keeps a connection.
    `reads_trace` takes over the span that a request names as its parent.
    """

    http_path: str = MCP_PATHS[0]
    log_requests: bool = False
    reads_trace: bool = False
    connections: Connections = field(default_factory=lambda: Connections(Profiles()))
    routes: Mapping[str, Route] = field(default_factory=dict)
    endpoints: Mapping[str, McpEndpoint] = field(default_factory=dict)
    doors: Doors = NO_DOORS
    bound_waiters: Callable[[int], None] = lambda _: None


class HttpApp:
    """The whole server as one ASGI callable. Requests are served between `opened`'s entry and exit."""

    def __init__(
        self,
        endpoint: McpEndpoint,
        calls: Calls,
        gate: Gate,
        options: HttpOptions,
        *,
        is_ready: Callable[[], Awaitable[bool]],
    ) -> None:
        self._endpoint = endpoint
        self._rpc = Rpc(calls)
        self._gate = gate
        self._connections = options.connections
        self._routes = options.routes
        self._endpoints = options.endpoints
        self._doors = options.doors
        self.bound_waiters = options.bound_waiters
        self._mcp_paths = both_forms((*MCP_PATHS, options.http_path))
        self._is_ready = is_ready
        self._log_requests = options.log_requests
        self._reads_trace = options.reads_trace
        self._id_prefix = secrets.token_hex(3)
        self._ids = itertools.count(1)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Requests are served between entry and exit; MCP sessions live as long."""
        async with AsyncExitStack() as stack:
            for endpoint in (self._endpoint, *self._endpoints.values()):
                await stack.enter_async_context(endpoint.opened())
            await stack.enter_async_context(self._doors.opened())
            yield

    def bound_streams(self, at_most: int) -> None:
        """Allow at most `at_most` event streams at a time, since each keeps a connection."""
        self._endpoint.max_streams = at_most

    def end_streams(self) -> None:
        """Close the event streams clients hold open, which would keep a stopping server waiting."""
        self._endpoint.end_streams()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(f"{scope['type']} is not served")
        _trim(scope)
        headers: Headers = dict(scope["headers"])
        request_id = f"{self._id_prefix}-{next(self._ids)}"
        with request_scope(request_id):
            if self._log_requests:
                send = _logged(scope, send)
            try:
                await self._answer(scope, headers, request_id, receive, send)
            except BodyTooLarge:
                await send_detail(send, 413, _TOO_LARGE)
            except TooManyValues:
                await send_detail(send, 413, _TOO_MANY_VALUES)
            except ClientLeft:
                logger.debug("the client left before its request was complete")

    async def _answer(self, scope: Scope, headers: Headers, request_id: str, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if self._doors is not NO_DOORS and (door := self._doors.find(scope)) is not None:
            await self._answer_at_door(door, scope, headers, request_id, receive, send)
            return
        if path.startswith(("/health/", _WELL_KNOWN)) and await self._answer_open(path, send):
            return
        is_call = path.startswith(PREFIX)
        route = None if is_call else self._route_of(path)
        is_rpc = is_call or route is not None
        admitted = await self._admit(scope, headers, send, operator_may=is_rpc)
        if admitted is None:
            return
        query = read_query(scope["query_string"])
        try:
            wishes = self._connections.wishes(query, headers, is_rpc=is_rpc)
        except InvalidInput as unknown:
            await send_detail(send, 400, unknown.text)
            return
        endpoint = self._endpoint_of(path, wishes)
        credentials = read_credentials(
            headers,
            query,
            via="rpc" if is_rpc else "mcp",
            bearer_is_servers=admitted.bearer_is_servers,
            origin=_connection(scope),
            is_remote=is_from_elsewhere(headers, _peer(scope)),
            session=endpoint and endpoint.session(headers),
            forgotten_session=endpoint and endpoint.forgotten_session(scope["method"], headers),
        )
        trace = read_trace(headers) if self._reads_trace else None
        facts = RequestFacts(
            credentials=credentials,
            request_id=request_id,
            has_server_token=admitted.bearer_is_servers,
            wishes=wishes,
            trace=trace,
        )
        if endpoint is not None:
            scope[FACTS] = facts
            await endpoint.answer(scope, headers, receive, send)
        elif route is not None:
            await route(scope, facts, receive, send)
        elif is_rpc:
            await self._rpc.answer(path[len(PREFIX) :], scope, headers, facts, receive, send)
        elif (missed := self._doors.find_missed(scope)) is not None:
            await send_error(send, missed)
        else:
            await send_detail(send, 404, f"Nothing is served at {path!r:.200}. MCP is at /mcp, tools at /rpc/<tool>.")

    async def _admit(
        self, scope: Scope, headers: Headers, send: Send, *, operator_may: bool, needs_token: bool = True
    ) -> Admitted | None:
        """None where the request was refused, which is answered."""
        admitted: Admitted | HttpRefusal = self._gate.check_source(scope["headers"], headers) or UNPROVEN
        if needs_token and not isinstance(admitted, HttpRefusal):
            admitted = self._gate.check_token(headers, _peer(scope), operator_may=operator_may)
        if isinstance(admitted, HttpRefusal):
            await send_detail(send, admitted.status, admitted.detail)
            return None
        if declared_too_large(headers):
            await send_detail(send, 413, _TOO_LARGE)
            return None
        return admitted

    async def _answer_at_door(
        self, door: DoorApp, scope: Scope, headers: Headers, request_id: str, receive: Receive, send: Send
    ) -> None:
        """The operator's token opens none."""
        needs_token = scope["path"] not in door.open_paths
        admitted = await self._admit(scope, headers, send, operator_may=False, needs_token=needs_token)
        if admitted is None:
            return
        if (missed := self._doors.find_missed(scope)) is not None:
            await send_error(send, missed)
            return
        credentials = read_credentials(
            headers,
            via="mcp",
            bearer_is_servers=admitted.bearer_is_servers,
            origin=_connection(scope),
            is_remote=is_from_elsewhere(headers, _peer(scope)),
        )
        query = read_query(scope["query_string"])
        request = DoorRequest(scope=scope, headers=headers, query=query, credentials=credentials, request_id=request_id)
        await door.answer(request, receive, send)

    def _endpoint_of(self, path: str, wishes: ResponsePreferences) -> McpEndpoint | None:
        return self._endpoints.get(wishes.profile.name, self._endpoint) if path in self._mcp_paths else None

    def _route_of(self, path: str) -> Route | None:
        first_part = path[: path.find("/", 1) + 1]
        return self._routes.get(path) or self._routes.get(first_part)

    async def _answer_open(self, path: str, send: Send) -> bool:
        """What needs no token: probes, and the discovery that tells a client there is no OAuth here."""
        if path == "/health/liveness":
            await send_value(send, 200, {"status": "alive"})
        elif path == "/health/readiness":
            ready = await self._is_ready()
            await send_value(send, 200 if ready else 503, {"status": "ready" if ready else "starting"})
        elif path.startswith(_WELL_KNOWN):
            await send_value(send, 404, {"mcp_oauth": False})
        else:
            return False
        return True


_BLANKS = (b" ", b"\t")


def _trim(scope: Scope) -> None:
    """Blanks behind a header's value do not belong to it (RFC 9110); httptools leaves them on."""
    if any(value.endswith(_BLANKS) for _, value in scope["headers"]):
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]


def _peer(scope: Scope) -> str | None:
    client = scope.get("client")
    return client[0] if client else None


def _connection(scope: Scope) -> str | None:
    client = scope.get("client")
    return f"{client[0]}:{client[1]}" if client else None


def _logged(scope: Scope, send: Send) -> Send:
    """A line per request when its answer starts: method, path, status, duration. No query, no body."""
    started = time.perf_counter()

    async def send_and_log(message: Message) -> None:
        if message["type"] == "http.response.start":
            took_ms = round((time.perf_counter() - started) * 1_000, 1)
            facts = {"status": message["status"], "ms": took_ms, "peer": _peer(scope)}
            logger.info("%s %s", scope["method"], scope["path"], extra={"facts": facts})
        await send(message)

    return send_and_log
