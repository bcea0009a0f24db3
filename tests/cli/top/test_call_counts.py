"""Prometheus' text as figures, and what happened between two looks."""

from __future__ import annotations

import pytest

from mcp_agent_mail.cli.top.call_counts import CallFigures, ToolCalls, added, read_figures

TEXT = """\
# HELP mcp_agent_mail_tool_calls_total Calls of a tool by how they ended.
process_start_time_seconds 1.5e+09
mcp_agent_mail_tool_calls_total{outcome="ok",tool="whois"} 90.0
mcp_agent_mail_tool_calls_total{outcome="error",tool="whois"} 10.0
mcp_agent_mail_tool_duration_seconds_bucket{le="0.001",tool="whois"} 50.0
mcp_agent_mail_tool_duration_seconds_bucket{le="0.002",tool="whois"} 90.0
mcp_agent_mail_tool_duration_seconds_bucket{le="0.004",tool="whois"} 100.0
mcp_agent_mail_tool_duration_seconds_bucket{le="+Inf",tool="whois"} 100.0
mcp_agent_mail_archive_pending_events 7.0
mcp_agent_mail_task_failing{task="sweeper"} 1.0
something_else 1
nonsense that is no line
mcp_agent_mail_waits NotANumber
"""


def test_calls_buckets_and_plain_figures_are_read_and_the_rest_is_passed_over() -> None:
    figures = read_figures(TEXT, at_s=5.0)

    whois = figures.tools["whois"]
    assert (whois.calls, whois.errors, len(whois.buckets)) == (100, 10, 4)
    assert figures.started_s == 1.5e9
    assert figures.gauge("archive_pending_events") == 7
    assert figures.gauge("waits") is None
    assert figures.gauge("task_failing") is None


@pytest.mark.parametrize(("share", "told"), [(0.5, 1.0), (0.7, 1.5), (0.95, 3.0), (1.0, 4.0)])
def test_a_quantile_lies_on_the_line_through_its_bucket(share: float, told: float) -> None:
    assert read_figures(TEXT, at_s=0).total().quantile_ms(share) == pytest.approx(told)


def test_without_calls_there_is_no_quantile() -> None:
    assert ToolCalls().quantile_ms(0.95) is None
    assert ToolCalls(buckets={0.001: 0, float("inf"): 0}).quantile_ms(0.95) is None


def test_what_is_slower_than_every_bound_counts_as_the_last() -> None:
    assert ToolCalls(calls=1, buckets={0.001: 0, 2.0: 0, float("inf"): 1}).quantile_ms(0.95) == 2_000


def test_only_what_came_between_is_counted() -> None:
    before = ToolCalls(calls=10, errors=1, buckets={0.001: 10})

    between = ToolCalls(calls=15, errors=3, buckets={0.001: 12, 0.002: 3}).since(before)

    assert (between.calls, between.errors, between.buckets) == (5, 2, {0.001: 2, 0.002: 3})


def test_tools_add_up() -> None:
    one, other = ToolCalls(calls=1, buckets={1.0: 1}), ToolCalls(calls=2, errors=1, buckets={1.0: 1, 2.0: 2})

    assert added([one, other]) == ToolCalls(calls=3, errors=1, buckets={1.0: 2, 2.0: 2})


def test_a_restarted_server_is_another_run() -> None:
    def at(at_s: float, started_s: float) -> CallFigures:
        return CallFigures(at_s=at_s, started_s=started_s, tools={}, gauges={})

    assert at(2, 1).follows(at(1, 1))
    assert not at(2, 2).follows(at(1, 1))
    assert not at(1, 1).follows(at(1, 1))
