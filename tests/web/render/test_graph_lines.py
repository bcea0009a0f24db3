from __future__ import annotations

import math
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from mcp_agent_mail.web.addresses import agent_url
from mcp_agent_mail.web.render.circle_layout import MOST_DRAWN, GraphAgent, GraphLine, agent_graph
from mcp_agent_mail.web.render.graph_lines import MOST_LABEL_CHARACTERS, graph_drawing

HOSTILE = '"><script>alert(1)</script>\u202e'


def agent(label: str, name: str | None = None) -> GraphAgent:
    return GraphAgent(label=label, name=name or label, href=agent_url("app", label))


def line(source: str, target: str, *, kind: str = "mail", weight: int = 1, has_tip: bool = False) -> GraphLine:
    said = f"{source} to {target}"
    return GraphLine(source=source, target=target, kind=kind, said=said, weight=weight, has_tip=has_tip)


def drawn(agents: list[GraphAgent], lines: list[GraphLine]) -> ET.Element:
    """Well-formed, or this raises."""
    return ET.fromstring(graph_drawing(agent_graph(agents, lines), "who"))  # it is our own


def test_each_agent_leads_to_its_page_and_each_line_says_what_it_is() -> None:
    svg = drawn([agent("BlueLake"), agent("RedStone")], [line("BlueLake", "RedStone", kind="link-pending")])

    nodes = {one.get("href"): one for one in svg.iter("a")}
    assert set(nodes) == {"/mail/app/agents/BlueLake", "/mail/app/agents/RedStone"}
    blue = nodes["/mail/app/agents/BlueLake"]
    assert (blue.get("class"), blue.findtext("title")) == ("node hue-blue", "BlueLake: 1 line")
    assert [text.text for text in blue.iter("text")] == ["BL", "BlueLake"]
    (edge,) = svg.findall("g")
    assert (edge.get("class"), edge.findtext("title")) == ("edge link-pending", "BlueLake to RedStone")
    assert svg.get("aria-label") == "who"


def test_a_line_that_leads_somewhere_has_a_tip_and_its_way_back_is_another_line() -> None:
    there, back = drawn([agent("A"), agent("B")], [line("A", "B", has_tip=True), line("B", "A", has_tip=True)]).findall(
        "g"
    )
    (plain,) = drawn([agent("A"), agent("B")], [line("A", "B")]).findall("g")

    assert there.find("polygon") is not None
    assert plain.find("polygon") is None
    bends = [re.findall(r"Q(\S+)", one.find("path").get("d"))[0] for one in (there, back)]  # type: ignore[union-attr, arg-type]
    assert bends[0] != bends[1]


def test_of_the_most_a_line_is_widest() -> None:
    svg = drawn([agent("A"), agent("B"), agent("C")], [line("A", "B", weight=100), line("B", "C", weight=1)])

    widths = [float(path.get("stroke-width", "")) for path in svg.iter("path")]

    assert widths == [6.0, 1.6]


def of_many(count: int) -> ET.Element:
    names = [f"SomeLongName{number:02}" for number in range(count)]
    return drawn([agent(name) for name in names], [line(names[0], name) for name in names[1:]])


def circles(svg: ET.Element) -> list[tuple[float, float, float]]:
    return [tuple(float(one.get(name, "")) for name in ("cx", "cy", "r")) for one in svg.iter("circle")]  # type: ignore[misc]


@pytest.mark.parametrize("count", [1, 2, 16, 17, MOST_DRAWN])
def test_every_agent_is_within_the_picture(count: int) -> None:
    svg = of_many(count)

    left, top, width, height = (int(one) for one in svg.get("viewBox", "").split(" "))
    assert (svg.get("width"), svg.get("height")) == (str(width), str(height))
    found = circles(svg)
    assert len(found) == count
    assert all(left <= x - r <= x + r <= left + width for x, _, r in found)
    assert all(top <= y - r <= y + r <= top + height for _, y, r in found)


@pytest.mark.parametrize("count", range(1, 17))
def test_every_upright_name_is_within_the_picture(count: int) -> None:
    name = "OrangeFox · shop-api-long"
    svg = drawn([replace(agent(f"{number}"), shown=name) for number in range(count)], [])
    left, top, width, height = (int(one) for one in svg.get("viewBox", "").split(" "))

    for one in svg.iter("text"):
        if one.get("class") == "name":
            x, y, long = float(one.get("x", "")), float(one.get("y", "")), len(one.text or "") * 6.8
            begin = {"start": x, "middle": x - long / 2, "end": x - long}[one.get("text-anchor", "")]
            assert left <= begin < begin + long <= left + width
            assert top + 8 <= y <= top + height - 2


@pytest.mark.parametrize("count", [2, 16, MOST_DRAWN])
def test_no_two_agents_cover_each_other(count: int) -> None:
    found = circles(of_many(count))

    apart = [math.hypot(x - a, y - b) for at, (x, y, _) in enumerate(found) for a, b, _ in found[at + 1 :]]

    assert min(apart) > 22


def test_names_lie_along_their_radius_where_there_are_many() -> None:
    few = drawn([agent(f"A{number}") for number in range(16)], [])
    many = drawn([agent(f"A{number}") for number in range(17)], [])

    assert not [one for one in few.iter("text") if one.get("transform")]
    assert len([one for one in many.iter("text") if one.get("transform")]) == 17


def test_what_peers_named_is_text_and_a_long_name_is_cut_where_it_is_drawn_alone() -> None:
    svg = drawn([agent(HOSTILE), agent("A" * 60)], [line(HOSTILE, "A" * 60, kind="mail")])
    text = graph_drawing(agent_graph([agent(HOSTILE)], []), HOSTILE)

    names = [one.text or "" for one in svg.iter("text") if one.get("class") == "name"]
    assert max(map(len, names)) == MOST_LABEL_CHARACTERS
    assert "A" * 60 + ": 1 line" in [one.findtext("title") for one in svg.iter("a")]
    assert "<script" not in text
    assert "\u202e" not in text


def test_looks_are_classes_alone() -> None:
    text = graph_drawing(agent_graph([agent("A"), agent("B")], [line("A", "B", has_tip=True)]), "who")

    assert re.findall(r"style=|\son\w+=|<script|<style|(?:fill|stroke)=", text) == []
