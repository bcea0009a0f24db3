"""`python -m benchmarks.scale`: the same questions to a small store and a large one, in alternation.

One server per store and one floor, all on one core, one client with one call in flight. In every
round each question is put to all of them call by call, to and fro; odd rounds go in reverse.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.__main__ import machine, say
from benchmarks.corpus import CLASSES, COMMONEST, HITS
from benchmarks.kernel import threads_of
from benchmarks.load import Client, Script
from benchmarks.mix import Echo
from benchmarks.processes import Server
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import call
from benchmarks.stand import Stand
from benchmarks.store_maker import BUSY, BUSY_AGENTS, SMALL, SMALL_MESSAGES, agent_name, cached_store
from benchmarks.wire import Dialect, McpSession, Refused, Rpc

SIZES = (1_000, 100_000)
FULL_SIZE = 1_000_000
FLOOR = 0
"""Stands for the floor where a size is asked for."""
MOST_HITS = 1_000
QUIET = {"ACK_TTL_ENABLED": "false"}
"""Generated mail is old and not acknowledged: notices of that quote its subjects, and would be found too."""
AFTERWARDS = "2026-01-01T00:00:00Z"  # later than any generated message

MAX_RATIO = 1.3
MAX_START = 1.25
MAX_ABOVE_FLOOR_MS = 30.0

Measured = dict[str, Any]
Round = dict[str, dict[int, Measured]]
"""Question -> size -> what one batch of calls measured."""


@dataclass(frozen=True, slots=True)
class Question:
    """A tool and the arguments of its calls, taken in turn. `limit`: the largest ratio to the smallest store."""

    name: str
    tool: str
    calls: Sequence[Mapping[str, Any]]
    limit: float | None = None
    over_mcp: bool = False

    def dialect(self) -> Dialect:
        return McpSession() if self.over_mcp else Rpc()


class Asking:
    """One client that puts a question again and again."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._asked = 0

    def next(self) -> tuple[str, str, dict[str, Any]]:
        arguments = self._question.calls[self._asked % len(self._question.calls)]
        self._asked += 1
        return self._question.name, self._question.tool, dict(arguments)

    def answered(self, kind: str, body: bytes) -> None:
        """Nothing follows from an answer."""


def _search(query: str, **more: object) -> dict[str, Any]:
    return {"project_key": BUSY, "query": query, **more}


def questions() -> list[Question]:
    """What is asked. Those without a limit are for information: they are known, or feared, to grow."""
    agents = [agent_name(number) for number in range(BUSY_AGENTS)]
    inboxes = [{"project_key": BUSY, "agent_name": name, "limit": 20} for name in agents]
    asked = [
        Question("fetch_inbox", "fetch_inbox", inboxes, MAX_RATIO),
        Question(
            "fetch_inbox with bodies", "fetch_inbox", [{**inbox, "include_bodies": True} for inbox in inboxes], None
        ),
    ]
    for name, words in CLASSES.items():
        asked.append(Question(f"search, {name} words", "search_messages", [_search(word) for word in words], MAX_RATIO))
    beginnings = [_search(f"{COMMONEST[:length]}*") for length in (1, 2, 4)]
    nearly_none = [_search(COMMONEST, from_agent="Human"), _search(COMMONEST, thread_id="no-such-thread")]
    just_now = [_search(COMMONEST, since_ts=AFTERWARDS)]
    return [
        *asked,
        Question("search, commonest word", "search_messages", [_search(COMMONEST)], over_mcp=True),
        Question("search, commonest word, oldest first", "search_messages", [_search(COMMONEST, order="oldest")]),
        Question("search, small project", "search_messages", [{"project_key": SMALL, "query": COMMONEST}]),
        Question("search, a beginning of 1, 2, 4 letters", "search_messages", beginnings),
        Question("search, a sender or thread of no mail", "search_messages", nearly_none),
        Question("search, since after the newest", "search_messages", just_now),
    ]


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 messages, 3 rounds: for development")
    parser.add_argument("--full", action="store_true", help="1,000,000 messages too")
    parser.add_argument("--rounds", type=int, help="alternating rounds (default 10; 3 with --quick)")
    parser.add_argument("--calls", type=int, default=60, help="calls per question, size and round (default 60)")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/scale.json"), help="where the figures go")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "agent-mail-stores",
        help="folder of the generated stores, which are kept",
    )
    chosen = parser.parse_args(argv)
    chosen.rounds = chosen.rounds or (3 if chosen.quick else 10)
    chosen.sizes = (1_000, 10_000) if chosen.quick else SIZES
    if chosen.full:
        chosen.sizes = (*chosen.sizes, FULL_SIZE)
    return chosen


