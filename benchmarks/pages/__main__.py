"""What the pages for people cost over a large store: `python -m benchmarks.pages`.

Every page of the table of routes in turn, by a person who is signed in as the operator; the largest paint where there
is a browser; and the mixed load over MCP with a person who clicks beside it. See docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.__main__ import machine, say
from benchmarks.pages.clicks import Window, compare
from benchmarks.pages.content import AGENTS, Place, furnish, places
from benchmarks.pages.paints import FLOOR, largest_paints, why_not
from benchmarks.pages.visitor import Visit, Visitor, sent_with_assets
from benchmarks.processes import Server
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import call
from benchmarks.stand import Stand
from benchmarks.store_maker import BUSY, cached_store
from benchmarks.wire import Refused, Rpc

MAX_P95_MS = 100.0
MAX_FIRST_KB = 200.0
MAX_NEXT_KB = 60.0
MAX_PAINT_MS = 500.0
NO_LOSS = 1.0
SETTINGS = {"ACK_TTL_ENABLED": "false", "HTTP_RATE_LIMIT_ENABLED": "false"}
"""Generated mail is old and not acknowledged: notices of that would be most of the log."""
PAINTED = (
    "/mail",
    "/mail?box=needs",
    "/mail/now",
    "/mail/projects",
    "/mail/search?q=…",
    "/mail/operations",
    "/mail/{project}/message/{message}",
    "/mail/{project}/thread/{thread}",
    "/mail/{project}/agents",
    "/mail/archive/activity",
)
CLICKED = (*PAINTED, "/mail/{project}/inbox/{agent}", "/mail/{project}/file_reservations")
ANSWERS = (200, 303)


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000, help="stored before it begins")
    parser.add_argument("--rounds", type=int, default=40, help="requests of each page")
    parser.add_argument("--paints", type=int, default=5, help="first visits of each of ten pages in a browser")
    parser.add_argument("--pairs", type=int, default=10, help="alternating pairs with and without a person")
    parser.add_argument("--seconds", type=float, default=6.0, help="measured time of each phase of those")
    parser.add_argument("--clients", type=int, default=4, help="agents that work meanwhile")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "agent-mail-stores",
        help="where generated stores are kept",
    )
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/page-costs.json"))
    return parser.parse_args(argv)


def walk(visitor: Visitor, shown: Sequence[Place], rounds: int) -> dict[str, list[Visit]]:
    """Every page once in each round, odd rounds in reverse; the first of all is not counted."""
    found: dict[str, list[Visit]] = {place.name: [] for place in shown}
    for number in range(rounds + 1):
        for place in shown if number % 2 == 0 else reversed(shown):
            visit = visitor.visit(place.path(number))
            if visit.status not in ANSWERS:
                raise Refused(f"{place.path(number)}: {visit.status} {visit.body[-2000:]!r}")
            if number:
                found[place.name].append(visit)
    return found


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def page_figures(name: str, visits: Sequence[Visit], first_bytes: int) -> list[Figure]:
    """`first_bytes` is the most of a first visit: the page and all its files."""
    times = [one.took_ms for one in visits]
    weights = [one.sent_bytes / 1_000 for one in visits]
    return [
        Figure(name=f"{name}: p50", values=[percentile(times, 0.5)], unit="ms"),
        Figure(name=f"{name}: p95", values=[percentile(times, 0.95)], unit="ms", target=MAX_P95_MS),
        Figure(name=f"{name}: next visit", values=[max(weights)], unit="KB", target=MAX_NEXT_KB),
        Figure(name=f"{name}: first visit", values=[first_bytes / 1_000], unit="KB", target=MAX_FIRST_KB),
    ]


def page_lines(seen: Mapping[str, Sequence[Visit]], firsts: Mapping[str, int]) -> str:
    """One line a page."""
    lines = [f"{'page':<62} {'p50 ms':>8} {'p95 ms':>8} {'whole KB':>8} {'next KB':>8} {'first KB':>8}  sent as"]
    for name, visits in sorted(seen.items(), key=lambda one: -percentile([v.took_ms for v in one[1]], 0.95)):
        times = [one.took_ms for one in visits]
        weight = max(one.sent_bytes for one in visits) / 1_000
        whole = max(len(one.body) for one in visits) / 1_000
        codings = ", ".join(sorted({one.coding for one in visits}))
        lines.append(
            f"{name:<62} {percentile(times, 0.5):8.1f} {percentile(times, 0.95):8.1f} {whole:8.1f} {weight:8.1f}"
            f" {firsts[name] / 1_000:8.1f}  {codings}"
        )
    return "\n".join(lines)


def paint_figures(seen: Mapping[str, Mapping[str, Sequence[float]]]) -> list[Figure]:
    return [
        Figure(
            name=f"{name}: largest paint, {kind} visit",
            values=values,
            unit="ms",
            target=None if name == FLOOR.name else MAX_PAINT_MS,
        )
        for name, kinds in seen.items()
        for kind, values in kinds.items()
    ]


def click_figures(pairs: Sequence[Mapping[str, Window]]) -> list[Figure]:
    """A loss that the spread of the ratios cannot tell from none is none that can be measured."""

    def ratios(value: str) -> list[float]:
        return [getattr(pair["with"], value) / getattr(pair["without"], value) for pair in pairs]

    told = "over MCP, with a person who clicks by without"
    return [
        Figure(name=f"p50 {told}", values=ratios("p50_ms"), target=NO_LOSS),
        Figure(name=f"requests/s {told}", values=ratios("per_second"), target=NO_LOSS, at_least=True),
        Figure(name=f"p95 {told}", values=ratios("p95_ms")),
        Figure(name=f"CPU of the server per request {told}", values=ratios("cpu_us")),
    ]


def measure(chosen: argparse.Namespace, stand: Stand) -> tuple[list[Figure], dict[str, object]]:
    """The figures, and the raw values of the pairs."""
    root = stand.scratch / "store"
    root.mkdir()
    say(f"store of {chosen.messages:,} messages")
    shutil.copyfile(cached_store(chosen.cache, chosen.messages), root / "mail.sqlite3")
    server = stand.ours(root, Rpc(), **SETTINGS)
    say("what stands beside the mail")
    sent = furnish(server)
    visitor = Visitor(server.port)
    visitor.sign_in(server, root)
    shown = places(visitor, str(call(server, "ensure_project", human_key=BUSY)["slug"]), sent, chosen.messages)
    say(f"{len(shown)} pages, {chosen.rounds} times")
    figures = _walked(stand, server, visitor, shown, chosen.rounds)
    by_name = {place.name: place for place in shown}
    if (missing := why_not()) is not None:
        print(f"NO PAINT WAS MEASURED: {missing}")
    elif chosen.paints:
        painted = largest_paints(server, root, [by_name[name] for name in PAINTED], chosen.paints)
        figures += _told("Largest paint (median, range)", paint_figures(painted))
    pairs: list[dict[str, Window]] = []
    if chosen.pairs:
        say(f"{chosen.pairs} pairs with and without a person")
        clicked = [by_name[name] for name in CLICKED]
        pairs = compare(
            stand, server, root, clicked, pairs=chosen.pairs, clients=chosen.clients, seconds=chosen.seconds
        )
        figures += _told(f"A person beside {chosen.clients} agents (median of the pairs, range)", click_figures(pairs))
    visitor.close()
    return figures, {"pairs": [{kind: asdict(one) for kind, one in pair.items()} for pair in pairs]}


def _walked(stand: Stand, server: Server, visitor: Visitor, shown: Sequence[Place], rounds: int) -> list[Figure]:
    with stand.phase("pages", server):
        seen = walk(visitor, shown, rounds)
    heaviest = {name: max(visits, key=lambda one: one.sent_bytes) for name, visits in seen.items()}
    firsts = {name: sent_with_assets(server.port, page) for name, page in heaviest.items()}
    print(page_lines(seen, firsts), end="\n\n")
    return [figure for name, visits in seen.items() for figure in page_figures(name, visits, firsts[name])]


def _told(title: str, figures: list[Figure]) -> list[Figure]:
    print(table(title, figures), end="\n\n")
    return figures


def main() -> int:
    """0, or an exit code of `benchmarks.report`."""
    chosen = parse(sys.argv[1:])
    load_before = round(os.getloadavg()[0], 2)
    with tempfile.TemporaryDirectory(prefix="agent-mail-pages-") as scratch, Stand(Path(scratch)) as stand:
        figures, raw = measure(chosen, stand)
        seen = stand.seen
    conditions = {
        "messages": chosen.messages,
        "agents_of_the_project": AGENTS,
        "rounds": chosen.rounds,
        "load_average_before": load_before,
        "machine": machine(),
    }
    print(f"load average before: {load_before}")
    return publish(figures, seen, chosen.json, conditions=conditions, **raw)


if __name__ == "__main__":
    sys.exit(main())
