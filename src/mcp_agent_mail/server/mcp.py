"""The MCP server: FastMCP lists what the tables declare, handlers of ours run it.

FastMCP's own call path costs several times what a tool of ours does, so `tools/call` and
`resources/read` are answered by two low-level handlers straight from the tables (numbers:
docs/adr/0010). That leans on private attributes of FastMCP 4.1; tests/server/test_mcp.py fails
when an update moves them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

from fastmcp import FastMCP
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.tools import Tool
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    CompleteRequestParams,
    CompleteResult,
    DiscoverResult,
    InitializeResult,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
    SubscriptionsListenRequestParams,
    ToolAnnotations,
)
from mcp_types import Resource as WireResource
from mcp_types import ResourceTemplate as WireTemplate
from mcp_types import Tool as WireTool
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from mcp_agent_mail.core.concurrency.outside_end import is_from_outside, running_task
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.params import IdentityPart
from mcp_agent_mail.core.profiles import CUSTOM, FULL, LISTED_FIRST, ToolProfile
from mcp_agent_mail.core.resources import ResourceSpec
from mcp_agent_mail.core.tools import Credentials, ToolSpec
from mcp_agent_mail.server.completion import Suggest, complete
from mcp_agent_mail.server.dispatch import Calls, RequestFacts, masked
from mcp_agent_mail.server.fast_path.fast_path import FastPath
from mcp_agent_mail.server.fast_path.table_calls import TableCalls, read_refusal
from mcp_agent_mail.server.prompts import WORKFLOWS, Workflow, prompt_of, shown_for
from mcp_agent_mail.server.rendering.mcp_words import OURS, McpWords
from mcp_agent_mail.server.rendering.profile_texts import fitted
from mcp_agent_mail.server.rendering.unfit_params import unfit_params
from mcp_agent_mail.server.rendering.wire import error_object
from mcp_agent_mail.server.subscriptions import SubscriptionEndpoint, without_list_changes
from mcp_agent_mail.server.transport.hearing import HEARING, RequestHearing

FACTS = "mcp_agent_mail.facts"
"""Key of a request's `RequestFacts` in its ASGI scope."""

SESSION_HEADER = "mcp-session-id"
_INVALID_REQUEST = -32600
_OURS = frozenset(
    {"tools/call", "resources/read", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"}
)
_NO_REQUEST = RequestFacts(credentials=Credentials(via="mcp"), request_id="in-process", opener=None)

Context = ServerRequestContext[Any, Any]


class ListedTool(Tool):
    """A declared tool as FastMCP lists it. It is never run: `_call_tool` answers."""

    def to_mcp_tool(self, **_overrides: Any) -> WireTool:  # Any: FastMCP's signature
        """What `tools/list` sends, without FastMCP's own additions such as `_meta` and an output schema."""
        return WireTool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.parameters,
            annotations=self.annotations,
        )


class ListedResource(Resource):
    """A declared resource as FastMCP lists it; `_read_resource` answers."""

    def to_mcp_resource(self, **_overrides: Any) -> WireResource:  # Any: FastMCP's signature
        return WireResource(
            name=self.name, title=self.title, uri=str(self.uri), description=self.description, mime_type=self.mime_type
        )


class ListedTemplate(ResourceTemplate):
    """A declared resource with keys in its path as FastMCP lists it; `_read_resource` answers."""

    def to_mcp_template(self, **_overrides: Any) -> WireTemplate:  # Any: FastMCP's signature
        """What `resources/templates/list` sends, without FastMCP's own additions such as `_meta`."""
        return WireTemplate(
            name=self.name,
            title=self.title,
            uri_template=self.uri_template,
            description=self.description,
            mime_type=self.mime_type,
        )


class RawParams(BaseModel):
    """The SDK has validated the parameters already; the handlers read them as they came."""


def create_mcp(
    calls: Calls,
    *,
    version: str,
    suggest: Suggest | None = None,
    subscriptions: SubscriptionEndpoint | None = None,
    workflows: Sequence[Workflow] = WORKFLOWS,
    words: McpWords = OURS,
) -> FastMCP[Any]:
    """The server over `calls`, named and versioned, ready for `http_app`. Without `suggest` it completes nothing,
    without `subscriptions` nobody is told of changes. `workflows` are its prompts, which name tools of ours.
    """
    mcp: FastMCP[Any] = FastMCP(
        words.server_name,
        instructions=words.greeting(FULL),
        version=version,
        dereference_schemas=False,
        mask_error_details=True,
        tasks=False,
    )
    for tool in listed_first(calls.tools.specs()) if words.is_ours else calls.tools.specs():
        if tool.is_over_mcp:
            mcp.add_tool(listed_tool(tool))
    for resource in calls.resources.specs():
        if resource.is_static:
            mcp.add_resource(_listed_resource(resource))
        else:
            mcp.add_template(_listed_template(resource))
    for workflow in workflows:
        mcp.add_prompt(prompt_of(workflow))
    _install_handlers(mcp, calls, words)
    if subscriptions is not None:
        _install_subscriptions(mcp, subscriptions)
    if suggest is not None:
        known = {workflow.name for workflow in workflows} | {spec.uri for spec in calls.resources.specs()}
        answer = partial(_complete, suggest, frozenset(known))
        mcp._mcp_server.add_request_handler("completion/complete", CompleteRequestParams, answer)  # noqa: SLF001
    return mcp


