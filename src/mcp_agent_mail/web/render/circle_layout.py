"""Agents on a circle, joined by lines: who is drawn, and in which order, so that lines are short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOST_DRAWN = 60
_REACH = 8
"""So many places away another agent is, at most, to change places with."""
_ROUNDS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphAgent:
    """`label` is its own in a graph, `name` says its colour. Beside it stands `shown`, or else the label."""

    label: str
    name: str
    href: str
    shown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLine:
    """Between two agents, by their labels. `kind` is how it is drawn, `said` what it tells; of `weight` the most is as
    wide as a line gets. One that `has_tip` leads from `source` to `target`.
    """

    source: str
    target: str
    kind: str
    said: str
    weight: int = 1
    has_tip: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentGraph:
    """`agents` in their order on the circle. What is left out is for a table to say."""

    agents: Sequence[GraphAgent]
    lines: Sequence[GraphLine]
    agents_left_out: int
    lines_left_out: int


def agent_graph(agents: Sequence[GraphAgent], lines: Sequence[GraphLine]) -> AgentGraph:
    """The MOST_DRAWN agents whose lines weigh most, with the lines between them. A line to itself is none."""
    weights = {one.label: 0 for one in agents}
    between = [one for one in lines if one.source != one.target]
    for line in between:
        weights[line.source] += line.weight
        weights[line.target] += line.weight
    kept = set(sorted(weights, key=lambda label: (-weights[label], label))[:MOST_DRAWN])
    drawn = [line for line in between if line.source in kept and line.target in kept]
    known = {one.label: one for one in agents}
    return AgentGraph(
        agents=[known[label] for label in circle_order(sorted(kept), [(one.source, one.target) for one in drawn])],
        lines=drawn,
        agents_left_out=len(known) - len(kept),
        lines_left_out=len(between) - len(drawn),
    )


def circle_order(labels: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
    """`labels` so that those of a pair stand near each other: begun along the pairs, then mended by changing places.

    The same for the same labels and pairs. Takes a bounded number of steps, and so not always the best order.
    """
    beside: dict[str, set[str]] = {label: set() for label in labels}
    for first, second in pairs:
        beside[first].add(second)
        beside[second].add(first)
    order = _along(labels, beside)
    places = {label: place for place, label in enumerate(order)}
    for _ in range(_ROUNDS):
        if not _mended(order, places, beside):
            break
    return order


def _along(labels: Sequence[str], beside: Mapping[str, set[str]]) -> list[str]:
    """From each agent that has fewest lines on to those beside it."""
    order: dict[str, None] = {}
    for begin in sorted(labels, key=lambda label: (len(beside[label]), label)):
        waiting = [begin]
        while waiting:
            label = waiting.pop()
            if label not in order:
                order[label] = None
                waiting += sorted(beside[label] - order.keys(), key=lambda one: (-len(beside[one]), one))
    return list(order)


def _mended(order: list[str], places: dict[str, int], beside: Mapping[str, set[str]]) -> bool:
    """Whether any two changed places, after which lines are shorter."""
    count, has_changed = len(order), False
    for place in range(count):
        for step in range(1, min(_REACH, count // 2) + 1):
            first, second = order[place], order[(place + step) % count]
            before = _length(first, places, beside) + _length(second, places, beside)
            places[first], places[second] = places[second], places[first]
            if _length(first, places, beside) + _length(second, places, beside) < before:
                order[places[first]], order[places[second]] = first, second
                has_changed = True
            else:
                places[first], places[second] = places[second], places[first]
    return has_changed


def _length(label: str, places: Mapping[str, int], beside: Mapping[str, set[str]]) -> int:
    """Of an agent's lines, in places along the circle."""
    own, count = places[label], len(places)
    return sum(min(far, count - far) for far in (abs(own - places[one]) for one in beside[label]))
