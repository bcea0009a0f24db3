"""The load: many keep-alive connections driven by one epoll loop, each with one call in flight.

A closed loop: a connection sends its next call when the last one was answered. The loop's own CPU
time is reported, since a client that is busy measures itself.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from benchmarks.wire import AnswerReader, Dialect, Refused

GIVE_UP_S = 60.0
WARM_UP_S = 1.0
"""Of every phase, not counted: caches, sessions, and a disk that was at rest."""


class Script(Protocol):
    """What one client does: its next call, and what it makes of the answer."""

    def next(self) -> tuple[str, str, dict[str, Any]]: ...

    """(kind of operation, tool, arguments)"""

    def answered(self, kind: str, body: bytes) -> None: ...


@dataclass(slots=True)
class Sample:
    """What one phase measured. Latencies are in milliseconds, per kind of operation."""

    seconds: float
    latencies_ms: dict[str, list[float]]
    failures: int = 0
    first_failure: str = ""
    client_cpu: float = 0.0
    answered: int = 0  # all successes, those outside the measured time too
    counted: int = field(init=False)

    def __post_init__(self) -> None:
        self.counted = sum(len(values) for values in self.latencies_ms.values())

    @property
    def per_second(self) -> float:
        return self.counted / self.seconds

    def percentile(self, share: float, kind: str | None = None) -> float:
        """The latency in ms that `share` of the calls stay within."""
        kinds = [kind] if kind else list(self.latencies_ms)
        values = sorted(value for name in kinds for value in self.latencies_ms.get(name, []))
        return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


class Client:
    """One connection: a dialect, a script, and at most one call in flight."""

    def __init__(self, port: int, dialect: Dialect, script: Script) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=GIVE_UP_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.dialect = dialect
        self.script = script
        self.reader = AnswerReader()
        self.kind = ""
        self.sent_ns = 0
        self._greet()

    def _greet(self) -> None:
        for position in range(len(self.dialect.handshake())):
            self.socket.sendall(self.dialect.handshake()[position])
            answer = None
            while answer is None:
                data = self.socket.recv(65536)
                if not data:
                    raise Refused("the server closed the connection during the handshake")
                answer = self.reader.feed(data)
            if answer.status not in (200, 202):
                raise Refused(f"handshake: {answer.status} {answer.body[:300]!r}")
            if position == 0:
                self.dialect.greeted(answer.head)

    def send(self) -> None:
        """Write the next call. Requests are small enough for the socket's buffer; the rest is waited for."""
        self.kind, tool, arguments = self.script.next()
        request = self.dialect.call(tool, arguments)
        self.sent_ns = time.perf_counter_ns()
        self.socket.sendall(request)

    def close(self) -> None:
        self.socket.close()


class _Tally:
    """Counts answers that begin and end within the measured time."""

    def __init__(self, begin_ns: int, end_ns: int) -> None:
        self.begin_ns = begin_ns
        self.end_ns = end_ns
        self.latencies: dict[str, list[float]] = defaultdict(list)
        self.failures = 0
        self.first_failure = ""
        self.answered = 0

    def add(self, client: Client, now_ns: int, status: int, body: bytes) -> None:
        if not client.dialect.is_success(status, body):
            self.failures += 1
            self.first_failure = self.first_failure or f"{client.kind}: {status} {body[:400]!r}"
            return
        self.answered += 1
        if self.begin_ns <= now_ns <= self.end_ns:
            self.latencies[client.kind].append((now_ns - client.sent_ns) / 1e6)


def _turn(selector: selectors.BaseSelector, tally: _Tally, cpu_marks: list[float]) -> int:
    """Handle what is ready; gives the number of connections that have finished."""
    finished = 0
    for key, _ in selector.select(timeout=GIVE_UP_S):
        client: Client = key.data
        data = client.socket.recv(262144)
        if not data:
            raise Refused(f"the server closed a connection during {client.kind}")
        answer = client.reader.feed(data)
        if answer is None:
            continue
        now = time.perf_counter_ns()
        tally.add(client, now, answer.status, answer.body)
        client.script.answered(client.kind, answer.body)
        if now >= tally.begin_ns and len(cpu_marks) == 1:
            cpu_marks.append(time.process_time())
        if now < tally.end_ns:
            client.send()
        else:
            selector.unregister(client.socket)
            finished += 1
    return finished


def drive(port: int, pairs: Sequence[tuple[Dialect, Script]], seconds: float) -> Sample:
    """Connect all clients, warm up, measure for `seconds`, and let the last calls finish."""
    clients = [Client(port, dialect, script) for dialect, script in pairs]
    selector = selectors.DefaultSelector()
    cpu_marks = [time.process_time()]
    begin = time.perf_counter_ns() + int(WARM_UP_S * 1e9)
    tally = _Tally(begin, begin + int(seconds * 1e9))
    for client in clients:
        selector.register(client.socket, selectors.EVENT_READ, client)
        client.send()
    working = len(clients)
    while working:
        working -= _turn(selector, tally, cpu_marks)
    cpu = time.process_time() - cpu_marks[-1]
    for client in clients:
        client.close()
    selector.close()
    return Sample(seconds, dict(tally.latencies), tally.failures, tally.first_failure, cpu / seconds, tally.answered)


def run_all(port: int, pairs: Sequence[tuple[Dialect, Script]], count: int) -> Sample:
    """Make `count` calls in all, as fast as the server takes them (for seeding)."""
    clients = [Client(port, dialect, script) for dialect, script in pairs]
    selector = selectors.DefaultSelector()
    begin = time.perf_counter_ns()
    tally = _Tally(begin, 2**63 - 1)
    left = count
    for client in clients[:left]:
        selector.register(client.socket, selectors.EVENT_READ, client)
        client.send()
        left -= 1
    while selector.get_map():
        left = _feed_on(selector, tally, left)
    for client in clients:
        client.close()
    selector.close()
    seconds = (time.perf_counter_ns() - begin) / 1e9
    return Sample(seconds, dict(tally.latencies), tally.failures, tally.first_failure)


def _feed_on(selector: selectors.BaseSelector, tally: _Tally, left: int) -> int:
    for key, _ in selector.select(timeout=GIVE_UP_S):
        client: Client = key.data
        answer = client.reader.feed(client.socket.recv(262144))
        if answer is None:
            continue
        tally.add(client, time.perf_counter_ns(), answer.status, answer.body)
        client.script.answered(client.kind, answer.body)
        if left:
            client.send()
            left -= 1
        else:
            selector.unregister(client.socket)
    return left
