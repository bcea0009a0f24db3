"""`am serve` on a terminal: a line for each call that changes something, and for each refusal with its hint.

Not a log: nothing of it is kept. No line is wider than the terminal, and what follows the first begins with blanks: no
row begins with a caller's words.
"""

from __future__ import annotations

import shutil
import time

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.server.observability.call_words import (
    Arguments,
    caller_of,
    project_of,
    tool_named,
    what_was_done,
    why_refused,
)
from mcp_agent_mail.server.observability.cell_sizes import cut, folded, width_of
from mcp_agent_mail.server.observability.line_queue import LineQueue

_LEAST_COLUMNS = 30
_LEAST_SHARE = 12
_BELOW = " " * 9
_DIM, _BOLD, _RED, _PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[31m", "\x1b[0m"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedCall:
    """A call that has ended: with its result, or with the error it was refused with. `is_known` says whether there is
    such a tool.
    """

    tool: str
    is_known: bool
    changes: bool
    arguments: Arguments
    result: Json
    error: AgentMailError | None
    doer: str | None
    took_s: float
    said_project: str | None = None
    """Where the connection says that its calls belong."""


class CallLines:
    """What is told of ended calls, with a colour or two where `coloured`."""

    def __init__(self, lines: LineQueue, *, coloured: bool) -> None:
        self._lines = lines
        self._coloured = coloured

    def tell(self, call: EndedCall) -> None:
        """One line for a call that changed something, none for what only looked; a refusal with its hint is folded."""
        if call.error is not None:
            self._lines.put(self._refusal(call, call.error))
        elif call.changes:
            self._lines.put(self._line(call, what_was_done(call.tool, call.arguments, call.result)))

    def _line(self, call: EndedCall, words: str) -> str:
        took = _duration(call.took_s)
        width = _columns() - len(f"  {took}")
        who = caller_of(call.arguments, call.result, call.doer)
        head = self._head(call, who, width // 2)
        return f"{self._row([*head, ('', words)], width)}  {self._in(_DIM, took)}"

    def _refusal(self, call: EndedCall, error: AgentMailError) -> str:
        fact, hint = why_refused(call.arguments, error)
        took = _duration(call.took_s)
        width = _columns() - len(f"  {took}")
        tool = cut(tool_named(call.tool, is_known=call.is_known), width // 3)
        who = caller_of(call.arguments, None, call.doer)
        refused = f"refused: {error.code}"
        room = width - width_of(f" {tool} {refused}")
        head = [*self._head(call, who, room), ("", tool), (_RED, refused)]
        room = width - width_of(" ".join(part for _, part in head)) - 1
        below = _below(fact, width)
        if fact and width_of(fact) <= room:
            head, below = [*head, ("", fact)], []
        lines = [self._row(head, width), *below]
        lines[-1] += f"  {self._in(_DIM, took)}"
        lines += _below(f"hint: {hint}", width) if hint else []
        return "\n".join(lines)

    def _head(self, call: EndedCall, who: str, room: int) -> list[tuple[str, str]]:
        """When, where and who, each with its style; where and who in half of the room each."""
        now = time.strftime("%H:%M:%S")
        share = max((room - len(f"{now}  ")) // 2, _LEAST_SHARE)
        place = cut(project_of(call.arguments, call.said_project), share)
        return [(_DIM, now), *([("", place)] if place else []), (_BOLD, cut(who, share))]

    def _row(self, parts: list[tuple[str, str]], width: int) -> str:
        """The parts with their styles and a blank between them, as many and as much as `width` cells take."""
        row: list[str] = []
        for style, part in parts:
            shown = cut(part, width)
            if shown:
                row.append(self._in(style, shown))
            width -= width_of(shown) + 1
        return " ".join(row)

    def _in(self, style: str, text: str) -> str:
        return f"{style}{text}{_PLAIN}" if self._coloured and style else text


def _columns() -> int:
    """Those of the terminal but the last: some begin a new row when it is filled. One of less than 30 is not served."""
    return max(shutil.get_terminal_size().columns, _LEAST_COLUMNS) - 1


def _below(text: str, width: int) -> list[str]:
    return [f"{_BELOW}{line}" for line in folded(text, width - len(_BELOW))]


def _duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{max(1, round(seconds * 1_000))} ms"
