"""Counting and timing calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.tools import RecordedCaller
from mcp_agent_mail.features.introspection.usage import BOUNDS_S, MAX_TOOLS, ToolFigures, Usage


class Clock:
    def __init__(self) -> None:
        self.now = Micros(0)

    def __call__(self) -> Micros:
        return self.now


def usage_of(*durations: float) -> Usage:
    usage = Usage(clock=Clock())
    for took in durations:
        usage.note("send_message", took, failed=False, project="/code/app")
    return usage


def test_calls_and_errors_are_counted_per_tool() -> None:
    usage = usage_of(0.001, 0.001)
    usage.note("send_message", 0.001, failed=True, project=None)
    usage.note("whois", 0.001, failed=False, project=None)

    assert {name: (figures.calls, figures.errors) for name, figures in usage.tools().items()} == {
        "send_message": (3, 1),
        "whois": (1, 0),
    }


@given(st.lists(st.floats(60e-6, 100), min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99]))
def test_a_quantile_is_right_within_a_fifth(durations: list[float], share: float) -> None:
    quantile = usage_of(*durations).of("send_message").quantile_s(share)

    ordered = sorted(durations)
    exact = next(value for rank, value in enumerate(ordered, start=1) if rank >= share * len(ordered))
    assert quantile == pytest.approx(exact, rel=0.21)


def test_what_takes_longer_than_every_bound_counts_as_the_last() -> None:
    assert usage_of(1e6).of("send_message").quantile_s(0.5) is not None
    assert usage_of(1e6).of("send_message").counts[len(BOUNDS_S)] == 1


def test_without_calls_there_is_no_quantile() -> None:
    assert Usage(clock=Clock()).of("whois").quantile_s(0.5) is None


def test_recent_calls_are_newest_first_and_no_older_than_asked() -> None:
    clock = Clock()
    usage = Usage(clock=clock)
    for second in range(5):
        clock.now = Micros(second * SECOND)
        usage.note(f"tool-{second}", 0.001, failed=False, project=None)

    assert [call.tool for call in usage.recent(Micros(3 * SECOND))] == ["tool-4", "tool-3"]


def test_what_is_kept_is_bounded() -> None:
    usage = Usage(clock=Clock(), max_recent=10)
    for number in range(2 * MAX_TOOLS):
        usage.note(f"tool-{number}", 0.001, failed=False, project="x" * 5_000)

    recent = list(usage.recent(Micros(0)))
    assert len(usage.tools()) == MAX_TOOLS
    assert len(recent) == 10
    assert {(len(call.project or ""), call.agent) for call in recent} == {(200, None)}


def test_a_flood_of_calls_by_nobody_displaces_no_agents_call() -> None:
    clock = Clock()
    usage = Usage(clock=clock, max_recent=3)
    blue = RecordedCaller(project_id=ProjectId(1), agent_name="BlueLake")
    usage.note("send_message", 0.001, failed=False, project="/code/app", doer=blue)
    for second in range(1, 6):
        clock.now = Micros(second * SECOND)
        usage.note("whois", 0.001, failed=True, project=7)

    recent = [(call.tool, call.project, call.agent, call.failed) for call in usage.recent(Micros(0))]

    assert recent == [("whois", None, None, True)] * 3 + [("send_message", "/code/app", "BlueLake", False)]


def test_the_quantile_of_the_shortest_calls_lies_between_nothing_and_the_first_bound() -> None:
    assert usage_of(1e-6).of("send_message").quantile_s(0.5) == BOUNDS_S[0] / 2


def test_figures_since_an_earlier_time_are_those_of_the_calls_after_it() -> None:
    usage = usage_of(0.001, 0.001)
    earlier = usage.of("send_message").since(ToolFigures())
    usage.note("send_message", 4.0, failed=True, project=None)

    since = usage.of("send_message").since(earlier)

    assert (since.calls, since.errors) == (1, 1)
    assert since.total_s == pytest.approx(4.0)
    assert since.quantile_s(0.5) == pytest.approx(4.0, rel=0.21)
    assert earlier.calls == 2
