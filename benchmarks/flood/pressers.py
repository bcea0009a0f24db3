"""Who presses, in a process of its own: `python -m benchmarks.flood.pressers`, its orders and its report as JSON lines.

One loop over all connections: those that flood, whose requests wait on them up to a bound, idle ones, those that leave
a request half-sent, and those that read nothing but a little of a long answer. Whoever is closed by the server comes
back; nothing leaves this machine, and everything ends after the ordered time.
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Self

from benchmarks.flood.requests import FLOODER, HALF, HALF_BODY, LIBRARY, LIVENESS, inbox, long_inbox
from benchmarks.waiters.crowd import allow_files
from benchmarks.wire import Refused

TICK_S = 0.01
BACK_PER_TICK = 20
"""So many come at once, and who was closed after BACK_AFTER_S: more would be a flood of connections, which this is not.
"""
BACK_AFTER_S = 1.0
UNANSWERED = 8
"""Requests on a connection that floods; the server takes 16."""
SLOW_EVERY_S = 1.0
SLOW_BYTES = 512
_READ_BYTES = 262_144
_KINDS = ("flooding", "idle", "half", "slow")
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")
_STATUS_BYTES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """How many press, how, and for how long. `per_second`: what the flood would send if the server took it."""

    port: int
    per_second: float
    flooding: int
    idle: int
    half: int
    slow: int
    seconds: float


class Pressers:
    """The other end: starts the process, which begins when it is told to."""

    def __init__(self, pressure: Pressure, tokens: dict[str, str]) -> None:
        command = [sys.executable, "-m", "benchmarks.flood.pressers"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._say({"pressure": asdict(pressure), "tokens": {name: tokens[name] for name in (FLOODER, LIBRARY)}})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def begin(self) -> None:
        self._say({"begin": True})

    def report(self) -> dict[str, Any]:
        """What was offered, sent, answered and closed; waits for the end."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Refused(f"the pressers ended with {self._process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def _say(self, order: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()


class _Connection:
    """One that presses. `unanswered` counts requests, `tail` is the end of what was read, where a status may stand."""

    def __init__(self, kind: str, number: int) -> None:
        self.kind = kind
        self.number = number
        self.socket: socket.socket | None = None
        self.unanswered = 0
        self.tail = b""
        self.unsent = b""
        self.back_at = 0.0


class _Pressing:
    def __init__(self, pressure: Pressure, tokens: dict[str, str]) -> None:
        self._pressure = pressure
        self._flood = inbox(FLOODER, tokens[FLOODER])
        self._long = long_inbox(tokens[LIBRARY])
        self._selector = selectors.DefaultSelector()
        self._counts: Counter[str] = Counter()
        self._offered = 0.0
        counts = {kind: getattr(pressure, kind) for kind in _KINDS}
        self._all = [_Connection(kind, number) for kind, count in counts.items() for number in range(count)]
        self._flooding = [one for one in self._all if one.kind == "flooding"]
        self._slow = [one for one in self._all if one.kind == "slow"]
        self._away = deque(self._all)
        """The first comes back first."""
        self._next = 0

    def run(self) -> dict[str, Any]:
        began = now = time.perf_counter()
        slow_at = began
        cpu = time.process_time()
        while now - began < self._pressure.seconds:
            self._come_back()
            self._offer((now - began) * self._pressure.per_second)
            self._read(TICK_S)
            if now >= slow_at:
                slow_at = now + SLOW_EVERY_S
                self._read_slowly()
            now = time.perf_counter()
        held = Counter(one.kind for one in self._all if one.socket is not None)
        for one in self._all:
            if one.socket is not None:
                one.socket.close()
        return {
            "offered": int(self._offered),
            **self._counts,
            "held": dict(held),
            "cpu": (time.process_time() - cpu) / self._pressure.seconds,
        }

    def _come_back(self) -> None:
        now = time.perf_counter()
        for _ in range(BACK_PER_TICK):
            if not self._away or self._away[0].back_at > now:
                return
            one = self._away.popleft()
            try:
                one.socket = socket.create_connection(("127.0.0.1", self._pressure.port), timeout=2)
                one.socket.setblocking(False)
                is_there = self._send(one, self._greeting(one))
            except OSError:
                self._close(one)
                continue
            if is_there and one.kind != "slow":
                self._selector.register(one.socket, selectors.EVENT_READ, one)

    def _greeting(self, one: _Connection) -> bytes:
        if one.kind == "half":
            return (HALF[0], HALF[1], HALF[1] + HALF_BODY)[one.number % 3]
        return {"flooding": b"", "idle": LIVENESS, "slow": self._long}[one.kind]

    def _offer(self, due: float) -> None:
        """What is due by now goes to those that have room, and what nobody has room for is not sent at all."""
        many, self._offered = int(due) - int(self._offered), due
        for _ in range(len(self._flooding)):
            if many <= 0:
                return
            one = self._flooding[self._next % len(self._flooding)]
            self._next += 1
            free = min(UNANSWERED - one.unanswered, many)
            if one.socket is None or free <= 0 or one.unsent:
                continue
            many -= free
            one.unanswered += free
            self._counts["sent"] += free
            self._send(one, self._flood * free)

    def _send(self, one: _Connection, data: bytes) -> bool:
        """False where its connection is gone."""
        assert one.socket is not None
        try:
            one.unsent = data[one.socket.send(data) :] if data else b""
        except BlockingIOError:
            one.unsent = data
        except OSError:
            self._close(one)
            return False
        return True

    def _read(self, within_s: float) -> None:
        for key, _ in self._selector.select(within_s):
            one: _Connection = key.data
            assert one.socket is not None
            if one.unsent and not self._send(one, one.unsent):
                continue
            try:
                data = one.socket.recv(_READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if data:
                self._count(one, data)
            else:
                self._close(one)

    def _count(self, one: _Connection, data: bytes) -> None:
        """Statuses, also one that came in two pieces."""
        seen = one.tail + data
        one.tail = seen[-_STATUS_BYTES + 1 :]
        statuses = [found.decode() for found in _STATUS.findall(seen)]
        for status in statuses:
            self._counts[f"{one.kind} {status}"] += 1
        one.unanswered = max(0, one.unanswered - len(statuses))

    def _read_slowly(self) -> None:
        for one in self._slow:
            if one.socket is None:
                continue
            try:
                if not one.socket.recv(SLOW_BYTES):
                    self._close(one)
            except BlockingIOError:
                continue
            except OSError:
                self._close(one)

    def _close(self, one: _Connection) -> None:
        """It comes back."""
        if one.socket is not None:
            self._counts[f"{one.kind} closed"] += 1
            if one.kind != "slow" and one.socket.fileno() in self._selector.get_map():
                self._selector.unregister(one.socket)
            one.socket.close()
        one.socket, one.unanswered, one.tail, one.unsent = None, 0, b"", b""
        one.back_at = time.perf_counter() + BACK_AFTER_S
        self._away.append(one)


def main(lines: Callable[[], str]) -> None:
    orders = json.loads(lines())
    pressure = Pressure(**orders["pressure"])
    allow_files(pressure.flooding + pressure.idle + pressure.half + pressure.slow)
    pressing = _Pressing(pressure, orders["tokens"])
    lines()
    print(json.dumps(pressing.run()), flush=True)


if __name__ == "__main__":
    main(sys.stdin.readline)
