"""How much of the server clients may take up before anything of theirs is answered: connections, time, bytes.

When a bound is reached, whoever has left something unfinished longest makes room for whoever comes:
an honest request arrives within one or two packets and is unfinished for no time at all. So a probe
gets its answer while any number of clients hold requests that they never finish.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple, Protocol

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.server.transport.request_lines import RequestLines

logger = logging.getLogger("mcp_agent_mail.http")

MAX_CONNECTIONS = 8_192
"""Unless HTTP_MAX_CONNECTIONS says otherwise."""
RESERVED = 32
"""So many connections more are taken for `/health/` while all others are busy."""
MAX_UNFINISHED = 256
"""So many requests, or connections without a request yet, may be incomplete at a time."""
MAX_BODIES_BYTES = 64 * 1024 * 1024
"""Of all bodies that were begun and are not answered yet, together: sixteen of the largest."""
MAX_UNTAKEN_BYTES = 24 * 1024 * 1024
"""Of all answers whose clients take nothing of them, together: four of the largest."""
HEAD_WITHIN_S = 10.0
BODY_WITHIN_S = 60.0
BODY_STALLS_S = 20.0
"""A body of which nothing comes in this time has stalled; dripping, it still has BODY_WITHIN_S in all."""
TAKEN_WITHIN_S = 30.0
"""An answer of which its client takes less than TAKEN_AT_LEAST_BYTES in this time is dropped."""
TAKEN_AT_LEAST_BYTES = 64 * 1024
GONE_WITHIN_S = 2.0
"""So long a client may go on sending after its refusal, which it may not have read yet."""
SAID_EVERY_S = 60.0


class LimitReached(StrEnum):
    """What was reached, as the log says it."""

    CONNECTIONS = "connections"
    UNFINISHED = "unfinished requests"
    BODIES = "bytes of request bodies"
    PIPELINED = "requests that wait on one connection"
    UNTAKEN = "bytes of answers that nobody takes"
    TIME = "time for a request or an answer"
    HEAD = "size of a request's target and headers"
    MALFORMED = "patience with what is no HTTP request"


class LimitedConnection(Protocol):
    """A connection, as far as the bounds go. Each method ends it, or will."""

    held_bytes: int
    """Of the body of its unfinished request."""
    is_streaming: bool
    """Its answer is written piece by piece, as its client takes it: little of it lies here at a time."""

    def untaken_bytes(self) -> int:
        """Of what was written to it, as of now."""

    def evict(self, status: int, detail: str) -> None:
        """Answer what is unfinished with a refusal, and close."""

    def close_idle(self) -> None:
        """Close the connection, which has no request."""

    def abort(self) -> None:
        """Close without another word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    connections: int = MAX_CONNECTIONS
    unfinished: int = MAX_UNFINISHED
    bodies_bytes: int = MAX_BODIES_BYTES
    untaken_bytes: int = MAX_UNTAKEN_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionFigures:
    """`open` are all connections: `idle` ones have no request, `unfinished` ones are new or have begun one that is not
    complete, and `untaken` ones have an answer that waits for its client. `turned_away`: how often since the start
    each bound was reached.
    """

    open: int
    idle: int
    unfinished: int
    untaken: int
    limit: int
    turned_away: Mapping[LimitReached, int]


class _Unfinished(NamedTuple):
    """When its time is over. `whole_until`: however much comes meanwhile."""

    until: float
    whole_until: float


class _Untaken(NamedTuple):
    """`size_bytes` count against the bound; `lay_bytes` is the most that lay there since this time began."""

    until: float
    size_bytes: int
    lay_bytes: int


