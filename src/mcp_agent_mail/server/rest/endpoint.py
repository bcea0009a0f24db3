"""`/rest/v1/`: the table of routes over the tools, for whoever speaks HTTP and JSON alone. Admitted like `/rpc`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from starlette.types import Receive, Scope, Send

from mcp_agent_mail import __version__
from mcp_agent_mail.core.arguments import TOKEN_ARGUMENTS, CallWay, bind
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, NotFound
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.resources import ResourceSpec
from mcp_agent_mail.core.tools import Json, JsonObject, ToolSpec
from mcp_agent_mail.server.dispatch import Calls, RequestFacts, changes
from mcp_agent_mail.server.edge.rates import RateClass
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.plain_calls import PlainCall, answer_call, is_json, parse_object, refuse_type, send_error
from mcp_agent_mail.server.rendering.responses import send_detail, send_value, without_body
from mcp_agent_mail.server.rendering.wire import structured_list
from mcp_agent_mail.server.rest.arguments import (
    Pairs,
    from_query,
    read_pairs,
    renamed,
    require_no_body,
    require_no_query,
    with_path,
    without_connection,
)
from mcp_agent_mail.server.rest.openapi import describe
from mcp_agent_mail.server.rest.routes import OPENAPI, PREFIX, ROUTES, ResourceRead, RestRoute, RouteAnswer, ToolCall

if TYPE_CHECKING:
    from mcp_agent_mail.server.transport.http import Route

MOUNT = "/rest/"

_FOREIGN = (b"cross-site", b"same-site")
"""What a browser says of a request that another site's page makes. One that comes without an Origin could not be judged
by it; of others the edge has found that their page may ask.
"""


class UnknownRoute(NotFound):
    """No route has this path."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request for a route, as far as its path and its query say it."""

    route: RestRoute
    keys: Mapping[str, str]
    pairs: Pairs
    is_head: bool


