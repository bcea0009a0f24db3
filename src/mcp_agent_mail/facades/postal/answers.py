"""What calls are answered with, to the letter as this door's users know it."""

from __future__ import annotations

import json

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Json, ToolSpec, UnknownTool
from mcp_agent_mail.domain.doors.names import NameOfNoProject, UnfitWireName
from mcp_agent_mail.facades.postal.tools import ALIASES
from mcp_agent_mail.facades.tool_door import DoorAnswer, UnfitArguments
from mcp_agent_mail.features.doors.send import MailboxFull

_WHOLE = (UnfitWireName, MailboxFull)
"""Whose words are known; any other refusal has our next step behind it."""


def show_result(_spec: ToolSpec, result: Json) -> DoorAnswer:
    """An id as it is; a message as indented JSON, and `null` where none came."""
    text = result if isinstance(result, str) else json.dumps(result, indent=2, ensure_ascii=False)
    return DoorAnswer(text=text)


def show_error(name: str, error: AgentMailError) -> DoorAnswer:
    """`name` is the tool as its caller wrote it."""
    if isinstance(error, UnknownTool):
        return DoorAnswer(text=f"Unknown tool: {name:.100}\nThere are: {', '.join(ALIASES.values())}.")
    if isinstance(error, UnfitArguments):
        told = f"{_mistakes(error)} for call[{ALIASES.get(name, name)}]\n{error.text}"
    else:
        is_whole = isinstance(error, _WHOLE) and not isinstance(error, NameOfNoProject)
        told = error.message if is_whole else error.text
    return DoorAnswer(text=f"Error calling tool '{name}': {told}")


def _mistakes(error: UnfitArguments) -> str:
    count = max(1, sum(len(error.data.get(kind, ())) for kind in ("unknown", "missing", "wrong")))
    return f"{count} validation error{'s' if count > 1 else ''}"
