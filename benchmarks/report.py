"""From raw phases to figures and targets: median of the pairs with its range, met or missed."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evidence import Seen

MISSED = 1
NO_EVIDENCE = 3
"""Exit codes of every benchmark: a target was missed; the run may not be believed, whatever it says."""
ENOUGH_PAIRS = 4
"""From so many on a figure's spread against itself says something."""
_SHOWN = 10

Pair = dict[str, dict[str, Any]]
"""One alternating round: phase name -> the phase's figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table. `at_least` says which side of `target` is good; no target: for information."""

    name: str
    values: Sequence[float]
    unit: str = ""
    target: float | None = None
    at_least: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> tuple[float, float]:
        """What one commit makes of itself: each pair's value by the next pair's, without the lowest and the highest."""
        if len(self.values) < ENOUGH_PAIRS or min(self.values) <= 0:
            return 1.0, 1.0
        following = [*self.values[1:], self.values[0]]
        ratios = sorted(value / after for value, after in zip(self.values, following, strict=True))[1:-1]
        return ratios[0], ratios[-1]

    @property
    def verdict(self) -> str:
        """A median that the spread cannot tell from the target meets it, and is said to do so by the spread alone."""
        if self.target is None:
            return ""
        if self.median >= self.target if self.at_least else self.median <= self.target:
            return "met"
        low, high = self.spread
        return "met within the spread" if low * self.target <= self.median <= high * self.target else "missed"

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "median": round(self.median, 3),
            "min": round(min(self.values), 3),
            "max": round(max(self.values), 3),
            "values": [round(value, 3) for value in self.values],
            "spread": [round(ratio, 3) for ratio in self.spread],
            "target": self.target,
            "sense": None if self.target is None else (">=" if self.at_least else "<="),
            "verdict": self.verdict or None,
        }


def _each(pairs: Sequence[Pair], value: Callable[[Pair], float]) -> list[float]:
    return [value(pair) for pair in pairs]


def load_figures(pairs: Sequence[Pair]) -> list[Figure]:
    """The targets on speed, archive lag and backlog."""

    def ratio(phase: str, floor: str, field: str) -> list[float]:
        return _each(pairs, lambda pair: pair[phase][field] / pair[floor][field])

    def archive(phase: str, field: str) -> list[float]:
        return _each(pairs, lambda pair: pair[phase]["archive"][field] or 0.0)

    return [
        Figure(
            name="mixed load over MCP, 20 clients, share of the floor's requests/s",
            values=ratio("mixed", "floor_20", "per_second"),
            target=0.50,
            at_least=True,
        ),
        Figure(
            name="mixed load over /rpc, 20 clients, share of the floor's requests/s",
            values=ratio("mixed_rpc", "floor_20", "per_second"),
            target=1.0,
            at_least=True,
        ),
        Figure(
            name="send p50, 1 client, multiple of the floor's p50",
            values=ratio("send_1", "floor_1", "p50_ms"),
            target=2.2,
        ),
        Figure(
            name="send p99, 20 clients, multiple of the floor's p99",
            values=ratio("send_20", "floor_20", "p99_ms"),
            target=3.0,
        ),
        Figure(
            name="100 senders to 10 recipients each, share of the floor's requests/s",
            values=ratio("send_100", "floor_100", "per_second"),
            target=0.40,
            at_least=True,
        ),
        Figure(
            name="archive lag p99 under the mixed load over MCP",
            values=archive("mixed", "lag_p99_s"),
            unit="s",
            target=1.0,
        ),
        Figure(
            name="commits per project under the mixed load over MCP",
            values=archive("mixed", "commits_per_project_s"),
            unit="/s",
            target=2.0,
        ),
        Figure(
            name="CPU of the server per call, mixed load over MCP, multiple of the floor's",
            values=ratio("mixed", "floor_20", "server_cpu_us"),
        ),
        Figure(
            name="archive lag p99 under the mixed load over /rpc", values=archive("mixed_rpc", "lag_p99_s"), unit="s"
        ),
        Figure(name="backlog at most, 100 senders to 10", values=archive("send_100", "backlog_max"), unit="events"),
        Figure(name="archive lag p99, 100 senders to 10", values=archive("send_100", "lag_p99_s"), unit="s"),
        Figure(
            name="time to drain after 100 senders to 10",
            values=_each(pairs, lambda pair: pair["send_100"]["drain_s"]),
            unit="s",
        ),
    ]


