"""Agents and the lines between them as SVG, drawn by the server: places are attributes, looks are classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.web.render.circle_layout import AgentGraph, GraphAgent, GraphLine
from mcp_agent_mail.web.render.words import hue_of, initials_of

MOST_LABEL_CHARACTERS = 22
_TILE = 11
_APART = 30
"""Along the circle, from agent to agent."""
_LEAST_RADIUS = 100
_MOST_UPRIGHT = 16
"""More names than these lie along their radius: side by side they would cover each other."""
_ASIDE = 0.3
"""The cosine from which on an upright name stands beside its agent, not above or below."""
_LETTER = 7.0
"""Pixels of a letter of a name, about."""
_BOW = 0.4
"""By this part of the way to the centre a line bends towards it."""
_ASIDE_PX = 9
_WIDEST_PX, _THINNEST_PX = 6.0, 1.6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    x: float
    y: float

    def toward(self, other: _Point, far: float) -> _Point:
        whole = math.hypot(other.x - self.x, other.y - self.y) or 1.0
        return _Point(x=self.x + (other.x - self.x) * far / whole, y=self.y + (other.y - self.y) * far / whole)


_CENTRE = _Point(x=0, y=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Circle:
    """Around the point where both axes are 0; angles in radians."""

    count: int
    radius: float

    @property
    def is_turned(self) -> bool:
        return self.count > _MOST_UPRIGHT

    def angle(self, place: int) -> float:
        return 2 * math.pi * place / self.count - math.pi / 2

    def point(self, angle: float, radius: float) -> _Point:
        return _Point(x=radius * math.cos(angle), y=radius * math.sin(angle))


def graph_drawing(graph: AgentGraph, words: str) -> Markup:
    """The graph at its own size in pixels; `words` say what it shows. Each agent leads to its page, and each line and
    agent says what it is where one points at it.
    """
    count = max(1, len(graph.agents))
    circle = _Circle(count=count, radius=max(_LEAST_RADIUS, count * _APART / (2 * math.pi)))
    places = {one.label: circle.angle(place) for place, one in enumerate(graph.agents)}
    most = max((one.weight for one in graph.lines), default=1)
    lines = Markup("").join(_line(one, circle, places, most) for one in graph.lines)
    counts = dict.fromkeys(places, 0)
    for line in graph.lines:
        counts[line.source] += 1
        counts[line.target] += 1
    agents = Markup("").join(_agent(one, circle, places[one.label], counts[one.label]) for one in graph.agents)
    left, top, width, height = _extent(circle, [(places[one.label], _short(one)) for one in graph.agents])
    return Markup(
        '<svg class="graph" width="{width}" height="{height}" viewBox="{left} {top} {width} {height}" role="group" '
        'aria-label="{words}">{lines}{agents}</svg>'
    ).format(left=left, top=top, width=width, height=height, words=visible(words), lines=lines, agents=agents)


def _extent(circle: _Circle, names: Sequence[tuple[float, str]]) -> tuple[int, int, int, int]:
    """Left, top, width and height of what agents and their names take."""
    ends = [end for angle, name in names for end in _name_ends(circle, angle, len(name) * _LETTER)]
    xs, ys = [one.x for one in ends] or [0.0], [one.y for one in ends] or [0.0]
    least = circle.radius + 2 * _TILE
    left, top = min(-least, *xs), min(-least, *ys)
    width, height = max(least, *xs) - left, max(least, *ys) - top
    return math.floor(left), math.floor(top), math.ceil(width) + 1, math.ceil(height) + 1


def _name_ends(circle: _Circle, angle: float, length: float) -> tuple[_Point, _Point]:
    """Two corners of what a name of this length takes: along its radius, beside its agent, or above or below it."""
    begin = circle.point(angle, circle.radius + 2 * _TILE)
    if circle.is_turned:
        return begin, circle.point(angle, circle.radius + 2 * _TILE + length)
    if _is_aside(angle):
        return begin, _Point(x=begin.x + math.copysign(length, begin.x), y=begin.y)
    beyond = circle.point(angle, circle.radius + 2 * _TILE + 16)
    return _Point(x=beyond.x - length / 2, y=beyond.y), _Point(x=beyond.x + length / 2, y=beyond.y)


def _is_aside(angle: float) -> bool:
    return abs(math.cos(angle)) >= _ASIDE


def _short(agent: GraphAgent) -> str:
    shown = visible(agent.shown or agent.label)
    return shown if len(shown) <= MOST_LABEL_CHARACTERS else shown[: MOST_LABEL_CHARACTERS - 1] + "…"


def _agent(agent: GraphAgent, circle: _Circle, angle: float, count: int) -> Markup:
    at = circle.point(angle, circle.radius)
    return Markup(
        '<a class="node hue-{hue}" href="{href}"><title>{label}: {told}</title>'
        '<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'
        '<text class="letters" x="{x:.1f}" y="{y:.1f}" dy="4" text-anchor="middle">{letters}</text>{name}</a>'
    ).format(
        hue=hue_of(agent.name),
        href=agent.href,
        label=visible(agent.label),
        told=f"{count} {'line' if count == 1 else 'lines'}",
        x=at.x,
        y=at.y,
        radius=_TILE,
        letters=visible(initials_of(agent.name)),
        name=_name(agent, circle, angle),
    )


def _name(agent: GraphAgent, circle: _Circle, angle: float) -> Markup:
    beyond = circle.point(angle, circle.radius + _TILE + 6)
    across = math.cos(angle)
    if circle.is_turned or _is_aside(angle):
        anchor, drop = ("start" if across >= 0 else "end"), 4
    else:
        anchor, drop = "middle", 12 if math.sin(angle) > 0 else -2
    degrees = math.degrees(angle) + (0 if across >= 0 else 180)
    turn = Markup(' transform="rotate({:.1f} {:.1f} {:.1f})"').format(degrees, beyond.x, beyond.y)
    return Markup('<text class="name" x="{:.1f}" y="{:.1f}" dy="{}" text-anchor="{}"{}>{}</text>').format(
        beyond.x, beyond.y, drop, anchor, turn if circle.is_turned else "", _short(agent)
    )


def _line(line: GraphLine, circle: _Circle, places: Mapping[str, float], most: int) -> Markup:
    """A bow towards the centre. One with a tip bends aside too, so that its way back is another line."""
    begin = circle.point(places[line.source], circle.radius)
    end = circle.point(places[line.target], circle.radius)
    middle = _Point(x=(begin.x + end.x) / 2, y=(begin.y + end.y) / 2)
    chord = math.hypot(end.x - begin.x, end.y - begin.y)
    bend = middle.toward(_CENTRE, min(math.hypot(middle.x, middle.y), chord + 2 * _TILE) * _BOW)
    if line.has_tip:
        aside = _ASIDE_PX / (chord or 1.0)
        bend = _Point(x=bend.x - (end.y - begin.y) * aside, y=bend.y + (end.x - begin.x) * aside)
    begin, end = begin.toward(bend, _TILE + 2), end.toward(bend, _TILE + 3)
    width = _THINNEST_PX if most == 1 else _THINNEST_PX + (_WIDEST_PX - _THINNEST_PX) * line.weight / most
    return Markup(
        '<g class="edge {kind}"><title>{said}</title><path d="M{x1:.1f},{y1:.1f} Q{bx:.1f},{by:.1f} {x2:.1f},{y2:.1f}" '
        'stroke-width="{width:.1f}"/>{tip}</g>'
    ).format(
        kind=line.kind,
        said=visible(line.said),
        x1=begin.x,
        y1=begin.y,
        bx=bend.x,
        by=bend.y,
        x2=end.x,
        y2=end.y,
        width=width,
        tip=_tip(bend, end) if line.has_tip else "",
    )


def _tip(behind: _Point, end: _Point) -> Markup:
    """A small triangle whose point is `end`."""
    foot = end.toward(behind, 8)
    aside_x, aside_y = (end.y - foot.y) / 2, (foot.x - end.x) / 2
    return Markup('<polygon points="{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}"/>').format(
        end.x, end.y, foot.x + aside_x, foot.y + aside_y, foot.x - aside_x, foot.y - aside_y
    )
