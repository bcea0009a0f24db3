"""What the tooling resources show: their keys, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.tools import ToolSpec
from mcp_agent_mail.features.introspection.locks import LockState
from mcp_agent_mail.features.introspection.recording import Recording
from mcp_agent_mail.features.introspection.schemas import (
    MAX_FUNCTIONS_SHOWN,
    show_directory,
    show_locks,
    show_metrics,
    show_recent,
    show_schemas,
)
from mcp_agent_mail.features.introspection.usage import RecentCall, ToolFigures, Usage
from mcp_agent_mail.store.engine.instrumentation import QueryFigures

NOW = Micros(0)


@pytest.fixture
def whois(all_specs: list[ToolSpec]) -> ToolSpec:
    return next(spec for spec in all_specs if spec.name == "whois")


def metrics(specs: list[ToolSpec], usage: Usage, queries: QueryFigures | None = None) -> Any:
    return show_metrics(specs, Recording(usage=usage, queries=queries, tool_log=None), usage.of, NOW)


def test_a_directory_of_few_tools_names_no_others_in_clusters_and_workflows(whois: ToolSpec) -> None:
    shown: Any = show_directory([whois], NOW)

    assert [(cluster["name"], [tool["name"] for tool in cluster["tools"]]) for cluster in shown["clusters"]] == [
        ("identity", ["whois"])
    ]
    assert {tool for playbook in shown["playbooks"] for tool in playbook["sequence"]} <= {"whois"}
    assert shown["clusters"][0]["tools"][0]["required_capabilities"] == ["identity:read"]


def test_the_arguments_of_a_tool_are_required_or_optional(whois: ToolSpec) -> None:
    shown: Any = show_schemas([whois], NOW)

    assert shown["global_optional"] == ["registration_token", "sender_token", "format"]
    assert shown["tools"]["whois"]["required"] == ["project_key", "agent_name"]
    assert shown["tools"]["whois"]["optional"] == ["include_recent_commits", "commit_limit"]
    assert list(shown["tools"]["whois"]["shapes"])[:2] == ["project_key", "agent_name"]


def test_a_tool_that_nobody_called_has_no_durations(whois: ToolSpec) -> None:
    usage = Usage(clock=lambda: NOW)
    before = metrics([whois], usage)["tools"][0]
    usage.note("whois", 0.001, failed=True, project=None)

    after = metrics([whois], usage)["tools"][0]

    assert (before["calls"], before["p50_ms"], before["p99_ms"]) == (0, None, None)
    assert (after["calls"], after["errors"]) == (1, 1)
    assert after["p50_ms"] == pytest.approx(1.0, rel=0.21)


def test_queries_are_shown_where_they_are_counted_the_costliest_first(whois: ToolSpec) -> None:
    queries = QueryFigures(slow_ms=250)
    for number in range(MAX_FUNCTIONS_SHOWN + 1):
        queries.note("read", f"store.f{number}", number / 1_000, 2)

    without = metrics([whois], Usage(clock=lambda: NOW))["queries"]
    shown = metrics([whois], Usage(clock=lambda: NOW), queries)["queries"]

    assert without == {"enabled": False, "slow_query_ms": None, "functions": []}
    assert (shown["enabled"], shown["slow_query_ms"], len(shown["functions"])) == (True, 250, MAX_FUNCTIONS_SHOWN)
    assert shown["functions"][0] == {
        "kind": "read",
        "function": f"store.f{MAX_FUNCTIONS_SHOWN}",
        "runs": 1,
        "statements": 2,
        "most_statements": 2,
        "total_ms": 100.0,
        "longest_ms": 100.0,
        "slow": 0,
    }


def test_locks_are_held_or_free_and_never_stale() -> None:
    held, free = (
        LockState(path=Path("/s"), category="store", owner_pid=pid, owner_alive=False, created_ts=NOW, age_s=1.23456)
        for pid in (7, None)
    )

    shown: Any = show_locks([held, free])

    assert [(one["status"], one["owner_pid"], one["age_seconds"]) for one in shown["locks"]] == [
        ("held", 7, 1.235),
        ("free", None, 1.235),
    ]
    assert shown["summary"] == {"total": 2, "active": 1, "stale": 0, "metadata_missing": 0}


def test_a_call_of_no_known_project_is_told_with_what_it_named() -> None:
    call = RecentCall(NOW, "gone_tool", "/code/none", None, None, True)

    shown: Any = show_recent([(call, None)], {"whois": "identity"}, 60, NOW)

    assert shown == {
        "generated_at": iso(NOW),
        "window_seconds": 60,
        "count": 1,
        "entries": [
            {
                "timestamp": iso(NOW),
                "tool": "gone_tool",
                "project": "/code/none",
                "agent": None,
                "cluster": None,
                "failed": True,
            }
        ],
    }


def test_figures_are_those_that_the_reader_is_given(whois: ToolSpec) -> None:
    usage = Usage(clock=lambda: NOW)
    usage.note("whois", 0.001, failed=False, project=None)

    shown: Any = show_metrics(
        [whois], Recording(usage=usage, queries=None, tool_log=None), lambda _: ToolFigures(), NOW
    )

    assert shown["tools"][0]["calls"] == 0
