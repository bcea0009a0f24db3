from __future__ import annotations

import random
from collections.abc import Sequence

from mcp_agent_mail.web.render.circle_layout import MOST_DRAWN, GraphAgent, GraphLine, agent_graph, circle_order


def agents(*labels: str) -> list[GraphAgent]:
    return [GraphAgent(label=label, name=label, href=f"/{label}") for label in labels]


def line(source: str, target: str, weight: int = 1) -> GraphLine:
    return GraphLine(source=source, target=target, kind="mail", said=f"{source} {target}", weight=weight)


def length(order: Sequence[str], pairs: Sequence[tuple[str, str]]) -> int:
    """Of all lines, in places along the circle."""
    far = [abs(order.index(first) - order.index(second)) for first, second in pairs]
    return sum(min(one, len(order) - one) for one in far)


def test_those_who_form_a_ring_stand_as_one() -> None:
    labels = [f"A{number:02}" for number in range(12)]
    shuffled = random.Random(4).sample(labels, len(labels))
    ring = list(zip(shuffled, [*shuffled[1:], shuffled[0]], strict=True))

    order = circle_order(labels, ring)

    assert sorted(order) == labels
    assert length(order, ring) == len(labels)


def test_lines_are_shorter_than_those_of_the_order_of_names() -> None:
    choice = random.Random(7)
    labels = [f"A{number:02}" for number in range(MOST_DRAWN)]
    groups = [choice.sample(labels, 6) for _ in range(12)]
    pairs = [(group[0], other) for group in groups for other in group[1:]]

    assert length(circle_order(labels, pairs), pairs) < length(labels, pairs) * 0.7


def test_the_order_is_the_same_for_the_same_lines() -> None:
    labels = [f"A{number:02}" for number in range(20)]
    pairs = [(labels[number], labels[(7 * number + 3) % 20]) for number in range(20)]

    assert circle_order(labels, pairs) == circle_order(labels, pairs[::-1])


def test_those_with_least_are_left_out_and_counted_with_their_lines() -> None:
    many = [f"N{number:02}" for number in range(MOST_DRAWN)]
    lines = [line("Hub", "Most", 9), *(line("Hub", one) for one in many)]

    graph = agent_graph(agents("Hub", "Most", *many), lines)

    assert {one.label for one in graph.agents} == {"Hub", "Most", *many[:-2]}
    assert (graph.agents_left_out, graph.lines_left_out) == (2, 2)
    assert len(graph.lines) == MOST_DRAWN - 1


def test_a_line_to_itself_is_none_and_no_agents_are_no_fault() -> None:
    graph = agent_graph(agents("A", "B"), [line("A", "A"), line("A", "B")])

    assert [one.said for one in graph.lines] == ["A B"]
    assert circle_order([], []) == []
    assert agent_graph([], []).agents == []
