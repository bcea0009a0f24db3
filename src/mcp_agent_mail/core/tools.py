"""Tools as data: declared once in a slice, run the same way by MCP, `/rpc` and the CLI.

A tool is an async function whose signature carries a `ParamType` for every parameter. `ToolTable.run`
validates, makes the credentials known to `current_credentials`, calls it and returns plain JSON
values. FastMCP only lists what stands here (why: docs/adr).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, replace
from typing import Any, Literal

from mcp_agent_mail.core.arguments import (
    ANY_WAY,
    FORMAT_ARGUMENT,
    TOKEN_ARGUMENTS,
    CallWay,
    Param,
    bind,
    in_own_words,
    params_of,
)
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, NotFound, PermissionDenied, listed
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.likeness import COMPARED, one_hint_budget
from mcp_agent_mail.core.mistakes.synonyms import nearest_tools, no_tool_for
from mcp_agent_mail.core.params import IDENTITY_PARTS, IdentityPart
from mcp_agent_mail.core.roles import Role

Json = Any
"""A plain JSON value: what `json.dumps` takes. Typed `Any` because mypy's recursive form hides more than it says."""

JsonObject = dict[str, Any]
"""A JSON object."""


class ResultList(list[Json]):
    """The array that a list tool answers with, and `beside`: what stands beside it in structured content."""

    def __init__(self, items: Iterable[Json], beside: JsonObject) -> None:
        super().__init__(items)
        self.beside = beside


