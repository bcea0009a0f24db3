"""Small charts as SVG, drawn by the server: no script, no style but classes."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from mcp_agent_mail.core.lazy.dataclass import dataclass

WIDTH = 720
HEIGHT = 56
_TOP = 4
_STEP = WIDTH / 144
"""So wide is what a single point stands for."""
_HOURS = (0, 6, 12, 18, 24)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigurePoint:
    """`share` is where on the axis of time it lies, from 0 to 1; None of a `value` leaves a gap."""

    share: float
    value: float | None


def area(points: Sequence[FigurePoint], top: float, words: str, tone: str = "plain") -> Markup:
    """An area chart: `top` is the highest value of its axis, `words` say what it shows to who does not see it."""
    lines = [_path(run, top) for run in _runs(points)]
    ticks = Markup("").join(
        Markup('<line class="tick" x1="{0:.1f}" x2="{0:.1f}" y1="0" y2="{1}"/>').format(WIDTH * hour / 24, HEIGHT)
        for hour in _HOURS
    )
    return Markup(
        '<svg class="chart tone-{tone}" viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img" '
        'aria-label="{words}">{ticks}{lines}</svg>'
    ).format(tone=tone, width=WIDTH, height=HEIGHT, words=words, ticks=ticks, lines=Markup("").join(lines))


def _runs(points: Sequence[FigurePoint]) -> list[list[tuple[float, float]]]:
    """Points that follow each other without a gap."""
    runs: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if point.value is None:
            runs.append([])
        else:
            runs[-1].append((point.share, point.value))
    return [run for run in runs if run]


def _path(run: Sequence[tuple[float, float]], top: float) -> Markup:
    places = [(share * WIDTH, _height(value, top)) for share, value in run]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    first, last = max(0.0, places[0][0] - _STEP), places[-1][0]
    line = f"{first:.1f},{places[0][1]:.1f} {line}"
    return Markup(
        '<polygon class="area" points="{first:.1f},{base} {line} {last:.1f},{base}"/>'
        '<polyline class="line" points="{line}"/>'
    ).format(first=first, last=last, base=HEIGHT, line=line)


def _height(value: float, top: float) -> float:
    share = 0.0 if top <= 0 else min(1.0, max(0.0, value / top))
    return HEIGHT - share * (HEIGHT - _TOP)
