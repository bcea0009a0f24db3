"""`python -m benchmarks.scale_million`: a million messages of 1,000 projects beside a thousand, in alternation.

What agents and people ask most is put to a server over each store, call by call in turn; then come sends, starts, and
`am doctor check` of each. As `benchmarks.scale`, for which the larger store would take too long.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.__main__ import machine, say
from benchmarks.care import LOOK_S, peak_of
from benchmarks.corpus import CLASSES, COMMONEST, THREADS, Corpus
from benchmarks.load import Client
from benchmarks.pages.__main__ import ANSWERS, SETTINGS
from benchmarks.pages.visitor import Visitor
from benchmarks.processes import Server
from benchmarks.report import Figure, publish, table
from benchmarks.scale import (
    FLOOR,
    FULL_SIZE,
    MAX_RATIO,
    MAX_START,
    MOST_HITS,
    Asking,
    Measured,
    Question,
    measure_starts,
    on_cpu_s,
    require_same_finds,
    timed_call,
)
from benchmarks.scenarios import call, wait_drained
from benchmarks.stand import Stand
from benchmarks.store_maker import BUSY, BUSY_AGENTS, agent_name, cached_store
from benchmarks.wire import Dialect, McpSession, Refused, Resource, Rpc

SMALLEST_SIZE = 1_000
MAX_BATCH_S = 8.0
"""What answers slowly is asked less often: a round of one question to both stores takes hardly longer."""
FEWEST_CALLS = 3
LETTERS = 40
PAGES = {
    "page of all mail": ("/mail",),
    "page of projects": ("/mail/projects",),
    "page of an inbox": tuple(f"/mail/{{slug}}/inbox/{agent_name(number)}" for number in range(BUSY_AGENTS)),
    "page of a thread": tuple(f"/mail/{{slug}}/thread/{thread}" for thread in THREADS),
    "page of a message": ("/mail/{slug}/message/{planted}",),
    "page of a search": tuple(f"/mail/search?q={word}" for words in CLASSES.values() for word in words),
    "page of a search of a project": tuple(
        f"/mail/{{slug}}/search?q={word}" for words in CLASSES.values() for word in words
    ),
}
SEND = "send_message"
READ_RESOURCE = "resources/read"

Ask = Callable[[], float]
"""Puts a question once more; gives the milliseconds until its answer. Raises Refused."""
Round = dict[str, dict[int, Measured]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server over one of the stores, and a person who is signed in there."""

    server: Server
    visitor: Visitor
    slug: str
    planted: Sequence[int]

    def asks_page(self, paths: Sequence[str]) -> Ask:
        filled = [
            path.format(slug=self.slug, planted=number)
            for path in paths
            for number in (self.planted if "{planted}" in path else self.planted[:1])
        ]
        turns = iter(range(sys.maxsize))

        def ask() -> float:
            path = filled[next(turns) % len(filled)]
            visit = self.visitor.visit(path)
            if visit.status not in ANSWERS:
                raise Refused(f"{path}: {visit.status} {visit.body[-400:]!r}")
            return visit.took_ms

        return ask


def questions() -> list[Question]:
    """What agents ask, with the largest ratio of its time."""
    agents = [agent_name(number) for number in range(BUSY_AGENTS)]
    threads = [{"uri": f"resource://thread/{thread}?project={BUSY}"} for thread in THREADS]
    asked = [
        Question(
            "fetch_inbox", "fetch_inbox", [{"project_key": BUSY, "agent_name": name} for name in agents], MAX_RATIO
        ),
        Question("resource of a thread", READ_RESOURCE, threads, MAX_RATIO),
    ]
    searched: dict[str, Sequence[str]] = {f"search, {name} words": words for name, words in CLASSES.items()}
    searched |= {f"search, a beginning of {length}": (f"{COMMONEST[:length]}*",) for length in (1, 2, 3)}
    for name, words in searched.items():
        calls = [{"project_key": BUSY, "query": word} for word in words]
        asked.append(Question(name, "search_messages", calls, MAX_RATIO))
    return asked


def letters() -> Question:
    """Sends of one text each to one recipient, for information."""
    corpus = Corpus("sent")
    names = [agent_name(number) for number in range(BUSY_AGENTS)]
    calls = [
        {
            "project_key": BUSY,
            "sender_name": names[number % BUSY_AGENTS],
            "to": [names[(number + 1) % BUSY_AGENTS]],
            "subject": corpus.subject(),
            "body_md": corpus.body(),
        }
        for number in range(LETTERS)
    ]
    return Question(SEND, SEND, calls)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_million", description=__doc__)
    parser.add_argument("--messages", type=int, default=FULL_SIZE, help="of the larger store (default 1,000,000)")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds (default 5)")
    parser.add_argument("--calls", type=int, default=40, help="calls per question, store and round (default 40)")
    parser.add_argument("--no-check", action="store_true", help="leave `am doctor check` out")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/scale-million.json"))
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "agent-mail-stores",
        help="folder of the generated stores, which are kept",
    )
    return parser.parse_args(argv)