Handler = Callable[..., Awaitable[Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What a request brought to say who is calling, read by the server, judged by `features/identity`.

    Over MCP (`via`) nobody acts as `Human`, and tools of the operator are not there; `local` is the CLI in process.
    `window_id` proves nothing: it is which of its windows the client says the call comes from. Nor do `said_project`
    and `said_agent`: who the connection says it is, for calls that leave it out.
    """

    via: Literal["mcp", "rpc", "local"]
    in_arguments: bool = False
    """The call takes a token among its arguments: tools do, resources and routes do not."""
    bearer_token: str | None = None
    agent_token: str | None = None
    token_argument: str | None = None
    token_argument_name: str | None = None
    """By which name it was given."""
    window_id: str | None = None
    said_project: str | None = None
    said_agent: str | None = None
    role: Role = Role.WRITER
    """What whoever let the request in lets it do."""
    is_operators_own: bool = False
    """The operator's own token let it in: others may have been issued the role."""
    issued_to: AgentId | None = None
    """The agent that an issued token proves, which the server has found good."""
    claimed_agents: tuple[str, ...] = ()
    """The agents that a JWT proves, likewise, in its words: `Name@project`, or a name that one project alone has."""
    named_agent: str | None = None
    """The agent as whom the call says that it acts, and its project: which one of several claimed ones is meant."""
    named_project: str | None = None
    door_name: str | None = None
    """Who a door takes its caller to be, by the door's own ways: a part of the path, a header. It proves nothing."""
    origin: str | None = None
    """The connection that the call came by."""
    is_remote: bool = False
    """The call came from another machine, or was passed on by something that speaks for one."""
    session: object | None = field(default=None, compare=False, repr=False)
    """The MCP session that the call came on: one object for as long as the session lives, told apart by identity."""
    forgotten_session: object | None = field(default=None, compare=False, repr=False)
    """Likewise the one that the call names, where the server does not know it (any more) and serves it without one."""


_credentials: ContextVar[Credentials] = ContextVar("credentials")


@dataclass(slots=True)
class RecordedCaller:
    """As whom a call was made: filled in by whoever decides it, for the record of calls. Nobody until then."""

    project_id: ProjectId | None = None
    agent_name: str | None = None


_doer: ContextVar[RecordedCaller | None] = ContextVar("doer", default=None)


@contextmanager
def doer_told() -> Iterator[RecordedCaller]:
    """The record of who makes the one call that runs inside. It is an object, so that tasks of the call fill in the
    same.
    """
    doer = RecordedCaller()
    reset = _doer.set(doer)
    try:
        yield doer
    finally:
        _doer.reset(reset)


def tell_doer(project_id: ProjectId, agent_name: str) -> None:
    """Record that the current call is this agent's: proven, or taken at its word where that counts."""
    doer = _doer.get()
    if doer is not None:
        doer.project_id, doer.agent_name = project_id, agent_name


def recorded_doer() -> str | None:
    """The agent whose call this was recorded to be; None while that is not known, or not recorded."""
    doer = _doer.get()
    return None if doer is None else doer.agent_name


def current_credentials() -> Credentials:
    """The credentials of the call that is running; a call outside `ToolTable` is a bug."""
    return _credentials.get()


def find_credentials() -> Credentials | None:
    """As `current_credentials`; None outside a call."""
    return _credentials.get(None)


def current_turn() -> str:
    """The line in which the running call waits for its turns; what runs beside all calls is in the server's own."""
    credentials = find_credentials()
    return "server" if credentials is None else turn_of(credentials)


def turn_of(credentials: Credentials) -> str:
    """The line in which a call waits for its turns: that of the token it brought, else of its connection.

    Nothing is proven by that: whoever invents tokens gains no more than by opening connections.
    """
    tokens = (credentials.token_argument, credentials.agent_token, credentials.bearer_token)
    return next((f"token {token}" for token in tokens if token), f"connection {credentials.origin}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One declared tool. `schema` is its JSON schema as listed. `operator_only` ones are no MCP client's, and neither
    are those that programs beside MCP call (`off_mcp`), such as clients' hooks.

    `is_long`: it may occupy a thread for long, so that calls of it take turns. `identity_params`: those that stand for
    a part of who is calling, the tool's own name for it first.
    """

    name: str
    title: str
    cluster: str
    description: str
    handler: Handler
    params: Mapping[str, Param]
    schema: Mapping[str, Json]
    read_only: bool
    destructive: bool
    idempotent: bool
    result_list: bool
    operator_only: bool
    off_mcp: bool = False
    is_long: bool = False
    identity_params: Mapping[IdentityPart, Sequence[Param]]

    @property
    def is_over_mcp(self) -> bool:
        """Whether MCP clients may see and call it."""
        return not (self.operator_only or self.off_mcp)

    def schema_without(self, known: Collection[IdentityPart]) -> dict[str, Json]:
        """The schema for a connection that has said or proven these parts of who calls: none of them is required."""
        schema = dict(self.schema)
        named = schema.pop("required", [])
        if required := [name for name in named if self.params[name].stands_for not in known]:
            schema["required"] = required
        return schema


def _schema_of(params: Mapping[str, Param], token_argument: str | None) -> dict[str, Json]:
    properties: dict[str, Json] = {}
    for param in params.values():
        properties[param.name] = dict(param.rule.schema())
        if param.default is not None:
            properties[param.name]["default"] = param.default
    if token_argument is not None:
        properties[token_argument] = {"type": "string"}
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    if required := [param.name for param in params.values() if param.required]:
        schema["required"] = required
    return schema


def tool(
    handler: Handler,
    *,
    cluster: str,
    title: str,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    result_list: bool = False,
    operator_only: bool = False,
    off_mcp: bool = False,
    is_long: bool = False,
    token_argument: Literal["registration_token", "sender_token"] | None = None,
) -> ToolSpec:
    """Declare `handler` as a tool: name, parameters and text come from the function itself."""
    params = params_of(handler)
    return ToolSpec(
        name=handler.__name__,
        title=title,
        cluster=cluster,
        description=inspect.cleandoc(handler.__doc__ or ""),
        handler=handler,
        params=params,
        schema=_schema_of(params, token_argument),
        read_only=read_only,
        destructive=destructive,
        idempotent=idempotent,
        result_list=result_list,
        operator_only=operator_only,
        off_mcp=off_mcp,
        is_long=is_long,
        identity_params={part: _standing_for(params, part) for part in IDENTITY_PARTS},
    )


def _standing_for(params: Mapping[str, Param], part: IdentityPart) -> tuple[Param, ...]:
    return tuple(param for param in params.values() if param.stands_for == part)


class UnknownTool(NotFound):
    """No such tool, or one that this connection may not see."""


_FEW = 12
"""So many tools are named in a refusal; more are for tools/list to name."""


def unknown_tool(name: str, shown: Sequence[str], *, profile: str | None = None, way: str | None = None) -> UnknownTool:
    """The refusal of a tool that is not among those `shown` to the connection, with those that were probably meant.

    `profile` is the connection's, where it is shown a part of them; `way` is what to do where it is a tool that this
    part lacks.
    """
    way = way or no_tool_for(name)
    nearest = [] if way else nearest_tools(name, shown)
    likely = way or (f"Did you mean {listed(nearest)}?" if nearest else "")
    of_profile = "" if profile is None else f"This connection has the tool profile {profile}"
    if len(shown) <= _FEW:
        whole = f"{of_profile}: {', '.join(shown)}" if of_profile else f"There are: {', '.join(shown)}"
    else:
        whole = f"{of_profile}; tools/list names its tools" if of_profile else "tools/list names them all"
    hint = likely or f"{whole}."
    data = {"nearest": nearest, **({} if profile is None else {"profile": profile})}
    return UnknownTool(f"Unknown tool: {name:.{COMPARED}}", hint=hint, data=data)


class ToolTable:
    """Every tool of the server by name."""

    def __init__(self, specs: Iterable[ToolSpec]) -> None:
        self._specs = {spec.name: spec for spec in specs}

    def __contains__(self, name: str) -> bool:
        return name in self._specs

    def find(self, name: str) -> ToolSpec | None:
        return self._specs.get(name)

    def specs(self) -> list[ToolSpec]:
        """All tools, operator-only ones too, in the order of declaration."""
        return list(self._specs.values())

    def require(self, name: str, credentials: Credentials) -> ToolSpec:
        """The tool, if these credentials may know of it: one that is not over MCP is as unknown there as any other
        name. Raises UnknownTool with the most similar names.
        """
        spec = self._specs.get(name)
        if spec is None or (credentials.via == "mcp" and not spec.is_over_mcp):
            shown = [s.name for s in self._specs.values() if s.is_over_mcp]
            raise unknown_tool(name, shown)
        return spec

    async def known_of(self, credentials: Credentials) -> frozenset[IdentityPart]:  # noqa: ARG002  # of subclasses
        """Which parts of who calls a call with these credentials may leave out: none, where nothing fills them in."""
        return frozenset()

    async def run(
        self, name: str, arguments: Mapping[str, Json], credentials: Credentials, way: CallWay = ANY_WAY
    ) -> Json:
        """Validate, call and return the tool's plain result. Raises AgentMailError, in the words of `way`."""
        with one_hint_budget():
            spec = self.require(name, credentials)
            credentials, given = take_token(credentials, arguments)
            token_listed = spec.schema["properties"].keys() - spec.params.keys()
            also = () if credentials.via == "local" else (FORMAT_ARGUMENT,)
            taken_out = [*token_listed, *TOKEN_ARGUMENTS, *also]
            call = bind(
                spec.params, given, what=way.what or name, taken_out=taken_out, hidden=way.hidden, filled=way.filled
            )
            try:
                return await call_as(replace(credentials, in_arguments=True), spec.handler, call)
            except AgentMailError as error:
                in_own_words(error, spec.params, given)
                raise


async def call_as(credentials: Credentials, handler: Handler, arguments: Mapping[str, Json]) -> Json:
    """Call `handler` with `credentials` as the answer of `current_credentials`."""
    reset = _credentials.set(credentials)
    try:
        return await handler(**arguments)
    finally:
        _credentials.reset(reset)


def take_token(credentials: Credentials, arguments: Mapping[str, Json]) -> tuple[Credentials, dict[str, Json]]:
    """The credentials with the token that stands among the arguments, and the arguments without it.

    Whoever asks whose a call is asks this first. Of what it gave itself it changes nothing.
    """
    given, tokens = dict(arguments), dict[str, str]()
    for name in TOKEN_ARGUMENTS:
        token = given.pop(name, None)
        if token is not None and not isinstance(token, str):
            raise InvalidInput(
                f"{name} must be text.", hint="Send the token as it was given.", data={"parameter": name}
            )
        if token is not None and token.strip():
            tokens.setdefault(token.strip(), name)
    if len(tokens) > 1:
        raise PermissionDenied(f"{listed(TOKEN_ARGUMENTS)}: both are given, and differ.", hint="Send one of them.")
    for token, name in tokens.items():
        credentials = replace(credentials, token_argument=token, token_argument_name=name)
    return credentials, given
