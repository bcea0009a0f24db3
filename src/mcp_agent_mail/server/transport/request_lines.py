"""How many requests begin in one round of the event loop, and whose are next.

Each that begins runs at once as far as it need not wait, a read to its end. Were all that came to begin in the same
round, a hundred connections that ask without a pause would make rounds of a hundred calls: whatever needs several of
them, a new connection or a probe, would wait for as many. And where more come than begin, each token has a line of its
own, and the lines are served in rotation: who asks on a hundred connections waits for itself.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextvars import copy_context

AT_ONCE = 4
"""A round takes a few microseconds itself, and each call a good part of a millisecond."""

Line = bytes | str


class RequestLines:
    """For one event loop."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._left = at_once
        self._lines: OrderedDict[Line, deque[Callable[[], None]]] = OrderedDict()
        self._is_next_round_due = False
        self._context = copy_context()
        """Of nobody's request: what begins later must not find what another one has set."""

    def begin(self, start: Callable[[], None], line: Callable[[], Line]) -> None:
        """Call `start` now, or in one of the next rounds where as many have begun in this one: in that `line`, which
        is asked for only then.
        """
        if not self._left or self._lines:
            self._lines.setdefault(line(), deque()).append(start)
            return
        self._start(start)

    def _start(self, start: Callable[[], None]) -> None:
        self._left -= 1
        if not self._is_next_round_due:
            self._is_next_round_due = True
            asyncio.get_running_loop().call_soon(self._next_round, context=self._context)
        start()

    def _next_round(self) -> None:
        self._is_next_round_due = False
        self._left = self._at_once
        while self._lines and self._left:
            line, waiting = self._lines.popitem(last=False)
            start = waiting.popleft()
            if waiting:
                self._lines[line] = waiting
            self._start(start)


def line_of(headers: Iterable[tuple[bytes, bytes]], host: str | None) -> Line:
    """Whose a request is, before anybody has looked whether it is theirs: an agent's token, else the bearer token, else
    the address it comes from. Who makes up a token for each request is served as if each were another's.
    """
    found = dict(headers)
    return found.get(b"x-agent-token") or found.get(b"authorization") or host or ""