def require_same_finds(servers: Mapping[int, Server]) -> None:
    """Planted words are found equally often in every store, and the small project finds its own mail."""
    for name, words in CLASSES.items():
        for word in words:
            found = {
                size: len(call(server, "search_messages", **_search(word, limit=MOST_HITS))["result"])
                for size, server in servers.items()
            }
            if set(found.values()) != {HITS[name]}:
                raise Refused(f"{word} is planted {HITS[name]} times and found so often: {found}")
    for size, server in servers.items():
        found_small = call(server, "search_messages", project_key=SMALL, query=COMMONEST, limit=MOST_HITS)["result"]
        if len(found_small) != SMALL_MESSAGES:
            raise Refused(f"of {size} messages the small project finds {len(found_small)}, not its {SMALL_MESSAGES}")


def measure_round(
    ours: Mapping[int, Server], floor: Server, asked: Sequence[Question], *, calls: int, backwards: bool
) -> Round:
    """Every question to every store, beside the floor's echo for questions over MCP."""
    found: Round = {}
    for question in reversed(asked) if backwards else asked:
        turns: dict[int, tuple[Server, Script]] = {size: (server, Asking(question)) for size, server in ours.items()}
        if question.over_mcp:
            turns[FLOOR] = (floor, Echo())
        found[question.name] = _in_turn(turns, question.dialect, calls)
    return found


def _in_turn(
    turns: Mapping[int, tuple[Server, Script]], dialect: Callable[[], Dialect], calls: int
) -> dict[int, Measured]:
    """One call to each, again and again, to and fro: what else the machine does meets all of them alike."""
    clients = {size: Client(server.port, dialect(), script) for size, (server, script) in turns.items()}
    for client in clients.values():
        timed_call(client)
    cpu_before = {size: on_cpu_s(server.process.pid) for size, (server, _) in turns.items()}
    sizes = list(turns)
    took: dict[int, list[float]] = {size: [] for size in sizes}
    for number in range(calls):
        for size in sizes if number % 2 == 0 else reversed(sizes):
            took[size].append(timed_call(clients[size]))
    for client in clients.values():
        client.close()
    return {
        size: {
            "p50_ms": statistics.median(took[size]),
            "p95_ms": sorted(took[size])[int(0.95 * calls)],
            "cpu_us": 1e6 * (on_cpu_s(server.process.pid) - cpu_before[size]) / calls,
        }
        for size, (server, _) in turns.items()
    }


def timed_call(client: Client) -> float:
    """One call on an open connection, in milliseconds."""
    client.send()
    answer = None
    while answer is None:
        if not (data := client.socket.recv(262_144)):
            raise Refused(f"the server closed the connection during {client.kind}")
        answer = client.reader.feed(data)
    took = (time.perf_counter_ns() - client.sent_ns) / 1e6
    if not client.dialect.is_success(answer.status, answer.body):
        raise Refused(f"{client.kind}: {answer.status} {answer.body[:400]!r}")
    return took


def on_cpu_s(pid: int) -> float:
    """CPU time of all threads of a process so far, to the nanosecond (Linux; else 0)."""
    return sum(thread.on_cpu_s for thread in threads_of([pid]))


def measure_starts(stores: Mapping[int, Path], stand: Stand, rounds: int) -> list[dict[int, float]]:
    """Seconds to the first successful call on every store and on none (FLOOR), in alternation; files are in memory."""
    starts = []
    for number in range(rounds):
        roots = {FLOOR: stand.scratch / f"none-{number}", **{size: store.parent for size, store in stores.items()}}
        record = {}
        for size in roots if number % 2 == 0 else reversed(roots):
            with stand.beside(f"start on {size:,}"):
                server = stand.ours(roots[size], McpSession(), **QUIET)
            record[size] = server.first_answer_s
            stand.stop(server)
        starts.append(record)
        say(f"start {number + 1}/{rounds}: {record}")
    return starts


