"""A letter by the door `postal` against the same letter by this server's own tools: sent, and taken."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial

from benchmarks.doors.servers import postal
from benchmarks.doors.ways import Batch, Callers, Deed, Way, clients_of, reader_of, to_and_fro, writer_of
from benchmarks.mix import Pool
from benchmarks.processes import Server
from benchmarks.report import Figure
from benchmarks.scenarios import PROJECT, call, populate, wait_drained
from benchmarks.stand import Stand
from benchmarks.wire import Rpc

TARGET = 1.1
"""Times the time of a letter by our own tools."""
CLIENTS = (1, 20)
WARM = 20
_NAMES = {
    Deed.SEND: "a postal send against send_message",
    Deed.TAKE: "a postal check_mail against fetch_inbox + mark_message_read",
}

Pair = dict[str, Batch]
"""Deed, clients and way -> what was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured. `each`: letters of each client in a batch, by how many clients there are."""

    pairs: int
    each: dict[int, int]
    messages: int


def run(stand: Stand, plan: Plan) -> list[Pair]:
    """On a server of its own, which has ended when it returns."""
    server = stand.ours(stand.scratch / "letters", Rpc(), **postal(PROJECT))
    populate(server, plan.messages)
    for number in range(max(CLIENTS)):
        for name in (writer_of(Way.NATIVE, number), reader_of(Way.NATIVE, number)):
            call(server, "register_agent", project_key=PROJECT, program="bench", model="none", name=name)
    with _all_callers(server) as callers:
        for both in callers.values():
            for one in both:
                one.run(WARM)  # Names are made by it; letters of the first half are there for the second.
        wait_drained(server)
        pairs = [_pair(stand, server, callers, number, plan) for number in range(plan.pairs)]
    stand.stop(server)
    return pairs


_Callers = dict[tuple[Deed, int], list[Callers]]
"""Of both ways, in their order."""


@contextmanager
def _all_callers(server: Server) -> Iterator[_Callers]:
    """Sends before takes: nobody takes what is not there."""
    pool = Pool(seed=2)
    with ExitStack() as opened:
        yield {
            (deed, clients): [
                opened.enter_context(
                    closing(Callers(server, [clients_of(way, deed, number, pool) for number in range(clients)]))
                )
                for way in Way
            ]
            for deed in Deed
            for clients in CLIENTS
        }


def _pair(stand: Stand, server: Server, callers: _Callers, number: int, plan: Plan) -> Pair:
    """Each way has every deed once in each pair; odd pairs begin with the other way."""
    order = list(Way) if number % 2 == 0 else list(reversed(Way))
    pair: Pair = {}
    for clients in CLIENTS:
        for deed in Deed:
            of_way = dict(zip(Way, callers[deed, clients], strict=True))
            with stand.phase(f"{deed}, {clients} clients", server):
                made = to_and_fro([partial(of_way[way].run, plan.each[clients]) for way in order])
            wait_drained(server)
            pair |= {key(deed, clients, way): batch for way, batch in zip(order, made, strict=True)}
    shares = ", ".join(f"{name} {share:.2f}" for name, share in _shares(pair).items())
    print(f"pair {number + 1}/{plan.pairs}: {shares}", file=sys.stderr, flush=True)
    return pair


def key(deed: Deed, clients: int, way: Way) -> str:
    return f"{deed}, {clients} clients, {way}"


def _shares(pair: Pair) -> dict[str, float]:
    return {f"{deed} at {clients}": ratio(pair, deed, clients, "p50_ms") for deed in Deed for clients in CLIENTS}


def ratio(pair: Pair, deed: Deed, clients: int, field: str) -> float:
    by_door, native = (getattr(pair[key(deed, clients, way)], field) for way in (Way.POSTAL, Way.NATIVE))
    return float(by_door / native)


def figures(pairs: Sequence[Pair]) -> list[Figure]:
    """With one client the time that half of all letters stay within, with more the time a letter at their rate."""
    found = []
    for deed in Deed:
        for clients in CLIENTS:
            field = "p50_ms" if clients == 1 else "wall_ms"
            name = f"{_NAMES[deed]}, {clients} client{'s' if clients > 1 else ''}"
            times = [ratio(pair, deed, clients, field) for pair in pairs]
            cpu = [ratio(pair, deed, clients, "cpu_us") for pair in pairs]
            found += [
                Figure(name=f"{name}: time", values=times, target=TARGET),
                Figure(name=f"{name}: CPU of the server", values=cpu),
            ]
    return found


def raw(pairs: Sequence[Pair]) -> list[Figure]:
    return [
        Figure(name=f"{name}: {field}", values=[getattr(pair[name], field) for pair in pairs], unit=unit)
        for name in pairs[0]
        for field, unit in (("p50_ms", "ms"), ("wall_ms", "ms"), ("cpu_us", "us"))
    ]
