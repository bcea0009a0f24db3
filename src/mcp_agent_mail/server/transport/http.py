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
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import field, replace
from functools import partial
from typing import NamedTuple

from starlette.types import Message, Receive, Scope, Send

from mcp_agent_mail.core.errors import InvalidInput, RateLimited, Unavailable
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.logging import request_scope
from mcp_agent_mail.core.profiles import Profiles
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.settings.mcp_paths import MCP_PATHS
from mcp_agent_mail.facades.asgi import DoorApp, DoorRequest
from mcp_agent_mail.server.dispatch import Calls, RequestFacts, free
from mcp_agent_mail.server.doors import NO_DOORS, Doors
from mcp_agent_mail.server.edge.admitted import Admitted
from mcp_agent_mail.server.edge.discovery import Discovery, SignIn
from mcp_agent_mail.server.edge.edge import Edge, peer
from mcp_agent_mail.server.edge.gate import is_from_elsewhere
from mcp_agent_mail.server.edge.paths import (
    LIVENESS,
    RPC_PREFIX,
    RULES,
    AcceptedBearers,
    ByPath,
    PathClass,
    PathRule,
    PathTable,
    both_forms,
)
from mcp_agent_mail.server.edge.rates import RateClass
from mcp_agent_mail.server.identity import Headers, read_credentials, read_query
from mcp_agent_mail.server.mcp import FACTS
from mcp_agent_mail.server.mcp_endpoint import McpEndpoint
from mcp_agent_mail.server.observability.trace_context import read_trace
from mcp_agent_mail.server.pages.endpoint import NO_PAGES_BELOW, PAGES, PagesEndpoint
from mcp_agent_mail.server.plain_calls import send_error
from mcp_agent_mail.server.preferences import Connections, ResponsePreferences
from mcp_agent_mail.server.rendering.responses import (
    refusing_over_mcp,
    send_detail,
    send_limited,
    send_value,
    without_body,
)
from mcp_agent_mail.server.rpc import Rpc
from mcp_agent_mail.server.transport.answers import PREFIX
from mcp_agent_mail.server.transport.limits import (
    MAX_VALUES,
    BodyTooLarge,
    ClientLeft,
    TooManyValues,
    declared_too_large,
)
from mcp_agent_mail.server.transport.request_headers import is_mcp_clients, trim_values

logger = logging.getLogger("mcp_agent_mail.http")

_TOO_LARGE = (
    "The request body is over 4 MiB; nothing was done. A message's body_md may have 1 MiB (MESSAGE_BODY_MAX_BYTES): "
    "send the essence and say in which file the rest stands."
)
_TOO_MANY_VALUES = (
    f"The request body has more than {MAX_VALUES:,} JSON values; nothing was done. No tool takes that many: send fewer."
)


Route = Callable[[Scope, RequestFacts, Receive, Send], Awaitable[None]]


class ServedPath(NamedTuple):
    path_class: PathClass
    answer: Route


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """`http_path` is one more path for MCP beside `MCP_PATHS`; `routes` have other paths, each of a class: whole ones,
    and with a closing slash all below the first part of a path. `endpoints` are those of profiles that have tool tables
    of their own, by the profile's name: MCP's paths lead to them for who asks for it. They have no event streams.
    `doors` have what is theirs, whatever else is served there.

    `bound_waiters` is told how many may wait for mail, calls and event streams together: each keeps a connection.
    `reads_trace` takes over the span that a request names as its parent. `sign_in` says where tokens come from.
    """

    http_path: str = MCP_PATHS[0]
    log_requests: bool = False
    reads_trace: bool = False
    connections: Connections = field(default_factory=lambda: Connections(Profiles()))
    routes: Mapping[str, ServedPath] = field(default_factory=dict)
    endpoints: Mapping[str, McpEndpoint] = field(default_factory=dict)
    doors: Doors = NO_DOORS
    bound_waiters: Callable[[int], None] = lambda _: None
    sign_in: SignIn | None = None
    pages: PagesEndpoint | None = None


