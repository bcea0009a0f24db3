"""A toy tool table behind the real HTTP application, served by uvicorn on a free port in the test's own loop."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated

from mcp_agent_mail.core.concurrency.call_places import CallPlaces
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.params import Count, Text
from mcp_agent_mail.core.profiles import Profiles
from mcp_agent_mail.core.resources import ResourceSpec, ResourceTable, resource
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.tools import Json, ToolSpec, ToolTable, current_credentials, tool
from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
from mcp_agent_mail.server.dispatch import Calls
from mcp_agent_mail.server.doors import NO_DOORS, Doors
from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers
from mcp_agent_mail.server.edge.edge import Edge
from mcp_agent_mail.server.edge.gate import Gate
from mcp_agent_mail.server.edge.rates import NO_RATES, Rates
from mcp_agent_mail.server.mcp import create_mcp, fast_path_of
from mcp_agent_mail.server.mcp_endpoint import McpEndpoint
from mcp_agent_mail.server.preferences import Connections
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimiter, ConnectionLimits
from mcp_agent_mail.server.transport.http import HttpApp, HttpOptions
from mcp_agent_mail.server.transport.listener import open_listener
from mcp_agent_mail.server.transport.web_server import WebServer
from tests.mcp_way import HAS_FAST_PATH

VERSION = "7.8.9"


def toy_tools() -> list[ToolSpec]:
    async def echo(text: Annotated[str, Text(4_000_000)], times: Annotated[int, Count(1, 3)] = 1) -> Json:
        """Say it again."""
        return {"text": text * times, "nothing": None, "nested": [{"nothing": None}]}

    async def count(limit: Annotated[int, Count(1, 1000)] = 3) -> Json:
        """Count."""
        return [{"number": number} for number in range(limit)]

    async def clash() -> Json:
        """Refuse."""
        raise Conflict("It is taken.", hint="Take another.", data={"holders": ["BlueLake"]})

    async def crash(text: Annotated[str, Text()]) -> Json:
        """Fail as bugs do."""
        raise ValueError(text)

    async def who() -> Json:
        """Show what came with the request."""
        credentials = current_credentials()
        return {
            "via": credentials.via,
            "bearer": credentials.bearer_token,
            "agent": credentials.agent_token,
            "argument": credentials.token_argument,
        }

    async def rule() -> Json:
        """The operator's."""
        return {"ruled": True}

    return [
        tool(echo, cluster="toys", title="Echo", read_only=True, idempotent=True),
        tool(count, cluster="toys", title="Count", result_list=True),
        tool(clash, cluster="toys", title="Clash"),
        tool(crash, cluster="toys", title="Crash", destructive=True),
        tool(who, cluster="toys", title="Who"),
        tool(rule, cluster="toys", title="Rule", operator_only=True),
    ]


def toy_resources() -> list[ResourceSpec]:
    async def toys() -> Json:
        """All toys."""
        return [{"name": "ball"}]

    async def toy(name: Annotated[str, Text(64)], limit: Annotated[int, Count(1, 9)] = 2) -> Json:
        """One toy."""
        return {"name": name, "limit": limit, "nothing": None}

    async def broken() -> Json:
        """Fail as bugs do."""
        raise ValueError("secret")

    return [
        resource(toys, uri="resource://toys", name="toys", title="Toys", list_result=True),
        resource(toy, uri="resource://toy/{name}{?limit}", name="toy", title="Toy"),
        resource(broken, uri="resource://broken", name="broken", title="Broken"),
    ]


def toy_edge(
    *,
    server_token: str | None = None,
    operator_token: str | None = None,
    trust_loopback: bool = False,
    allowed_hosts: tuple[str, ...] = (),
    role: Role = Role.WRITER,
    rates: Rates = NO_RATES,
    tokens: IssuedTokenBook | None = None,
) -> Edge:
    rules = BearerRules(
        server_token=server_token, operator_token=operator_token, server_role=role, trust_loopback=trust_loopback
    )
    return Edge(Gate(allowed_hosts=allowed_hosts, bearers=Bearers(rules, tokens=tokens)), rates=rates)


async def always_ready() -> bool:
    return True


def toy_app(
    edge: Edge | None = None,
    *,
    log: bool = False,
    ready: bool = True,
    more_tools: tuple[ToolSpec, ...] = (),
    connections: Connections | None = None,
    doors: Doors = NO_DOORS,
    places: CallPlaces | None = None,
    has_fast_path: bool = HAS_FAST_PATH,
) -> HttpApp:
    async def is_ready() -> bool:
        return ready

    calls = Calls(ToolTable([*toy_tools(), *more_tools]), ResourceTable(toy_resources()), log_calls=log, places=places)
    mcp = create_mcp(calls, version=VERSION)
    return HttpApp(
        McpEndpoint(mcp, fast_path=fast_path_of(mcp, calls) if has_fast_path else None),
        calls,
        edge or toy_edge(),
        HttpOptions(
            http_path="/mail",
            log_requests=log,
            connections=connections or Connections(Profiles()),
            doors=doors,
        ),
        is_ready=is_ready,
    )


class _WithoutSignals(WebServer):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def hosted(
    app: HttpApp,
    *,
    port: int = 0,
    on_stopping: Callable[[], object] = lambda: None,
    room_size: ConnectionLimits | None = None,
    limiter: ConnectionLimiter | None = None,
    kernel_keeps_bytes: int | None = None,
    watch: Callable[[socket.socket], socket.socket] = lambda listener: listener,
    beside: Sequence[socket.socket] = (),
) -> AsyncIterator[str]:
    """The base URL of `app` while it is served, in a task of its own. `kernel_keeps_bytes`: of what is written to a
    connection and not taken yet. `watch` may put another socket in the place of the listening one; it listens at those
    `beside` too.
    """
    started = asyncio.Event()
    with watch(open_listener("127.0.0.1", port)) as listener:
        if kernel_keeps_bytes is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, kernel_keeps_bytes)
        limiter = limiter or ConnectionLimiter(time.monotonic, room_size)
        server = _WithoutSignals(app, grace_s=2.0, on_started=started.set, on_stopping=on_stopping, limiter=limiter)

        async def live() -> None:
            async with app.opened():
                await server.serve(sockets=[listener, *beside])

        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(live())
            await started.wait()
            try:
                yield url
            finally:
                server.stop_soon()
