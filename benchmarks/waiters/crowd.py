"""A crowd that waits, in a process of its own: `python -m benchmarks.waiters.crowd`, orders and reports as JSON lines.

The first line says who waits where. While `take` or `end` is under way nothing is done but to read: each answer's time
is that of its last byte's reading, by the clock that all processes of a machine share (`perf_counter_ns`).
"""

from __future__ import annotations

import json
import resource
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from benchmarks.waiters.connections import GIVE_UP_S, Got, Kind, Place, Waiter, waiter_at
from benchmarks.wire import Refused

_SPARE_FILES = 50
_READ_BYTES = 65_536

Report = dict[str, Any]
"""A plain JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Who got mail when; `cpu_s` is what the crowd's process used meanwhile."""

    at_ns: dict[int, int]
    cpu_s: float


class Crowd:
    """The other end: starts the process, gives orders, reads reports."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = places
        command = [sys.executable, "-m", "benchmarks.waiters.crowd"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._say([asdict(place) for place in places])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def open(self) -> None:
        """Whoever has a session opens it."""
        self._say({"order": "open"})
        self._hear()

    def ask(self, who: Sequence[int] | None = None) -> None:
        """Those who wait no more begin to wait; only `who` of them. Returns when all have asked."""
        self._say({"order": "ask", "who": who})
        self._hear()

    def expect(self, count: int) -> None:
        """From now on the crowd reads, until so many have got mail: `taken` has them."""
        self._say({"order": "take", "count": count})
        self._hear()

    def taken(self) -> Taken:
        report = self._hear()
        return Taken(at_ns={int(who): at for who, at in report["at_ns"].items()}, cpu_s=report["cpu_s"])

    def expect_end(self) -> None:
        """From now on the crowd reads until every connection is closed: `ended` has how."""
        self._say({"order": "end"})
        self._hear()

    def ended(self) -> Report:
        """How many were answered or ended in order before their connection closed (`told`), and how many were not
        (`silent`).
        """
        return self._hear()

    def _say(self, order: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()

    def _hear(self) -> Report:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Refused(f"the crowd ended with {self._process.wait()}")
        report: Report = json.loads(line)
        return report


class _Waiting:
    """The process's own side."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._waiters = [waiter_at(place) for place in places]
        self._selector = selectors.DefaultSelector()
        self._asking: set[int] = set()

    def obey(self, order: Report) -> None:
        if order["order"] == "open":
            for waiter in self._waiters:
                waiter.open()
            _report({"open": True})
        elif order["order"] == "ask":
            self._read(timeout_s=0)
            self._ask(range(len(self._waiters)) if order["who"] is None else order["who"])
            _report({"waiting": len(self._asking)})
        elif order["order"] == "take":
            _report({"reads": True})
            _report(self._take(order["count"]))
        else:
            _report({"reads": True})
            _report(self._end())

    def _ask(self, who: Sequence[int]) -> None:
        for number in who:
            if number in self._asking:
                continue
            waiter = self._waiters[number]
            connection = waiter.ask()
            if connection not in self._selector.get_map():
                self._selector.register(connection, selectors.EVENT_READ, (number, waiter))
            self._asking.add(number)

    def _take(self, count: int) -> Report:
        began_s, at_ns = time.process_time(), dict[int, int]()
        while len(at_ns) < count:
            at_ns |= self._read(timeout_s=GIVE_UP_S)
        return {"at_ns": at_ns, "cpu_s": time.process_time() - began_s}

    def _read(self, *, timeout_s: float) -> dict[int, int]:
        """Who got mail when. Whose time was over asks again: nobody wants to wait less long."""
        ready, at_ns = self._selector.select(timeout=timeout_s), dict[int, int]()
        if timeout_s and not ready:
            raise Refused(f"nobody got mail within {timeout_s:g} s")
        for key, _ in ready:
            number, waiter = key.data
            data = _socket_of(waiter).recv(_READ_BYTES)
            if not data:
                raise Refused(f"the connection of {waiter.place} was closed")
            got = waiter.took(data)
            if got is Got.MAIL:
                at_ns[number] = time.perf_counter_ns()
            if got is not Got.NOTHING_YET and waiter.place.kind is not Kind.STREAM:
                self._asking.discard(number)
            if got is Got.TIME_IS_OVER:
                self._ask([number])
        return at_ns

    def _end(self) -> Report:
        told: set[int] = set()
        while self._selector.get_map():
            ready = self._selector.select(timeout=GIVE_UP_S)
            if not ready:
                break
            for key, _ in ready:
                number, waiter = key.data
                if self._is_closed(number, waiter, told):
                    self._selector.unregister(key.fileobj)
        return {"told": len(told), "silent": len(self._waiters) - len(told)}

    def _is_closed(self, number: int, waiter: Waiter, told: set[int]) -> bool:
        try:
            data = _socket_of(waiter).recv(_READ_BYTES)
        except ConnectionError:
            return True
        if waiter.is_end(data):
            told.add(number)
        return not data


def _socket_of(waiter: Waiter) -> Any:  # noqa: ANN401  # of the socket, which is there by now
    assert waiter.socket is not None
    return waiter.socket


def _report(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def allow_files(count: int) -> None:
    """Raise what this process may have open to so many connections. Raises Refused where that is not allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _SPARE_FILES
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise Refused(f"{count} connections need {wanted} open files, and this system allows {hard} (ulimit -Hn)")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main() -> None:
    given = json.loads(sys.stdin.readline())
    allow_files(len(given))
    waiting = _Waiting([Place(**{**place, "kind": Kind(place["kind"])}) for place in given])
    for line in sys.stdin:
        waiting.obey(json.loads(line))


if __name__ == "__main__":
    main()