def in_turn(asks: Mapping[int, Ask], servers: Mapping[int, Server], calls: int) -> dict[int, Measured]:
    """One call to each, again and again, to and fro, for MAX_BATCH_S; the first of each is not counted."""
    refusals = dict.fromkeys(asks, 0)
    took: dict[int, list[float]] = {size: [] for size in asks}

    def timed(size: int) -> float:
        began = time.perf_counter()
        try:
            return asks[size]()
        except Refused as refused:
            refusals[size] += 1
            say(f"{size:,}: {refused}"[:300])
            return 1e3 * (time.perf_counter() - began)

    for size in asks:
        timed(size)
    cpu_before = {size: on_cpu_s(server.process.pid) for size, server in servers.items()}
    ends = time.monotonic() + MAX_BATCH_S
    for number in range(calls):
        if number >= FEWEST_CALLS and time.monotonic() > ends:
            break
        for size in asks if number % 2 == 0 else reversed(list(asks)):
            took[size].append(timed(size))
    return {
        size: {
            "p50_ms": statistics.median(took[size]),
            "cpu_us": 1e6 * (on_cpu_s(servers[size].process.pid) - cpu_before[size]) / len(took[size]),
            "calls": len(took[size]),
            "refused": refusals[size],
        }
        for size in asks
    }


def ask_tool(running: Mapping[int, Running], question: Question, calls: int) -> dict[int, Measured]:
    def dialect() -> Dialect:
        return Resource() if question.tool == READ_RESOURCE else Rpc()

    clients = {size: Client(one.server.port, dialect(), Asking(question)) for size, one in running.items()}
    asks: dict[int, Ask] = {size: lambda client=client: timed_call(client) for size, client in clients.items()}  # type: ignore[misc]
    found = in_turn(asks, {size: one.server for size, one in running.items()}, calls)
    for client in clients.values():
        client.close()
    return found


def ask_page(running: Mapping[int, Running], paths: Sequence[str], calls: int) -> dict[int, Measured]:
    asks = {size: one.asks_page(paths) for size, one in running.items()}
    return in_turn(asks, {size: one.server for size, one in running.items()}, calls)


def measure_round(running: Mapping[int, Running], calls: int, *, backwards: bool) -> Round:
    """Every question and every page."""
    work: list[tuple[str, Callable[[], dict[int, Measured]]]] = [
        *((one.name, lambda one=one: ask_tool(running, one, calls)) for one in questions()),
        *((name, lambda paths=paths: ask_page(running, paths, calls)) for name, paths in PAGES.items()),
    ]
    return {name: ask() for name, ask in (reversed(work) if backwards else work)}


def open_on(stand: Stand, store: Path) -> Running:
    server = stand.ours(store.parent, McpSession(), **SETTINGS)
    visitor = Visitor(server.port)
    visitor.sign_in(server, store.parent)
    found = call(server, "search_messages", project_key=BUSY, query=CLASSES["medium"][0], limit=MOST_HITS)["result"]
    slug = str(call(server, "ensure_project", human_key=BUSY)["slug"])
    return Running(server=server, visitor=visitor, slug=slug, planted=[int(one["id"]) for one in found])


def check_store(root: Path) -> Measured:
    """`am doctor check` as a person runs it where no server does: seconds, those of a core, and its memory at most."""
    command = [sys.executable, "-m", "mcp_agent_mail", "doctor", "check", "--json"]
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, env={**os.environ, "STORAGE_ROOT": str(root)}, stdout=said, stderr=subprocess.STDOUT
        )
        peak_mib = 0
        while True:
            peak_mib = max(peak_mib, peak_of(process.pid))
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            time.sleep(LOOK_S)
        seconds, process.returncode = time.perf_counter() - began, os.waitstatus_to_exitcode(status)
        said.seek(0)
        if process.returncode:
            raise Refused(f"am doctor check: {process.returncode} {said.read()[:4000]!r}")
    return {"seconds": seconds, "cpu_s": used.ru_utime + used.ru_stime, "peak_mib": peak_mib}


def figures(rounds: Sequence[Round], starts: Sequence[dict[int, float]], sizes: Sequence[int]) -> list[Figure]:
    """The larger store by the smaller; those with a limit first."""
    limits = {question.name: question.limit for question in questions()}
    found = []
    for name in _names(rounds):
        found += _compared(name, [one[name] for one in rounds if name in one], limits.get(name), sizes)
    large = sizes[-1]
    ratios = [start[large] / start[FLOOR] for start in starts]
    found.append(Figure(name=f"first successful call: {large:,} by none", values=ratios, target=MAX_START))
    return sorted(found, key=lambda figure: figure.target is None)


