"""How a table of tools shows itself over MCP: ours, or that of a door in another system's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.profiles import NONE_OF_OURS, ToolProfile
from mcp_agent_mail.core.tools import Json, ToolSpec
from mcp_agent_mail.facades.tool_door import DoorTools
from mcp_agent_mail.server.rendering.formats import Output, take_argument
from mcp_agent_mail.server.rendering.profile_texts import fitted_error, instructions
from mcp_agent_mail.server.rendering.wire import tool_error, tool_result, worded_result

SERVER_NAME = "mcp-agent-mail"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpWords:
    """`is_ours`: connections are told how to begin, in the tools of their profile, calls may say in which form they
    want their result, and what agents call first is listed first. `aliases` are names of tools that are taken and not
    listed.
    """

    server_name: str = SERVER_NAME
    is_ours: bool = True
    aliases: Mapping[str, str] = field(default_factory=dict)
    show_result: Callable[[ToolSpec, Json, Output], dict[str, Any]] = tool_result
    show_error: Callable[[str, AgentMailError], dict[str, Any]] = tool_error

    def greeting(self, profile: ToolProfile, *, is_known: bool = False) -> str | None:
        """What a connection is told at its beginning."""
        return instructions(profile, is_known=is_known) if self.is_ours else None

    def read_arguments(self, given: Mapping[str, Json], output: Output) -> tuple[Mapping[str, Json], Output]:
        """The tool's own arguments, and in which form the result is wanted."""
        return take_argument(given, output) if self.is_ours else (given, output)


OURS = McpWords()


def words_of(door: DoorTools) -> McpWords:
    """The words of a door: nothing of ours stands beside them."""

    def show_result(spec: ToolSpec, result: Json, _output: Output) -> dict[str, Any]:
        answer = door.show_result(spec, result)
        return worded_result(answer.text, answer.structured, is_error=False)

    def show_error(name: str, error: AgentMailError) -> dict[str, Any]:
        answer = door.show_error(name, fitted_error(error, NONE_OF_OURS))
        return worded_result(answer.text, answer.structured, is_error=True)

    return McpWords(
        server_name=door.server_name,
        is_ours=False,
        aliases=door.aliases,
        show_result=show_result,
        show_error=show_error,
    )
