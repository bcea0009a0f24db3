"""A door's tools over MCP: what it lists, what it takes, and how it words its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from mcp_agent_mail.core.arguments import ANY_WAY, CallWay, bind
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.likeness import one_hint_budget
from mcp_agent_mail.core.tools import Credentials, Json, JsonObject, ToolSpec, ToolTable, call_as

PROGRESS_EVERY_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorAnswer:
    """What a call is answered with: one text, and for programs the same once more where the door has it so."""

    text: str
    structured: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorTools:
    """`server_name` is what the door says it is. `aliases` are names that are taken and not listed, each with the tool
    that it means. Errors are worded with the name that the caller used.

    A client that asks for progress and takes an event stream is told every `progress_every_s` seconds that its call is
    under way.
    """

    server_name: str
    tools: Sequence[ToolSpec]
    show_result: Callable[[ToolSpec, Json], DoorAnswer]
    show_error: Callable[[str, AgentMailError], DoorAnswer]
    aliases: Mapping[str, str] = field(default_factory=dict)
    progress_every_s: float = PROGRESS_EVERY_S


class UnfitArguments(InvalidInput):
    """The arguments are not those that the tool declares."""


class DoorToolTable(ToolTable):
    """They take what they declare and nothing beside it: no token, and no `format`."""

    async def run(
        self, name: str, arguments: Mapping[str, Json], credentials: Credentials, way: CallWay = ANY_WAY
    ) -> Json:
        """As everywhere else: validate, call, and give the plain result. Raises AgentMailError: UnfitArguments for what
        is no fault of the call's meaning.
        """
        with one_hint_budget():
            spec = self.require(name, credentials)
            try:
                call = bind(spec.params, arguments, what=way.what or name, hidden=way.hidden)
            except InvalidInput as unfit:
                raise UnfitArguments(unfit.message, hint=unfit.hint, data=unfit.data) from unfit
            return await call_as(credentials, spec.handler, call)