def _names(rounds: Sequence[Round]) -> list[str]:
    return list(dict.fromkeys(name for one in rounds for name in one))


def _compared(
    name: str, asked: Sequence[Mapping[int, Measured]], limit: float | None, sizes: Sequence[int]
) -> list[Figure]:
    small, large = sizes

    def by_small(field: str) -> list[float]:
        return [one[large][field] / one[small][field] for one in asked]

    found = [
        Figure(name=f"{name}: p50 at {large:,} by {small:,}", values=by_small("p50_ms"), target=limit),
        Figure(name=f"{name}: CPU at {large:,} by {small:,}", values=by_small("cpu_us")),
    ]
    refused = [float(one[large]["refused"]) for one in asked]
    if any(refused):
        found.append(Figure(name=f"{name}: refused at {large:,}", values=refused, unit="calls", target=0.0))
    return found


def raw_figures(
    rounds: Sequence[Round], bytes_each: Mapping[int, float], checks: Mapping[int, Measured]
) -> list[Figure]:
    found = [
        Figure(
            name=f"{name}, {size:,}: {field.partition('_')[0]}",
            values=[one[name][size][field] for one in rounds if name in one],
            unit=field.rpartition("_")[2],
        )
        for name in _names(rounds)
        for size in bytes_each
        for field in ("p50_ms", "cpu_us")
    ]
    for size, value in bytes_each.items():
        found.append(Figure(name=f"database for each message, {size:,}", values=[value], unit="bytes"))
    for size, check in checks.items():
        for field, unit in (("seconds", "s"), ("cpu_s", "s of CPU"), ("peak_mib", "MiB")):
            found.append(Figure(name=f"am doctor check, {size:,}: {field}", values=[check[field]], unit=unit))
    return found


def copied(stores: Mapping[int, Path], scratch: Path) -> dict[int, Path]:
    """The owner's alone, as a check asks."""
    found = {}
    for size, store in stores.items():
        found[size] = scratch / f"store-{size}" / store.name
        found[size].parent.mkdir(mode=0o700)
        shutil.copy(store, found[size])
    return found


def measure(
    chosen: argparse.Namespace, stand: Stand, stores: Mapping[int, Path]
) -> tuple[list[Round], list[dict[int, float]], dict[int, Measured]]:
    """The rounds (those of sends last, that they change nothing of what is asked), the starts, and the checks."""
    running = {size: open_on(stand, store) for size, store in stores.items()}
    servers = {size: one.server for size, one in running.items()}
    require_same_finds(servers)
    rounds: list[Round] = []
    for number in range(chosen.rounds):
        say(f"round {number + 1}/{chosen.rounds}")
        with stand.phase(f"round {number + 1}", servers[max(servers)]):
            rounds.append(measure_round(running, chosen.calls, backwards=number % 2 == 1))
    for number in range(chosen.rounds):
        with stand.phase(f"sends {number + 1}", servers[max(servers)]):
            rounds.append({SEND: ask_tool(running, letters(), chosen.calls)})
    for server in servers.values():
        wait_drained(server)
        stand.stop(server)
    starts = measure_starts(stores, stand, chosen.rounds)
    checks = {}
    for size, store in {} if chosen.no_check else stores.items():
        say(f"am doctor check on {size:,}")
        with stand.beside(f"check of {size:,}"):
            checks[size] = check_store(store.parent)
    return rounds, starts, checks


def main() -> int:
    """0, or an exit code of `benchmarks.report`."""
    chosen = parse(sys.argv[1:])
    load_before = round(os.getloadavg()[0], 2)
    sizes = (SMALLEST_SIZE, chosen.messages)
    kept = {}
    for size in sizes:
        say(f"store of {size:,} messages")
        kept[size] = cached_store(chosen.cache, size)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="agent-mail-scale-") as scratch, Stand(Path(scratch)) as stand:
        rounds, starts, checks = measure(chosen, stand, copied(kept, Path(scratch)))
    targets = figures(rounds, starts, sizes)
    raw = raw_figures(rounds, {size: store.stat().st_size / size for size, store in kept.items()}, checks)
    print(table("Raw figures (median of the rounds, range, spread against itself)", raw), end="\n\n")
    print(table("Targets (median of the rounds, range, spread against itself)", targets), end="\n\n")
    print(f"load average before: {load_before}; {time.perf_counter() - began:.0f} s with the stores made")
    conditions: dict[str, Any] = {
        "sizes": sizes,
        "rounds": chosen.rounds,
        "calls_per_question_size_and_round": chosen.calls,
        "load_average_before": load_before,
        "machine": machine(),
    }
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