def fast_path_of(mcp: FastMCP[Any], calls: Calls, words: McpWords = OURS) -> FastPath:
    """Answers, beside the server that was created over them, calls of the same tables in the same words."""
    return FastPath(calls, mcp._mcp_server.server_info_stamp, words)  # noqa: SLF001  # guarded by tests/server/fast_path


def listed_first(specs: Iterable[ToolSpec]) -> list[ToolSpec]:
    """In the order of `tools/list`: what agents call first, then the rest as declared."""
    place = {name: number for number, name in enumerate(LISTED_FIRST)}
    return sorted(specs, key=lambda spec: place.get(spec.name, len(place)))


def listed_tool(spec: ToolSpec) -> ListedTool:
    """What clients are told of a tool."""
    return ListedTool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        parameters=dict(spec.schema),
        annotations=ToolAnnotations(
            read_only_hint=spec.read_only,
            destructive_hint=spec.destructive,
            idempotent_hint=spec.idempotent,
            open_world_hint=None if spec.cluster == CUSTOM else False,  # What others' tools reach is not known.
        ),
    )


def shown_tool(spec: ToolSpec, profile: ToolProfile, known: frozenset[IdentityPart] = frozenset()) -> WireTool:
    """The tool for one connection: in the tools of its profile, and requiring nothing that it has said already."""
    wire = listed_tool(spec).to_mcp_tool()
    return wire.model_copy(
        update={"description": fitted(spec.description, profile), "input_schema": spec.schema_without(known)}
    )


def _listed_resource(spec: ResourceSpec) -> Resource:
    return ListedResource(
        name=spec.name,
        title=spec.title,
        uri=spec.bare_uri,  # type: ignore[arg-type]  # pydantic parses the text
        description=spec.description,
        mime_type=spec.media_type,
    )


def _listed_template(spec: ResourceSpec) -> ResourceTemplate:
    return ListedTemplate(
        name=spec.name,
        title=spec.title,
        uri_template=spec.uri,
        description=spec.description,
        mime_type=spec.media_type,
        parameters={},
    )


def _install_handlers(mcp: FastMCP[Any], calls: Calls, words: McpWords) -> None:
    server = mcp._mcp_server  # noqa: SLF001  # guarded by tests/server/test_mcp.py
    server.add_request_handler("tools/list", PaginatedRequestParams, partial(_list_tools, mcp, calls))
    server.add_request_handler("prompts/list", PaginatedRequestParams, partial(_list_prompts, mcp))
    tables = TableCalls(calls, words)
    server.add_request_handler("tools/call", RawParams, partial(_call_tool, tables))
    server.add_request_handler("resources/read", RawParams, partial(_read_resource, tables))
    server.middleware = [_Bypass(server.middleware, words)]
    # Otherwise every 2026-07-28 call first lists all tools to look for `x-mcp-header` declarations; ours have none.
    server.get_tool_input_schema = _no_header_schema


def _install_subscriptions(mcp: FastMCP[Any], subscriptions: SubscriptionEndpoint) -> None:
    async def subscribe(ctx: Context, _params: RawParams) -> HandlerResult:
        uri, facts = str((ctx.params or {})["uri"]), _facts(ctx)
        try:
            await subscriptions.subscribe(ctx, uri, facts.credentials)
        except AgentMailError as error:
            raise _refusal(ctx, uri, facts, error) from error
        return {}

    async def unsubscribe(ctx: Context, _params: RawParams) -> HandlerResult:
        subscriptions.unsubscribe(str((ctx.params or {})["uri"]), _facts(ctx).credentials)
        return {}

    async def listen(ctx: Context, params: SubscriptionsListenRequestParams) -> HandlerResult:
        facts = _facts(ctx)
        try:
            return await subscriptions.listen(ctx, params, facts.credentials)
        except AgentMailError as error:
            uris = params.notifications.resource_subscriptions or [""]
            raise _refusal(ctx, str(error.data.get("uri", uris[0])), facts, error) from error

    server = mcp._mcp_server  # noqa: SLF001  # guarded by tests/server/test_mcp.py
    server.add_request_handler("resources/subscribe", RawParams, subscribe)
    server.add_request_handler("resources/unsubscribe", RawParams, unsubscribe)
    server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listen)


