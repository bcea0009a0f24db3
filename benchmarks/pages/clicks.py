"""What a person at the pages costs the agents: the mixed load over MCP with one beside it and without, in turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import Sample, drive
from benchmarks.mix import MixedWork, Pool
from benchmarks.pages.content import Place
from benchmarks.pages.visitor import Visitor
from benchmarks.processes import Server, cpu_s
from benchmarks.scenarios import CLIENTS, wait_drained
from benchmarks.stand import Stand
from benchmarks.store_maker import BUSY, BUSY_AGENTS, agent_name
from benchmarks.wire import McpSession, Refused

EVERY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The load of one phase; `cpu_us` is of the server per request of it, pages included."""

    per_second: float
    p50_ms: float
    p95_ms: float
    cpu_us: float
    clicks: int


class Person:
    """Keeps a tab open, which listens to events, and opens a page each second."""

    def __init__(self, server: Server, root: Path, shown: Sequence[Place]) -> None:
        self._tab, self._clicking = Visitor(server.port), Visitor(server.port)
        for visitor in (self._tab, self._clicking):
            visitor.sign_in(server, root)
        self._shown = shown
        self._ends = threading.Event()
        self.clicks = 0
        self.failure = ""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        self._tab.listen()
        threads = [threading.Thread(target=part) for part in (self._listen, self._click)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ends.set()
            with suppress(OSError):
                self._tab.connection.shutdown(2)
            for thread in threads:
                thread.join()
            self._tab.close()
            self._clicking.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while self._tab.connection.recv(65_536):
                pass

    def _click(self) -> None:
        while not self._ends.wait(EVERY_S):
            place = self._shown[self.clicks % len(self._shown)]
            visit = self._clicking.visit(place.path(self.clicks))
            if visit.status not in (200, 303):
                self.failure = f"{place.name}: {visit.status}"
            self.clicks += 1


def compare(
    stand: Stand, server: Server, root: Path, shown: Sequence[Place], *, pairs: int, clients: int, seconds: float
) -> list[dict[str, Window]]:
    """`without` and `with` of each pair; odd pairs run in reverse order."""
    pool, found = Pool(seed=2), []
    for number in range(pairs):
        order = ("without", "with") if number % 2 == 0 else ("with", "without")
        pair = {}
        for kind in order:
            person = Person(server, root, shown) if kind == "with" else None
            seed = 2 * number + order.index(kind)
            pair[kind] = _window(stand, server, person, pool, seed=seed, clients=clients, seconds=seconds)
        found.append(pair)
    return found


def _window(
    stand: Stand, server: Server, person: Person | None, pool: Pool, *, seed: int, clients: int, seconds: float
) -> Window:
    names = [agent_name(number) for number in range(min(CLIENTS, BUSY_AGENTS))]
    load = [
        (McpSession(), MixedWork(BUSY, name, names, pool, 1_000 * seed + n)) for n, name in enumerate(names[:clients])
    ]
    wait_drained(server)
    with stand.phase(f"{clients} clients, {'a person beside' if person else 'no person'}", server):
        before = cpu_s(server.process.pid)
        if person is None:
            sample = drive(server.port, load, seconds)
        else:
            with person.at_work():
                sample = drive(server.port, load, seconds)
        used_s = cpu_s(server.process.pid) - before
    return _judged(sample, person, used_s)


def _judged(sample: Sample, person: Person | None, used_s: float) -> Window:
    if sample.failures or not sample.counted:
        raise Refused(f"{sample.failures} calls failed: {sample.first_failure}")
    if person is not None and (person.failure or not person.clicks):
        raise Refused(f"a person beside: {person.failure or 'clicked nothing'}")
    return Window(
        per_second=sample.per_second,
        p50_ms=sample.percentile(0.5),
        p95_ms=sample.percentile(0.95),
        cpu_us=1e6 * used_s / sample.answered,
        clicks=0 if person is None else person.clicks,
    )
