"""Those who are no part of a flood: agents that call now and then, a probe that asks for liveness, and the scales."""

from __future__ import annotations

import heapq
import http.client
import selectors
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchmarks.flood.requests import inbox, letter
from benchmarks.pressure import ask, rss_mib
from benchmarks.wire import AnswerReader, Refused

_LOOK_EVERY_S = 0.05
_GIVE_UP_S = 30.0


@dataclass(slots=True)
class Felt:
    """What others felt: each answer's time, by when it came; failures; liveness; the server's weight at most."""

    seconds: float = 0.0
    answered: list[tuple[float, float]] = field(default_factory=list)
    """(when, by `perf_counter`; after how many milliseconds)"""
    failures: int = 0
    first_failure: str = ""
    liveness_ms: list[float] = field(default_factory=list)
    unanswered: int = 0
    most_mib: float = 0.0

    @property
    def per_second(self) -> float:
        return len(self.answered) / self.seconds

    def answers_ms(self, since: float = 0.0, until: float = float("inf")) -> list[float]:
        return [took_ms for at, took_ms in self.answered if since <= at < until]


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


@contextmanager
def looked_at(port: int, pid: int, felt: Felt) -> Iterator[None]:
    """Until the end of the block the server is weighed, and asked whether it lives: a new connection each time."""
    ended = threading.Event()

    def probe() -> None:
        while not ended.wait(_LOOK_EVERY_S):
            began = time.perf_counter()
            try:
                ask(port, "GET", "/health/liveness", timeout_s=10)
                felt.liveness_ms.append((time.perf_counter() - began) * 1_000)
            except (OSError, http.client.HTTPException):
                felt.unanswered += 1

    def weigh() -> None:
        while not ended.wait(_LOOK_EVERY_S):
            felt.most_mib = max(felt.most_mib, rss_mib(pid))

    watchers = [threading.Thread(target=probe), threading.Thread(target=weigh)]
    for watcher in watchers:
        watcher.start()
    try:
        yield
    finally:
        ended.set()
        for watcher in watchers:
            watcher.join()


class _Agent:
    """One connection, with one call in flight at most: every fourth is a letter to the next agent."""

    def __init__(self, port: int, name: str, to: str, token: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=_GIVE_UP_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = AnswerReader()
        self.calls = 0
        self.sent = 0.0
        self.due = 0.0
        self._calls = [inbox(name, token)] * 3 + [letter(name, to, token)]

    def send(self) -> None:
        self.sent = time.perf_counter()
        self.socket.sendall(self._calls[self.calls % len(self._calls)])
        self.calls += 1


class Others:
    """So many agents; `tokens` has one of each by its name."""

    def __init__(self, port: int, tokens: dict[str, str]) -> None:
        names = list(tokens)
        pairs = zip(names, [*names[1:], names[0]], strict=True)
        self._agents = [_Agent(port, name, to, tokens[name]) for name, to in pairs]

    def call(self, felt: Felt, seconds: float, *, each_per_second: float | None) -> None:
        """For so long: each as often as that, never before its last call was answered, or as soon as it was."""
        selector = selectors.DefaultSelector()
        began = now = time.perf_counter()
        period = 0.0 if each_per_second is None else 1 / each_per_second
        due: list[tuple[float, int]] = []
        for number, agent in enumerate(self._agents):
            agent.due = began + period * number / len(self._agents)
            heapq.heappush(due, (agent.due, number))
            selector.register(agent.socket, selectors.EVENT_READ, number)
        waiting = 0
        while waiting or now - began < seconds:
            while due and due[0][0] <= now and now - began < seconds:
                self._agents[heapq.heappop(due)[1]].send()
                waiting += 1
            left_s = max(0.0, (due[0][0] - now)) if due and now - began < seconds else _LOOK_EVERY_S
            for key, _ in selector.select(min(left_s, _LOOK_EVERY_S)):
                agent = self._agents[key.data]
                if self._took_answer(agent, felt):
                    waiting -= 1
                    agent.due = max(agent.due + period, time.perf_counter())
                    heapq.heappush(due, (agent.due, key.data))
            now = time.perf_counter()
            if now - began > seconds + _GIVE_UP_S:
                felt.failures += waiting
                break
        felt.seconds += now - began
        selector.close()

    def _took_answer(self, agent: _Agent, felt: Felt) -> bool:
        data = agent.socket.recv(262_144)
        if not data:
            raise Refused("the server closed a connection of those who do not press")
        answer = agent.reader.feed(data)
        if answer is None:
            return False
        now = time.perf_counter()
        if answer.status == http.client.OK:
            felt.answered.append((now, (now - agent.sent) * 1_000))
        else:
            felt.failures += 1
            felt.first_failure = felt.first_failure or f"{answer.status} {answer.body[:300]!r}"
        return True

    def close(self) -> None:
        for agent in self._agents:
            agent.socket.close()
