"""A chart is drawn from numbers, to the height of its highest, with gaps where nothing is known."""

from __future__ import annotations

from mcp_agent_mail.web.render.figure_lines import HEIGHT, WIDTH, FigurePoint, area


def point(share: float, value: float | None) -> FigurePoint:
    return FigurePoint(share=share, value=value)


def test_the_highest_reaches_the_top_and_nothing_leaves_the_frame() -> None:
    drawn = area([point(0.5, 0.0), point(1.0, 10.0), point(1.0, 99.0)], 10.0, "Calls")

    assert f'points="355.0,{HEIGHT}.0 360.0,{HEIGHT}.0 {WIDTH}.0,4.0 {WIDTH}.0,4.0"' in drawn


def test_a_gap_divides_the_line() -> None:
    drawn = area([point(0.1, 1.0), point(0.2, None), point(0.3, 1.0)], 1.0, "Calls")

    assert drawn.count("<polyline") == 2


def test_without_values_the_frame_alone_is_drawn() -> None:
    assert "<polyline" not in area([point(0.5, None)], 1.0, "Calls")


def test_its_words_are_escaped() -> None:
    drawn = area([], 1.0, '"><script>')

    assert "<script>" not in drawn
