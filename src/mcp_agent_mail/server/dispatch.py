"""One way to run a tool or read a resource, for MCP and `/rpc` alike: long calls take turns, calls are
counted, logged and traced, and faults are masked.

Whatever is neither an `AgentMailError` nor the call's end from outside is a bug: the caller gets INTERNAL with the
request's id, the log gets the kind of error and where it happened (`core.logging` leaves out what it says: that may
quote arguments).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from mcp_agent_mail.core.arguments import ANY_WAY, CallWay, Param
from mcp_agent_mail.core.concurrency.call_places import CallPlaces
from mcp_agent_mail.core.concurrency.outside_end import is_from_outside, running_task
from mcp_agent_mail.core.concurrency.turns import TurnBounds, Turns
from mcp_agent_mail.core.errors import AgentMailError, Internal, InvalidInput, listed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.profiles import CUSTOM
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.roles import BeyondRole, RefusedAgent, Role
from mcp_agent_mail.core.tools import (
    Credentials,
    Json,
    ToolSpec,
    ToolTable,
    current_credentials,
    doer_told,
    recorded_doer,
    take_token,
    turn_of,
    unknown_tool,
)
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.server.edge.rates import RateClass
from mcp_agent_mail.server.observability.call_lines import CallLines, EndedCall
from mcp_agent_mail.server.observability.call_words import named_project
from mcp_agent_mail.server.preferences import NO_WISHES, ResponsePreferences

if TYPE_CHECKING:
    from mcp_agent_mail.features.identity.results import IdentityProof
    from mcp_agent_mail.server.observability.tracing import CallTracer

logger = logging.getLogger("mcp_agent_mail.server")

_UNKNOWN = "(unknown)"
_LONG_CALLS = TurnBounds(places=4, places_each=2, waiting_each=16, waiting=128, within_s=20.0)
"""Of tools that may keep a thread for long: who asks for many of them waits for itself, and threads stay few."""


def free(_: RateClass) -> None:
    """Nothing is counted."""


async def nobody_proven(_: Credentials) -> IdentityProof | None:
    """Where nobody knows agents."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """What a call needs to know of the HTTP request that brought it.

    `opener` is whose token let it in, None where none did that opens this server (an agent's alone does not): a session
    of MCP that it opens serves that alone. `charge` counts what it asks for against its rate, and raises RateLimited.
    `trace` is the caller's span by W3C (`traceparent`, `tracestate`), read where spans are on only.
    """

    credentials: Credentials
    request_id: str
    opener: str | None
    charge: Callable[[RateClass], None] = free
    wishes: ResponsePreferences = NO_WISHES
    trace: Mapping[str, str] | None = None


def masked(error: BaseException, *, what: str, request_id: str) -> Internal:
    """The INTERNAL error that stands for `error` outside, after logging where it came from."""
    logger.error("%s failed", what, exc_info=error)
    return Internal(
        f"The server failed while running {what}.",
        hint="This is a bug of the server. Its log tells more under the request id.",
        data={"request_id": request_id},
    )


class Calls:
    """Runs the tables. Raises nothing but AgentMailError (and cancellation). `find_proven`: the agent that a token
    proves, for the hint to whom its role does not do.
    """

    def __init__(
        self,
        tools: ToolTable,
        resources: ResourceTable,
        *,
        log_calls: bool = False,
        usage: Usage | None = None,
        tracer: CallTracer | None = None,
        lines: CallLines | None = None,
        places: CallPlaces | None = None,
        find_proven: Callable[[Credentials], Awaitable[IdentityProof | None]] = nobody_proven,
    ) -> None:
        self.places = places or CallPlaces()
        self._find_proven = find_proven
        self.tools = tools
        self.resources = resources
        self._log_calls = log_calls
        self._usage = usage
        self._tracer = tracer
        self._lines = lines
        self._long = frozenset(spec.name for spec in tools.specs() if spec.is_long)
        self._turns = Turns("long calls", _LONG_CALLS)

    def beside(self, tools: ToolTable, resources: ResourceTable) -> Calls:
        """Calls of other tables, told in the same places. Long calls of both take turns together."""
        other = Calls(
            tools,
            resources,
            log_calls=self._log_calls,
            usage=self._usage,
            tracer=self._tracer,
            lines=self._lines,
            places=self.places,
            find_proven=self._find_proven,
        )
        other._turns = self._turns
        return other

    @property
    def are_traced(self) -> bool:
        return self._tracer is not None

    async def run_tool(
        self, name: str, arguments: Mapping[str, Json], facts: RequestFacts, way: CallWay = ANY_WAY
    ) -> Json:
        """The tool's plain result, counted and traced; refused in the words of `way`. Calls of long tools wait for
        their turn: Busy where that takes too long, and where too many are at work. A bug is raised as Internal.
        """
        running: Awaitable[Json] = self.places.run(
            self._run(name, arguments, facts, way), is_operators=facts.credentials.is_operators_own
        )
        running = self._guard(running, f"tool {name:.100}", facts)
        if self._tracer is not None:
            target = name if name in self.tools else _UNKNOWN
            running = self._tracer.run("tools/call", target, running, via=facts.credentials.via, trace=facts.trace)
        if self._lines is not None:
            running = self._told(running, name, arguments, facts, self._lines)
        if self._usage is None or name not in self.tools:
            return await running
        started, failed = time.perf_counter(), True
        with doer_told() as doer:
            try:
                result = await running
                failed = False
                return result
            finally:
                said = facts.credentials.said_project
                project = named_project(arguments, said)
                self._usage.note(name, time.perf_counter() - started, failed=failed, project=project, doer=doer)

    async def run_within(self, name: str, arguments: Mapping[str, Json]) -> Json:
        """One of our own tools for a custom tool that is running, as the same caller. It is counted with that one, and
        takes its turn where it is a long one. Raises AgentMailError, and what a bug raises.
        """
        spec = self.tools.find(name)
        if spec is not None and spec.cluster == CUSTOM:
            raise unknown_tool(name, (), way="A custom tool calls the server's own tools alone.")
        await self._require_role(name, arguments, credentials := current_credentials())
        run = self._run_in_turn if name in self._long else self.tools.run
        return await run(name, arguments, credentials, ANY_WAY)

    async def _require_role(self, name: str, arguments: Mapping[str, Json], credentials: Credentials) -> None:
        """Raise BeyondRole where the call asks for more than what let it in allows."""
        spec = self.tools.find(name) if credentials.role < Role.OPERATOR else None
        # What is not there over MCP is as unknown to a reader as to everybody.
        if spec is None or (credentials.via == "mcp" and not spec.is_over_mcp):
            return
        needed = Role.OPERATOR if spec.operator_only else Role.WRITER if changes(spec, arguments) else Role.READER
        if credentials.role < needed:
            agent = await self._refused(credentials, arguments)
            writing = [f"{one}=true" for one in _written_by(spec, arguments)] if spec.read_only else []
            raise BeyondRole(
                f"{name}({', '.join(writing)})" if writing else name,
                held=credentials.role,
                needed=needed,
                agent=agent,
                instead=f"Without {listed(writing, 'and')} it is answered. " if writing else "",
            )

    async def _refused(self, credentials: Credentials, arguments: Mapping[str, Json]) -> RefusedAgent | None:
        """Whom the call proves; a wrong token, which is refused once the role does, proves nobody."""
        try:
            proven = await self._find_proven(take_token(credentials, arguments)[0])
        except AgentMailError:
            return None
        return None if proven is None else RefusedAgent(name=proven.agent, project=proven.project)

    async def _told(
        self,
        running: Awaitable[Json],
        name: str,
        arguments: Mapping[str, Json],
        facts: RequestFacts,
        lines: CallLines,
    ) -> Json:
        """Its line is told once the call has ended; a call that was given up has none."""
        started = time.perf_counter()
        spec = self.tools.find(name)

        def tell(result: Json, error: AgentMailError | None) -> None:
            lines.tell(
                EndedCall(
                    tool=name,
                    is_known=spec is not None,
                    changes=spec is not None and changes(spec, arguments),
                    arguments=arguments,
                    result=result,
                    error=error,
                    doer=recorded_doer(),
                    took_s=time.perf_counter() - started,
                    said_project=facts.credentials.said_project,
                )
            )

        try:
            result = await running
        except AgentMailError as refused:
            tell(None, refused)
            raise
        tell(result, None)
        return result

    async def _run(self, name: str, arguments: Mapping[str, Json], facts: RequestFacts, way: CallWay) -> Json:
        facts.charge(RateClass.TOOLS)
        credentials = facts.credentials
        await self._require_role(name, arguments, credentials)
        run = self._run_in_turn if name in self._long else self.tools.run
        return await run(name, arguments, credentials, way)

    async def _run_in_turn(
        self, name: str, arguments: Mapping[str, Json], credentials: Credentials, way: CallWay
    ) -> Json:
        self.tools.require(name, credentials)
        # A token among the arguments says whose call it is, here as in all that it does.
        credentials, given = take_token(credentials, arguments)
        async with self._turns.turn(turn_of(credentials)):
            return await self.tools.run(name, given, credentials, way)

    async def read_resource(self, uri: str, facts: RequestFacts) -> Json:
        """The resource's plain content, traced by its template and not counted. A bug is raised as Internal."""
        facts.charge(RateClass.RESOURCES)
        running: Awaitable[Json] = self.places.run(
            self.resources.read(uri, facts.credentials), is_operators=facts.credentials.is_operators_own
        )
        running = self._guard(running, f"resource {uri.partition('?')[0]:.200}", facts)
        if self._tracer is not None:
            target = self._template_of(uri)
            running = self._tracer.run("resources/read", target, running, via=facts.credentials.via, trace=facts.trace)
        return await running

    def _template_of(self, uri: str) -> str:
        """The resource's URI as it is declared: filled in, it names projects and agents."""
        try:
            return self.resources.match(uri)[0].uri
        except AgentMailError:
            return _UNKNOWN

    async def _guard(self, running: Awaitable[Json], what: str, facts: RequestFacts) -> Json:
        if self._log_calls:
            running = _logged(running, what, facts)
        task = running_task()
        try:
            return await running
        except AgentMailError:
            raise
        except BaseException as error:  # the one place where a bug becomes INTERNAL
            if is_from_outside(error, task):
                raise
            raise masked(error, what=what, request_id=facts.request_id) from None


def changes(spec: ToolSpec, arguments: Mapping[str, Json]) -> bool:
    """Whether the call changes anything. Asked of the values that the tool is given, however they were written."""
    if not spec.read_only:
        return True
    return any(_written_by(spec, arguments))


def _written_by(spec: ToolSpec, arguments: Mapping[str, Json]) -> list[str]:
    """The arguments that make a call write which else reads."""
    return [name for name, param in spec.params.items() if param.writes and _is_true(param, arguments.get(name))]


def _is_true(param: Param, value: Json) -> bool:
    try:
        return param.value_of(value) is True
    except InvalidInput:
        return False


async def _logged(running: Awaitable[Json], what: str, facts: RequestFacts) -> Json:
    """A line per call: what, outcome, duration. Never arguments or results."""
    started = time.perf_counter()
    outcome = "failed"
    try:
        result = await running
        outcome = "ok"
    except AgentMailError as error:
        outcome = error.code
        raise
    else:
        return result
    finally:
        took_ms = round((time.perf_counter() - started) * 1_000, 1)
        logger.info("%s", what, extra={"facts": {"outcome": outcome, "ms": took_ms, "via": facts.credentials.via}})
