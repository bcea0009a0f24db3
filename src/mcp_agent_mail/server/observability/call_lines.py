"""`am serve` on a terminal: a line for each call that changes something, and for each refusal with its hint.

Not a log: nothing of it is kept.
"""

from __future__ import annotations

import shutil
import textwrap
import time
from dataclasses import dataclass

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.server.observability.call_words import (
    Arguments,
    caller_of,
    project_of,
    shown,
    what_was_done,
    why_refused,
)
from mcp_agent_mail.server.observability.line_queue import LineQueue

_NAME_LIMIT = 100
_BELOW = " " * 9
_DIM, _BOLD, _RED, _PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[31m", "\x1b[0m"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedCall:
    """A call that has ended: with its result, or with the error it was refused with."""

    tool: str
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
        place = project_of(call.arguments, call.said_project)
        who = caller_of(call.arguments, call.result, call.doer)
        now = time.strftime("%H:%M:%S")
        room = shutil.get_terminal_size().columns - len(f"{now} {place} {who}   {took}") - 1
        told = shown(words, max(room, 20))
        head = " ".join(part for part in (self._in(_DIM, now), place, self._in(_BOLD, who)) if part)
        return f"{head} {told}  {self._in(_DIM, took)}"

    def _refusal(self, call: EndedCall, error: AgentMailError) -> str:
        fact, hint = why_refused(call.arguments, error)
        place = project_of(call.arguments, call.said_project)
        who = caller_of(call.arguments, None, call.doer)
        now = self._in(_DIM, time.strftime("%H:%M:%S"))
        head = " ".join(part for part in (now, place, self._in(_BOLD, who)) if part)
        refused = self._in(_RED, f"refused: {error.code}")
        took = _duration(call.took_s)
        told = f"{head} {shown(call.tool, _NAME_LIMIT)} {refused}"
        plain = f"hh:mm:ss {place} {who} {call.tool} refused: {error.code}"
        width = shutil.get_terminal_size().columns - len(f"  {took}") - 1
        below = _folded(fact, width)
        if below and len(plain) + 1 + len(fact) <= width:
            told, below = f"{told} {fact}", []
        lines = [told, *below]
        lines[-1] += f"  {self._in(_DIM, took)}"
        lines += _folded(f"hint: {hint}", width) if hint else []
        return f"\n{_BELOW}".join(lines)

    def _in(self, style: str, text: str) -> str:
        return f"{style}{text}{_PLAIN}" if self._coloured else text


def _folded(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width - len(_BELOW), 20), break_on_hyphens=False)


def _duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{max(1, round(seconds * 1_000))} ms"
