"""A toy table of routes over toy tools, in the real application."""

from __future__ import annotations

from typing import Annotated

from starlette.types import Receive, Scope, Send

from mcp_agent_mail.core.params import Flag, Id, Ids, Text, Texts
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Json, ResultList, ToolSpec, ToolTable, tool
from mcp_agent_mail.server.dispatch import Calls, RequestFacts
from mcp_agent_mail.server.edge.edge import Edge
from mcp_agent_mail.server.edge.paths import PathClass
from mcp_agent_mail.server.mcp import create_mcp
from mcp_agent_mail.server.mcp_endpoint import McpEndpoint
from mcp_agent_mail.server.rendering.responses import send_value
from mcp_agent_mail.server.rest.endpoint import MOUNT, Rest
from mcp_agent_mail.server.rest.routes import ROUTES, ResourceRead, RestRoute, RouteAnswer, ToolCall
from mcp_agent_mail.server.transport.http import HttpApp, HttpOptions, ServedPath
from tests.server.hosted import VERSION, always_ready, toy_edge, toy_resources, toy_tools


def _picking() -> list[ToolSpec]:
    async def pick(
        names: Annotated[list[str] | None, Texts()] = None,
        ids: Annotated[list[int] | None, Ids()] = None,
        word: Annotated[str, Text()] = "none",
        mark_read: Annotated[bool, Flag(writes=True)] = False,
    ) -> Json:
        """Show what came."""
        return {"names": names, "ids": ids, "word": word, "mark_read": mark_read}

    async def keep(
        number: Annotated[int, Id()],
        word: Annotated[str, Text()] = "none",
        numbers: Annotated[list[int] | None, Ids()] = None,
    ) -> Json:
        """Show what came."""
        return {"number": number, "word": word, "numbers": numbers}

    async def tally(limit: Annotated[int, Id(low=0)] = 2) -> Json:
        """A list, and what belongs to it."""
        counts = {"total": 9}
        return ResultList(range(limit), counts) if limit else counts

    return [
        tool(pick, cluster="toys", title="Pick", read_only=True, token_argument="registration_token"),
        tool(keep, cluster="toys", title="Keep", token_argument="sender_token"),
        tool(tally, cluster="toys", title="Tally", read_only=True, result_list=True),
    ]


TOY_ROUTES = (
    RestRoute(method="GET", path="picked", target=ToolCall(tool="pick")),
    RestRoute(method="GET", path="tally", target=ToolCall(tool="tally")),
    RestRoute(method="GET", path="crash", target=ToolCall(tool="crash")),
    RestRoute(method="GET", path="who", target=ToolCall(tool="who")),
    RestRoute(method="POST", path="echo", target=ToolCall(tool="echo")),
    RestRoute(
        method="POST",
        path="kept/{n}/again",
        target=ToolCall(tool="keep", from_path={"n": "number"}, never=("numbers",)),
    ),
    RestRoute(method="GET", path="toys", target=ResourceRead(uri="resource://toys")),
    RestRoute(
        method="GET",
        path="toys/{toy}",
        target=ResourceRead(uri="resource://toy/{name}{?limit}", from_path={"toy": "name"}, also={"most": "limit"}),
    ),
    RestRoute(
        method="GET",
        path="stream",
        target=RouteAnswer(
            name="stream",
            title="Stream",
            description="Goes on.",
            arguments={"type": "object", "properties": {"after": {"type": "integer"}}},
            media_type="text/event-stream",
            is_stream=True,
        ),
    ),
    ROUTES[-1],
)


async def stream(scope: Scope, facts: RequestFacts, _receive: Receive, send: Send) -> None:
    await send_value(send, 200, {"path": scope["path"], "via": facts.credentials.via}, (b"cache-control", b"no-cache"))


def toy_calls() -> Calls:
    return Calls(ToolTable([*toy_tools(), *_picking()]), ResourceTable(toy_resources()))


def rest_app(edge: Edge | None = None) -> HttpApp:
    calls = toy_calls()
    rest = Rest(calls, routes=TOY_ROUTES, own={"stream": stream})
    return HttpApp(
        McpEndpoint(create_mcp(calls, version=VERSION)),
        calls,
        edge or toy_edge(),
        HttpOptions(routes={MOUNT: ServedPath(PathClass.REST, rest.answer)}),
        is_ready=always_ready,
    )