class HttpApp:
    """The whole server as one ASGI callable. Requests are served between `opened`'s entry and exit."""

    def __init__(
        self,
        endpoint: McpEndpoint,
        calls: Calls,
        edge: Edge,
        options: HttpOptions,
        *,
        is_ready: Callable[[], Awaitable[bool]],
    ) -> None:
        self._endpoint = endpoint
        self._rpc = Rpc(calls)
        self._edge = edge
        self._connections = options.connections
        self._routes = ByPath({path: served.answer for path, served in options.routes.items()})
        self._endpoints = options.endpoints
        self._doors = options.doors
        self.bound_waiters = options.bound_waiters
        self.mcp_paths = both_forms((*MCP_PATHS, options.http_path))
        routes = {path: served.path_class for path, served in options.routes.items()}
        self.paths = PathTable(self.mcp_paths, {**routes, **(PAGES if options.pages else {})})
        self._pages = options.pages
        self._has_told_prefix = False
        self._discovery = Discovery(options.sign_in, self.mcp_paths)
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
            await stack.enter_async_context(self._edge.opened())
            yield

    def speaks_mcp(self, path: str, server: tuple[str, int | None] | None) -> bool:
        """Whether MCP is spoken there: at this server's own paths or at a door's."""
        door = self._doors.find(path, server)
        return self.paths.find(path) is PathClass.MCP if door is None else door.speaks_mcp(path)

    def bound_streams(self, at_most: int) -> None:
        """Allow at most `at_most` event streams at a time, since each keeps a connection."""
        self._endpoint.max_streams = at_most

    def end_streams(self) -> None:
        """Close the event streams clients hold open, which would keep a stopping server waiting."""
        self._endpoint.end_streams()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(f"{scope['type']} is not served")
        trim_values(scope)
        headers: Headers = dict(scope["headers"])
        request_id = f"{self._id_prefix}-{next(self._ids)}"
        with request_scope(request_id):
            if self._log_requests:
                send = _logged(scope, send)
            door = None if self._doors is NO_DOORS else self._doors.find(scope["path"], scope.get("server"))
            path_class = PathClass.DOOR if door is not None else self.paths.find(scope["path"])
            rule = None if path_class is None else RULES[path_class]
            if self._misses_pages(scope, path_class):
                path_class, rule = None, _WITHOUT_PAGES
            elif path_class is PathClass.PAGE and is_mcp_clients(scope, headers):
                path_class = rule = None  # Lost, not looking at pages: `/` is where people begin.
            send = self._edge.guarded(headers, rule, send)
            is_mcp = path_class is PathClass.MCP or (door is not None and door.speaks_mcp(scope["path"]))
            if is_mcp or is_mcp_clients(scope, headers):
                send = refusing_over_mcp(send)
            request = _Request(scope=scope, headers=headers, rule=rule or _UNSERVED, id=request_id)
            try:
                await self._answer_as(path_class, door, request, receive, send)
            except BodyTooLarge:
                await send_detail(send, 413, _TOO_LARGE)
            except TooManyValues:
                await send_detail(send, 413, _TOO_MANY_VALUES)
            except RateLimited as limited:
                await send_limited(send, limited)
            except ClientLeft:
                logger.debug("the client left before its request was complete")

    def _misses_pages(self, scope: Scope, path_class: PathClass | None) -> bool:
        """Whether what is asked for would be the pages', and they are not there: their addresses begin at the root."""
        if self._pages is None or not scope.get(PREFIX):
            return False
        if not self._has_told_prefix:
            self._has_told_prefix = True
            logger.warning(NO_PAGES_BELOW, extra={"facts": {"prefix": scope[PREFIX]}})
        return path_class in (PathClass.PAGE, PathClass.ASSET)

    async def _answer_as(
        self, path_class: PathClass | None, door: DoorApp | None, request: _Request, receive: Receive, send: Send
    ) -> None:
        if door is not None:
            await self._answer_at_door(door, request, receive, send)
        elif path_class is PathClass.PAGE:
            assert self._pages is not None, "the table has PAGE and ASSET only where there are pages"
            await self._pages.answer(request.scope, request.headers, request.rule, request.id, receive, send)
        elif path_class in (PathClass.PROBE, PathClass.DISCOVERY, PathClass.ASSET):
            await self._answer_open(path_class, request, send)
        else:
            await self._answer(request, path_class, receive, send)

    async def _answer(self, request: _Request, path_class: PathClass | None, receive: Receive, send: Send) -> None:
        scope, headers = request.scope, request.headers
        query = read_query(scope["query_string"])
        is_mcp = path_class is PathClass.MCP or path_class is None
        wishes = self._wishes(query, headers, is_mcp=is_mcp)
        endpoint = None if isinstance(wishes, InvalidInput) else self._endpoint_of(path_class, wishes)
        is_foreign = endpoint is not None and endpoint is not self._endpoint
        if is_foreign:
            request = replace(request, rule=replace(request.rule, accepts=AcceptedBearers.NOT_OPERATORS))
        admitted = await self._admit(request, send)
        if admitted is None:
            return
        if isinstance(wishes, InvalidInput):
            self._edge.charge(admitted.payer, RateClass.OTHERS)
            await send_detail(send, 400, wishes.text)
            return
        if is_foreign:
            admitted = replace(admitted, role=min(admitted.role, Role.WRITER))
        charge = self._edge.charge_of(admitted)
        facts = RequestFacts(
            credentials=read_credentials(
                headers,
                query,
                via="mcp" if is_mcp else "rpc",
                admitted=admitted,
                origin=_connection(scope),
                is_remote=is_from_elsewhere(headers, peer(scope)),
                session=endpoint and endpoint.session(headers, admitted.opener),
                forgotten_session=endpoint and endpoint.forgotten_session(scope["method"], headers),
            ),
            request_id=request.id,
            opener=admitted.opener,
            charge=charge or free,
            wishes=wishes,
            trace=read_trace(headers) if self._reads_trace else None,
        )
        # What is posted to MCP is told apart by its body: a tool call or a read counts as one where it is run.
        if request.rule.rate is not None and not (endpoint is not None and scope["method"] == "POST"):
            facts.charge(request.rule.rate)
        answer = partial(self._answer_admitted, request, endpoint, facts)
        with nullcontext() if charge is None else charge.settled():
            await self._edge.answer_while_live(admitted, receive, send, answer)

    def _wishes(
        self, query: Mapping[str, str], headers: Headers, *, is_mcp: bool
    ) -> ResponsePreferences | InvalidInput:
        """What the request asks for beside its call, or why nobody knows: who may not come in is not told."""
        try:
            return self._connections.wishes(query, headers, is_rpc=not is_mcp)
        except InvalidInput as unknown:
            return unknown

    async def _answer_admitted(
        self, request: _Request, endpoint: McpEndpoint | None, facts: RequestFacts, receive: Receive, send: Send
    ) -> None:
        scope, path = request.scope, request.scope["path"]
        if endpoint is not None:
            scope[FACTS] = facts
            await endpoint.answer(scope, request.headers, receive, send)
        elif path.startswith(RPC_PREFIX):
            await self._rpc.answer(path[len(RPC_PREFIX) :], scope, request.headers, facts, receive, send)
        elif (route := self._routes.find(path)) is not None:
            await route(scope, facts, receive, send)
        elif (missed := self._doors.find_missed(scope)) is not None:
            await send_error(send, missed)
        elif request.rule is _WITHOUT_PAGES:
            await send_detail(send, 404, f"{NO_PAGES_BELOW} Here this server is below {scope[PREFIX]!r:.200}.")
        else:
            await send_detail(send, 404, f"Nothing is served at {path!r:.200}. MCP is at /mcp, tools at /rpc/<tool>.")

    async def _admit(self, request: _Request, send: Send) -> Admitted | None:
        """None where the request was refused, which is answered."""
        admitted = await self._edge.admit(request.scope, request.headers, request.rule, send)
        if admitted is not None and declared_too_large(request.headers):
            self._edge.charge(admitted.payer, RateClass.OTHERS)
            await send_detail(send, 413, _TOO_LARGE)
            return None
        return admitted

    async def _answer_at_door(self, door: DoorApp, request: _Request, receive: Receive, send: Send) -> None:
        """The operator's token opens none."""
        scope, headers = request.scope, request.headers
        if scope["path"] in door.open_paths:
            request = replace(request, rule=_OPEN_AT_DOOR)
        admitted = await self._admit(request, send)
        if admitted is None:
            return
        if (missed := self._doors.find_missed(scope)) is not None:
            self._edge.charge(admitted.payer, RateClass.OTHERS)
            await send_error(send, missed)
            return
        if request.rule.rate is not None:
            self._edge.charge(admitted.payer, request.rule.rate)
        credentials = read_credentials(
            headers,
            via="mcp",
            admitted=replace(admitted, role=min(admitted.role, Role.WRITER)),
            origin=_connection(scope),
            is_remote=is_from_elsewhere(headers, peer(scope)),
        )
        query = read_query(scope["query_string"])
        asked = DoorRequest(
            scope=scope,
            headers=headers,
            query=query,
            credentials=credentials,
            request_id=request.id,
            opener=admitted.opener,
        )
        await self._edge.answer_while_live(admitted, receive, send, partial(door.answer, asked))

    def _endpoint_of(self, path_class: PathClass | None, wishes: ResponsePreferences) -> McpEndpoint | None:
        is_mcp = path_class is PathClass.MCP
        return self._endpoints.get(wishes.profile.name, self._endpoint) if is_mcp else None

    async def _answer_open(self, path_class: PathClass, request: _Request, send: Send) -> None:
        """What needs no token: probes, what pages load, and who issues tokens, if anybody."""
        scope, rule = request.scope, request.rule
        admitted = await self._edge.admit(scope, request.headers, rule, send)
        if admitted is None:
            return
        if rule.rate is not None:
            self._edge.charge(admitted.payer, rule.rate)
        if scope["method"] == "HEAD":
            send = without_body(send)
        if path_class is PathClass.ASSET:
            assert self._pages is not None, "the table has PAGE and ASSET only where there are pages"
            await self._pages.answer_asset(scope, request.headers, send)
        elif path_class is PathClass.DISCOVERY:
            await self._discovery.answer(scope["path"], send)
        elif scope["path"] == LIVENESS:
            await send_value(send, 200, {"status": "alive"})
        else:
            try:
                ready = await self._is_ready()
            except Unavailable as refused:
                await send_value(send, 503, {"status": "unavailable", "reason": refused.message})
                return
            await send_value(send, 200 if ready else 503, {"status": "ready" if ready else "starting"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """`rule` is what its path's class says."""

    scope: Scope
    headers: Headers
    rule: PathRule
    id: str


_UNSERVED = PathRule()
"""Of paths that nothing is served at: who may not come in does not learn that."""
_WITHOUT_PAGES = PathRule(accepts=AcceptedBearers.NONE, holds_mail=False)
"""Of pages below a prefix: who looks for them is told so, whoever it is."""
_OPEN_AT_DOOR = PathRule(accepts=AcceptedBearers.NONE, rate=None)
"""Of what a door answers to anybody: a probe, which is free as ours are."""


def _connection(scope: Scope) -> str | None:
    client = scope.get("client")
    return f"{client[0]}:{client[1]}" if client else None


def _logged(scope: Scope, send: Send) -> Send:
    """A line per request when its answer starts: method, path, status, duration. No query, no body."""
    started = time.perf_counter()

    async def send_and_log(message: Message) -> None:
        if message["type"] == "http.response.start":
            took_ms = round((time.perf_counter() - started) * 1_000, 1)
            facts = {"status": message["status"], "ms": took_ms, "peer": peer(scope)}
            logger.info("%s %s", scope["method"], scope["path"], extra={"facts": facts})
        await send(message)

    return send_and_log