PARTS = ("loop", "writer", "search", "archiver", "git")


def raw_figures(pairs: Sequence[Pair]) -> list[Figure]:
    """Requests per second, latencies, and who worked and waited how much, of every phase."""
    figures = []
    for phase in pairs[0]:
        for field, unit in (
            ("per_second", "/s"),
            ("p50_ms", "ms"),
            ("p99_ms", "ms"),
            ("server_cpu_us", "us"),
            ("client_cpu", "of a core"),
        ):
            values = _each(pairs, lambda pair, phase=phase, field=field: pair[phase][field])  # type: ignore[misc]
            figures.append(Figure(name=f"{phase} {field}", values=values, unit=unit))
        for part in (part for part in PARTS if part in pairs[0][phase]["parts"]):
            for field, unit in (("cpu_us", "us a call"), ("waited_ms", "ms a second"), ("major_faults", "faults")):
                values = _each(
                    pairs,
                    lambda pair, phase=phase, part=part, field=field: pair[phase]["parts"].get(part, {}).get(field, 0),  # type: ignore[misc]
                )
                if field != "major_faults" or any(values):
                    figures.append(Figure(name=f"{phase} {part} {field}", values=values, unit=unit))
    return figures


def start_figures(starts: Sequence[dict[str, Any]]) -> list[Figure]:
    """The targets on start time and memory."""
    return [
        Figure(
            name="first successful call after spawn, multiple of the floor's",
            values=[start["ours_s"] / start["floor_s"] for start in starts],
            target=1.3,
        ),
        Figure(name="first successful call after spawn, floor", values=[s["floor_s"] for s in starts], unit="s"),
        Figure(name="first successful call after spawn, ours", values=[s["ours_s"] for s in starts], unit="s"),
        Figure(
            name="memory of all our processes after start (PSS)",
            values=[sum(start["ours_pss_mib"]) for start in starts],
            unit="MiB",
            target=140.0,
        ),
        Figure(name="memory of the floor (PSS)", values=[sum(start["floor_pss_mib"]) for start in starts], unit="MiB"),
    ]


def table(title: str, figures: Sequence[Figure]) -> str:
    """Aligned plain text: name, median, range, spread against itself, target, verdict."""
    lines = [title, "-" * len(title)]
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        sense = ">=" if figure.at_least else "<="
        goal = "" if figure.target is None else f"{sense} {figure.target:g}  {figure.verdict.upper()}"
        low, high = figure.spread
        strays = f"x {low:.2f} ... {high:.2f}" if low != high else ""
        lines.append(
            f"{figure.name:<{width}}  {figure.median:>10.3f} {figure.unit:<10}"
            f"({min(figure.values):.3f} ... {max(figure.values):.3f})  {strays:<15}  {goal}".rstrip()
        )
    return "\n".join(lines)


def publish(targets: Sequence[Figure], seen: Sequence[Seen], path: Path, **more: object) -> int:
    """Say what was missed and what speaks against the run, write everything to `path`, and give the exit code."""
    missed = [figure.name for figure in targets if figure.verdict == "missed"]
    objections = [f"{one.phase}: {objection}" for one in seen for objection in one.objections]
    print(f"missed: {'; '.join(missed) or 'none'}")
    if objections:
        print(f"NO EVIDENCE, {len(objections)} objections:")
        print("\n".join(f"  {objection}" for objection in objections[:_SHOWN]))
    report = {
        "is_evidence": not objections,
        "objections": objections,
        "load_average_after": round(os.getloadavg()[0], 2),
        "targets": [figure.as_json() for figure in targets],
        **more,
        "phases": [one.as_json() for one in seen],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(f"written: {path}")
    if objections:
        return NO_EVIDENCE
    return MISSED if missed else 0
