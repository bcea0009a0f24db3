"""`am serve` on a terminal: a line for each call that changes something, and for each refusal with its hint.

Not a log: nothing of it is kept. A terminal may stand still (Ctrl-S), so a thread writes, what waits for it is bounded,
and what found no place is counted.
"""

from __future__ import annotations

import os
import shutil
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Full, Queue
from typing import TextIO

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

MAX_WAITING = 1_000
_END_WITHIN_S = 1.0
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


class LineQueue:
    """Lines on their way to a terminal. `put` never waits; beyond MAX_WAITING lines are counted and dropped."""

    def __init__(self, file: int, *, size: int = MAX_WAITING) -> None:
        self._file = file
        self._waiting: Queue[str | None] = Queue(size)
        self._dropped = 0
        self._counting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="call-lines", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, line: str) -> None:
        """Queue a line, or count it as dropped where MAX_WAITING wait already."""
        try:
            self._waiting.put_nowait(line)
        except Full:
            with self._counting:
                self._dropped += 1

    def close(self) -> None:
        """Wait for what is on its way, a second at most: nobody can make a terminal go on."""
        try:
            self._waiting.put(None, timeout=_END_WITHIN_S)
        except Full:
            return
        self._thread.join(_END_WITHIN_S)

    def _run(self) -> None:
        while (line := self._waiting.get()) is not None:
            with self._counting:
                self._dropped, dropped = 0, self._dropped
            if dropped:
                line = f"({dropped} lines left out: this terminal was too slow)\n{line}"
            try:
                self._write(line.encode("utf-8", "backslashreplace") + b"\n")
            except OSError:  # The terminal has gone.
                return

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._file, data) :]


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


@contextmanager
def call_lines(terminal: TextIO) -> Iterator[CallLines]:
    """Lines for `terminal` while it is open; in colours unless NO_COLOR is set or the terminal is a dumb one."""
    lines = LineQueue(terminal.fileno())
    lines.start()
    try:
        is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "dumb") == "dumb"
        yield CallLines(lines, coloured=not is_plain)
    finally:
        lines.close()