def _no_header_schema(_name: str) -> None:
    return None


class _Bypass:
    """FastMCP's middlewares (context, spans, request state) for every method but those we answer ourselves. A bug in
    any is INTERNAL, whose text a client of the handshake era would be shown otherwise.
    """

    def __init__(self, others: list[ServerMiddleware[Any]], words: McpWords) -> None:
        self._others = others
        self._words = words

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method == "initialize" and ctx.request is not None and SESSION_HEADER in ctx.request.headers:
            # What a session keeps was measured when it was opened; a second one would replace it.
            raise MCPError(code=_INVALID_REQUEST, message="This session is initialized already.")
        task = running_task()
        try:
            return await (call_next(ctx) if ctx.method in _OURS else self._answer(ctx, call_next))
        except MCPError:
            raise
        except ValidationError as unfit:
            if (refusal := unfit_params(ctx.method, unfit)) is not None:
                raise refusal from unfit
            raise
        except BaseException as error:  # as for tools
            if is_from_outside(error, task):
                raise
            bug = masked(error, what=f"{ctx.method:.100}", request_id=_facts(ctx).request_id)
            raise MCPError(code=INTERNAL_ERROR, message=bug.text, data=error_object(bug)) from None

    async def _answer(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        for middleware in reversed(self._others):
            call_next = _wrap(middleware, call_next)
        facts = _facts(ctx)
        profile = facts.wishes.profile
        with shown_for(profile):
            result = await call_next(ctx)
        if isinstance(result, DiscoverResult):
            result = without_list_changes(result)
        if isinstance(result, InitializeResult | DiscoverResult):
            said = facts.credentials
            is_known = said.said_project is not None and said.said_agent is not None
            return result.model_copy(update={"instructions": self._words.greeting(profile, is_known=is_known)})
        return result


def _wrap(middleware: ServerMiddleware[Any], call_next: CallNext) -> Callable[[Context], Awaitable[HandlerResult]]:
    def step(ctx: Context) -> Awaitable[HandlerResult]:
        return middleware(ctx, call_next)

    return step


def _facts(ctx: Context) -> RequestFacts:
    facts = ctx.request.scope.get(FACTS) if ctx.request is not None else None
    return facts if isinstance(facts, RequestFacts) else _NO_REQUEST


def _hearing(ctx: Context) -> RequestHearing | None:
    hearing = ctx.request.scope.get(HEARING) if ctx.request is not None else None
    return hearing if isinstance(hearing, RequestHearing) else None


async def _list_tools(
    mcp: FastMCP[Any], calls: Calls, ctx: Context, params: PaginatedRequestParams | None
) -> ListToolsResult:
    page = await mcp._on_list_tools(ctx, params)  # noqa: SLF001  # guarded by tests/server/test_mcp.py
    facts = _facts(ctx)
    known = await calls.tools.known_of(facts.credentials)
    specs = {spec.name: spec for spec in calls.tools.specs()}
    tools = [
        shown_tool(specs[tool.name], facts.wishes.profile, known) if tool.name in specs else tool
        for tool in page.tools
        if facts.wishes.profile.shows(tool.name)
    ]
    return page.model_copy(update={"tools": tools})


async def _list_prompts(mcp: FastMCP[Any], ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
    page = await mcp._on_list_prompts(ctx, params)  # noqa: SLF001  # guarded by tests/server/test_mcp.py
    profile = _facts(ctx).wishes.profile
    lacking = {workflow.name for workflow in WORKFLOWS if not all(map(profile.shows, workflow.needs))}
    return page.model_copy(update={"prompts": [prompt for prompt in page.prompts if prompt.name not in lacking]})


async def _call_tool(tables: TableCalls, ctx: Context, _params: RawParams) -> HandlerResult:
    return await tables.call_tool(ctx.params or {}, _facts(ctx), _hearing(ctx))


async def _complete(
    suggest: Suggest, known: frozenset[str], ctx: Context, params: CompleteRequestParams
) -> CompleteResult:
    return await complete(suggest, known, _facts(ctx).credentials, params)


async def _read_resource(tables: TableCalls, ctx: Context, _params: RawParams) -> HandlerResult:
    return await tables.read_resource(ctx.params or {}, _facts(ctx), _hearing(ctx), is_modern=_is_modern(ctx))


def _refusal(ctx: Context, uri: str, facts: RequestFacts, error: AgentMailError) -> MCPError:
    return read_refusal(error, uri, facts, is_modern=_is_modern(ctx))


def _is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
