"""Agents on a circle, joined by lines: who is drawn, and in which order, so that lines are short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_agent_mail.core.lazy.dataclass import dataclass

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
    circle = _CircleOrder(order, beside)
    for _ in range(_ROUNDS):
        if not circle.mend():
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


class _CircleOrder:
    """An order that is mended in place. The length of an agent's lines is in places along the circle."""

    def __init__(self, order: list[str], beside: Mapping[str, set[str]]) -> None:
        count = len(order)
        self._order, self._beside = order, {label: tuple(others) for label, others in beside.items()}
        self._places = {label: place for place, label in enumerate(order)}
        self._far = [
            [min(abs(one - other), count - abs(one - other)) for other in range(count)] for one in range(count)
        ]
        self._lengths = {label: self._length(label) for label in order}

    def mend(self) -> bool:
        """Whether any two changed places, after which lines are shorter."""
        count, has_changed = len(self._order), False
        for place in range(count):
            for step in range(1, min(_REACH, count // 2) + 1):
                has_changed |= self._changed(place, (place + step) % count)
        return has_changed

    def _changed(self, place: int, other: int) -> bool:
        first, second = self._order[place], self._order[other]
        before = self._lengths[first] + self._lengths[second]
        self._places[first], self._places[second] = other, place
        if (of_first := self._length(first)) < before and of_first + self._length(second) < before:
            self._order[place], self._order[other] = second, first
            for label in (first, second, *self._beside[first], *self._beside[second]):
                self._lengths[label] = self._length(label)
            return True
        self._places[first], self._places[second] = place, other
        return False

    def _length(self, label: str) -> int:
        far, places = self._far[self._places[label]], self._places
        return sum([far[places[other]] for other in self._beside[label]])