def figures(rounds: Sequence[Round], starts: Sequence[dict[int, float]], asked: Sequence[Question]) -> list[Figure]:
    """The targets first, at the second size; then the same ratios, without one, at larger sizes."""
    smallest, large, *larger = [size for size in starts[0] if size != FLOOR]

    def each(value: Callable[[Round], float]) -> list[float]:
        return [value(one) for one in rounds]

    found = []
    for question in asked:
        for size in (large, *larger):
            values = each(
                lambda one, q=question, s=size: one[q.name][s]["p50_ms"] / one[q.name][smallest]["p50_ms"]  # type: ignore[misc]
            )
            target = question.limit if size == large else None
            found.append(Figure(name=f"{question.name}: p50 at {size:,} by {smallest:,}", values=values, target=target))
            cpu = each(
                lambda one, q=question, s=size: one[q.name][s]["cpu_us"] / one[q.name][smallest]["cpu_us"]  # type: ignore[misc]
            )
            found.append(Figure(name=f"{question.name}: CPU at {size:,} by {smallest:,}", values=cpu))
    for size in (large, *larger):
        above = each(
            lambda one, s=size: (
                one["search, commonest word"][s]["p95_ms"]  # type: ignore[misc]
                - one["search, commonest word"][FLOOR]["p95_ms"]
            )
        )
        target = MAX_ABOVE_FLOOR_MS if size == large else None
        found.append(
            Figure(name=f"commonest word: p95 at {size:,} above the floor's", values=above, unit="ms", target=target)
        )
        ratios = [start[size] / start[FLOOR] for start in starts]
        target = MAX_START if size == large else None
        found.append(Figure(name=f"first successful call: {size:,} by none", values=ratios, target=target))
    return sorted(found, key=lambda figure: figure.target is None)


def raw_figures(rounds: Sequence[Round], sizes: Sequence[int], asked: Sequence[Question]) -> list[Figure]:
    return [
        Figure(
            name=f"{question.name}, {size:,}: {field.partition('_')[0]}",
            values=[one[question.name][size][field] for one in rounds],
            unit=field.rpartition("_")[2],
        )
        for question in asked
        for size in sizes
        for field in ("p50_ms", "p95_ms", "cpu_us")
    ]


def measure(chosen: argparse.Namespace, stand: Stand, asked: Sequence[Question]) -> tuple[list[Round], list[Any]]:
    stores = {}
    for size in chosen.sizes:
        say(f"store of {size:,} messages")
        stores[size] = stand.scratch / f"store-{size}" / "mail.sqlite3"
        stores[size].parent.mkdir()
        shutil.copyfile(cached_store(chosen.cache, size), stores[size])
    floor = stand.floor(McpSession())
    ours = {size: stand.ours(store.parent, McpSession(), **QUIET) for size, store in stores.items()}
    require_same_finds(ours)
    rounds = []
    for number in range(chosen.rounds):
        say(f"round {number + 1}/{chosen.rounds}")
        with stand.phase(f"round {number + 1}", ours[max(ours)]):
            rounds.append(measure_round(ours, floor, asked, calls=chosen.calls, backwards=number % 2 == 1))
    for server in (floor, *ours.values()):
        stand.stop(server)
    return rounds, measure_starts(stores, stand, chosen.rounds)


def main() -> int:
    """0, or an exit code of `benchmarks.report`."""
    chosen = parse(sys.argv[1:])
    load_before = round(os.getloadavg()[0], 2)
    asked = questions()
    with tempfile.TemporaryDirectory(prefix="agent-mail-scale-") as scratch, Stand(Path(scratch)) as stand:
        rounds, starts = measure(chosen, stand, asked)
    targets, raw = figures(rounds, starts, asked), raw_figures(rounds, chosen.sizes, asked)
    print(table("Raw figures (median of the rounds, range, spread against itself)", raw), end="\n\n")
    print(table("Targets (median of the rounds, range, spread against itself)", targets), end="\n\n")
    conditions = {
        "sizes": chosen.sizes,
        "rounds": chosen.rounds,
        "calls_per_question_size_and_round": chosen.calls,
        "load_average_before": load_before,
        "machine": machine(),
    }
    print(f"load average before: {load_before}")
    return publish(
        targets,
        stand.seen,
        chosen.json,
        conditions=conditions,
        raw=[figure.as_json() for figure in raw],
        starts_s=starts,
    )


if __name__ == "__main__":
    sys.exit(main())