class ConnectionLimiter:
    """Counts every connection of the server. `sweep` is to be called about once a second."""

    def __init__(self, clock: Callable[[], float], size: ConnectionLimits | None = None) -> None:
        self._now = clock
        self.size = size or ConnectionLimits()
        self.is_stopping = False
        """Each connection has one request more at most."""
        self._all: set[LimitedConnection] = set()
        # By age: the first is the oldest.
        self.idle: dict[LimitedConnection, None] = {}
        self.unfinished: dict[LimitedConnection, _Unfinished] = {}
        self._leaving: dict[LimitedConnection, float] = {}
        self._blocked: dict[LimitedConnection, _Untaken] = {}
        self._written: dict[LimitedConnection, None] = {}
        """Since the last sweep, or with something that their clients had not taken then."""
        self.untaken_bytes = 0
        self.bodies_bytes = 0
        self.lines = RequestLines()
        self._reached: Counter[LimitReached] = Counter()
        """Since the log said so last."""
        self._reached_in_all: Counter[LimitReached] = Counter()
        self._said: dict[LimitReached, float] = {}

    def enter(self, connection: LimitedConnection) -> bool:
        """Take a new connection in; False when all room is taken, and it may ask for nothing but health."""
        if len(self._all) >= self.size.connections:
            self.note(LimitReached.CONNECTIONS)
            self._let_one_go()
        has_room = len(self._all) < self.size.connections
        if len(self._all) >= self.size.connections + RESERVED and self.unfinished:
            next(iter(self.unfinished)).abort()
        self._all.add(connection)
        self.begin(connection)
        return has_room

    def _let_one_go(self) -> None:
        """Whoever can be spared; it takes its leave itself when it is closed."""
        if self._leaving:
            next(iter(self._leaving)).abort()
        elif self.idle:
            next(iter(self.idle)).close_idle()
        elif self.unfinished:
            next(iter(self.unfinished)).evict(408, "Too many connections; this request was unfinished for longest.")

    def begin(self, connection: LimitedConnection) -> None:
        """A request has begun and is not complete, or is awaited on a new connection."""
        if connection in self.unfinished:
            return
        if len(self.unfinished) >= self.size.unfinished:
            self.note(LimitReached.UNFINISHED)
            next(iter(self.unfinished)).evict(408, "Too many unfinished requests; this one was for longest.")
        until = self._now() + HEAD_WITHIN_S
        self.unfinished[connection] = _Unfinished(until, until)

    def await_body(self, connection: LimitedConnection) -> None:
        """Its headers are complete: from now on its body has BODY_WITHIN_S, and BODY_STALLS_S for each piece.
        Its place among the oldest stays the same.
        """
        if connection in self.unfinished:
            now = self._now()
            self.unfinished[connection] = _Unfinished(now + BODY_STALLS_S, now + BODY_WITHIN_S)

    def hold(self, connection: LimitedConnection, size_bytes: int) -> bool:
        """Count a piece of a body, which has not stalled; False when there is no room for it."""
        if (unfinished := self.unfinished.get(connection)) is not None:
            until = min(self._now() + BODY_STALLS_S, unfinished.whole_until)
            self.unfinished[connection] = unfinished._replace(until=until)
        connection.held_bytes += size_bytes
        self.bodies_bytes += size_bytes
        if self.bodies_bytes <= self.size.bodies_bytes:
            return True
        self.note(LimitReached.BODIES)
        others = (other for other in self.unfinished if other.held_bytes and other is not connection)
        if (oldest := next(others, None)) is None:
            return False
        oldest.evict(408, "Too much of unfinished requests; this one was for longest.")
        return self.bodies_bytes <= self.size.bodies_bytes

    def release(self, connection: LimitedConnection) -> None:
        """The body of its unfinished request is given up, or was not read."""
        self.give_back(self.keep(connection))

    def keep(self, connection: LimitedConnection) -> int:
        """Its request is complete: the bytes of its body, which count until they are given back, even if it leaves."""
        kept_bytes, connection.held_bytes = connection.held_bytes, 0
        return kept_bytes

    def give_back(self, size_bytes: int) -> None:
        """The call that had these bytes of a body has ended: they count no more."""
        self.bodies_bytes -= size_bytes

    def await_leave(self, connection: LimitedConnection) -> None:
        """The connection was refused, and may go on sending for GONE_WITHIN_S seconds."""
        self.forget(connection)
        self._leaving[connection] = self._now() + GONE_WITHIN_S

    def block(self, connection: LimitedConnection, size_bytes: int) -> None:
        """The connection takes nothing of its answer, of which `size_bytes` wait here by now. Beyond the bound the
        connections that have taken nothing for longest are aborted. What is streamed has its time, and does not count:
        its bound is that of streams at a time.
        """
        before = self._blocked.get(connection) or _Untaken(self._now() + TAKEN_WITHIN_S, size_bytes=0, lay_bytes=0)
        counted = 0 if connection.is_streaming else size_bytes
        self._blocked[connection] = _Untaken(before.until, counted, max(before.lay_bytes, size_bytes))
        self.untaken_bytes += counted - before.size_bytes
        if self.untaken_bytes > self.size.untaken_bytes:
            self._abort_stalled()

    def _abort_stalled(self) -> None:
        stalled = [connection for connection, untaken in self._blocked.items() if untaken.size_bytes]
        for connection in stalled[:-1]:
            if self.untaken_bytes <= self.size.untaken_bytes:
                return
            self.note(LimitReached.UNTAKEN)
            connection.abort()

    def unblock(self, connection: LimitedConnection) -> None:
        if untaken := self._blocked.pop(connection, None):
            self.untaken_bytes -= untaken.size_bytes

    def note_written(self, connection: LimitedConnection) -> None:
        """Something was written to it: whether it was taken is looked at with each sweep from the next one on.
        The transport itself tells of much that waits, and of little it does not.
        """
        self._written[connection] = None

    def leave(self, connection: LimitedConnection) -> None:
        """The connection is closed: nothing of it counts any more."""
        self.forget(connection)
        self._leaving.pop(connection, None)
        self._written.pop(connection, None)
        self.unblock(connection)
        self._all.discard(connection)

    def forget(self, connection: LimitedConnection) -> None:
        """It has no request any more, or not yet another one; it still counts."""
        self.release(connection)
        self.idle.pop(connection, None)
        self.unfinished.pop(connection, None)

    def sweep(self) -> None:
        """End whatever has had its time, and log what bounds were reached since."""
        now = self._now()
        self._look_at_written()
        for connection in [connection for connection, unfinished in self.unfinished.items() if unfinished.until <= now]:
            self.note(LimitReached.TIME)
            connection.evict(408, "The request was not complete in time.")
        for connection, untaken in [
            (connection, untaken) for connection, untaken in self._blocked.items() if untaken.until <= now
        ]:
            self._end_stalled(connection, untaken)
        for connection in [connection for connection, until in self._leaving.items() if until <= now]:
            connection.abort()
        for bound in [bound for bound in self._reached if self._may_say(bound)]:
            self._say(bound)

    def _look_at_written(self) -> None:
        for connection in list(self._written):
            if not (left_bytes := connection.untaken_bytes()):
                del self._written[connection]
                self.unblock(connection)
            elif connection not in self._blocked:
                self.block(connection, left_bytes)

    def _end_stalled(self, connection: LimitedConnection, untaken: _Untaken) -> None:
        """End it; but whoever takes its answer slowly has its time again, and is the last to have stalled."""
        left_bytes = connection.untaken_bytes()
        if left_bytes + TAKEN_AT_LEAST_BYTES > untaken.lay_bytes:
            self.note(LimitReached.TIME)
            connection.abort()
            return
        self.unblock(connection)
        self.block(connection, left_bytes)

    def note(self, bound: LimitReached) -> None:
        """The bound was reached: one line in the log, and then one a minute with how often."""
        self._reached[bound] += 1
        self._reached_in_all[bound] += 1
        if self._may_say(bound):
            self._say(bound)

    def _may_say(self, bound: LimitReached) -> bool:
        said = self._said.get(bound)
        return said is None or self._now() >= said + SAID_EVERY_S

    def _say(self, bound: LimitReached) -> None:
        self._said[bound] = self._now()
        facts = {
            "times": self._reached.pop(bound),
            "connections": len(self._all),
            "unfinished": len(self.unfinished),
            "body_bytes": self.bodies_bytes,
            "untaken_bytes": self.untaken_bytes,
        }
        logger.warning("clients were turned away: the bound on %s is reached", bound.value, extra={"facts": facts})

    def figures(self) -> ConnectionFigures:
        """As of now, for the metrics."""
        return ConnectionFigures(
            open=len(self._all),
            idle=len(self.idle),
            unfinished=len(self.unfinished),
            untaken=len(self._blocked),
            limit=self.size.connections,
            turned_away=dict(self._reached_in_all),
        )