class Rest:
    """`own` answers the rows that no tool does. Every tool and resource of `routes` has to be there."""

    def __init__(
        self, calls: Calls, *, routes: Sequence[RestRoute] = ROUTES, own: Mapping[str, Route] | None = None
    ) -> None:
        self._calls = calls
        self._routes = tuple(routes)
        self._own = {OPENAPI: self._describe, **(own or {})}
        self._resources = {spec.uri: spec for spec in calls.resources.specs()}
        for route in self._routes:
            assert self._is_there(route), f"{route.shown}: nothing answers it"

    def _is_there(self, route: RestRoute) -> bool:
        match route.target:
            case ToolCall(tool=tool):
                return tool in self._calls.tools
            case ResourceRead(uri=uri):
                return uri in self._resources
            case RouteAnswer(name=name):
                return name in self._own

    async def answer(self, scope: Scope, facts: RequestFacts, receive: Receive, send: Send) -> None:
        """One request. Raises what `read_body` raises."""
        headers: Headers = dict(scope["headers"])
        method, path = scope["method"], scope["path"]
        if headers.get(b"sec-fetch-site") in _FOREIGN and b"origin" not in headers:
            await send_detail(send, 403, "A page of another site asks. Only pages of this server and programs may.")
            return
        found = [(route, keys) for route in self._routes if (keys := route.match(path)) is not None]
        if not found:
            facts.charge(RateClass.OTHERS)
            await send_error(send, self._unknown(path))
            return
        route, keys = next(((route, keys) for route, keys in found if method in route.methods), (None, {}))
        if route is None:
            facts.charge(RateClass.OTHERS)
            allowed = [one for other, _ in found for one in other.methods]
            refusal = {"detail": f"Use {' or '.join(allowed)} here."}
            await send_value(send, 405, refusal, (b"allow", ", ".join(allowed).encode()))
            return
        await self._answer(route, keys, scope, facts, receive, send)

    async def _answer(
        self, route: RestRoute, keys: Mapping[str, str], scope: Scope, facts: RequestFacts, receive: Receive, send: Send
    ) -> None:
        if route.method == "POST" and not is_json(dict(scope["headers"])):
            facts.charge(RateClass.OTHERS)
            await refuse_type(send)
            return
        is_head = scope["method"] == "HEAD"
        if is_head:
            send = without_body(send)
        if isinstance(route.target, RouteAnswer):
            facts.charge(RateClass.OTHERS)
            await self._own[route.target.name](scope, facts, receive, send)
            return
        try:
            call = self._call(_Asked(route, keys, read_pairs(scope["query_string"]), is_head), facts)
        except AgentMailError as refused:
            facts.charge(RateClass.OTHERS)
            await send_error(send, refused)
            return
        await answer_call(call, scope, receive, send, is_shown=not is_head)

    def _call(self, asked: _Asked, facts: RequestFacts) -> PlainCall:
        target = asked.route.target
        if isinstance(target, ToolCall):
            spec = self._calls.tools.find(target.tool)
            assert spec is not None, target
            return self._tool_call(asked, target, spec, facts)
        assert isinstance(target, ResourceRead), target
        return self._resource_call(asked, target, self._resources[target.uri], facts)

    def _tool_call(self, asked: _Asked, target: ToolCall, spec: ToolSpec, facts: RequestFacts) -> PlainCall:
        tokens = TOKEN_ARGUMENTS if asked.route.method == "GET" else ()
        way = CallWay(hidden=frozenset((*target.from_path.values(), *target.never, *tokens)))

        def parse(body: bytes) -> JsonObject:
            pairs = without_connection(asked.pairs, spec.params)
            if asked.route.method == "POST":
                require_no_query(pairs)
                given = parse_object(body)
            else:
                require_no_body(body)
                given = from_query(pairs, _lists(spec), spec.params)
            arguments = with_path(given, asked.keys, target.from_path, target.never)
            if asked.is_head and changes(spec, arguments):
                raise InvalidInput("HEAD shows nothing, and so marks nothing.", hint="Use GET.")
            return arguments

        async def run(arguments: Mapping[str, Json]) -> Json:
            result = await self._calls.run_tool(spec.name, arguments, facts, way)
            return structured_list(result) if spec.result_list else result

        return PlainCall(title=spec.name, parse=parse, run=run, output=facts.wishes.output, charge=facts.charge)

    def _resource_call(self, asked: _Asked, target: ResourceRead, spec: ResourceSpec, facts: RequestFacts) -> PlainCall:
        def parse(body: bytes) -> JsonObject:
            require_no_body(body)
            pairs = without_connection(asked.pairs, spec.params)
            given = renamed(from_query(pairs, (), spec.params), target.also)
            arguments = with_path(given, asked.keys, target.from_path)
            # A resource reads past keys that it does not know; a route refuses them.
            in_path = target.from_path.values()
            bind(spec.params, arguments, what=asked.route.shown, taken_out=target.also, hidden=in_path)
            return arguments

        async def run(arguments: Mapping[str, Json]) -> Json:
            result = await self._calls.read_resource(_uri(spec, arguments), facts)
            return structured_list(result) if spec.result_list else result

        return PlainCall(title=spec.name, parse=parse, run=run, output=facts.wishes.output, charge=facts.charge)

    async def _describe(self, scope: Scope, facts: RequestFacts, receive: Receive, send: Send) -> None:  # noqa: ARG002  # of every route
        try:
            for key, _ in without_connection(read_pairs(scope["query_string"]), ()):
                hint = "This route has none: leave it out."
                raise InvalidInput(f"No argument is called {key!r:.100}.", hint=hint, data={"accepted": []})
        except AgentMailError as refused:
            await send_error(send, refused)
            return
        known = await self._calls.tools.known_of(facts.credentials)
        document = describe(self._routes, self._calls.tools, self._resources, known=known, version=__version__)
        await send_value(send, 200, document)

    def _unknown(self, path: str) -> UnknownRoute:
        routes = [route.shown for route in self._routes]
        return UnknownRoute(
            f"Nothing is served at {path!r:.200}.",
            hint=f"There are, below {PREFIX}: {', '.join(f'{one.method} {one.path}' for one in self._routes)}.",
            data={"routes": routes},
        )


def _lists(spec: ToolSpec) -> frozenset[str]:
    properties = spec.schema["properties"]
    return frozenset(name for name, schema in properties.items() if schema.get("type") == "array")


def _uri(spec: ResourceSpec, arguments: Mapping[str, Json]) -> str:
    filled = spec.bare_uri
    for key in spec.path_keys:
        filled = filled.replace(f"{{{key}}}", quote(str(arguments[key]), safe=""))
    query = {key: arguments[key] for key in spec.query_keys if key in arguments}
    return f"{filled}?{urlencode(query, quote_via=quote, safe='')}" if query else filled
