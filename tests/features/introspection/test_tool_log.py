"""Lines about the tools that were called."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.features.introspection.tool_log import ToolLog
from mcp_agent_mail.features.introspection.usage import Usage

LOGGER = "mcp_agent_mail.tool_metrics"


@pytest.fixture
def usage() -> Usage:
    return Usage(clock=lambda: Micros(0))


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The facts of the lines so far; forgets them."""
    facts = [record.__dict__["facts"] for record in caplog.records if record.name == LOGGER]
    caplog.clear()
    return facts


async def test_each_tool_called_since_the_last_time_has_a_line(usage: Usage, caplog: pytest.LogCaptureFixture) -> None:
    log = ToolLog(usage, interval_s=60)
    caplog.set_level(logging.INFO, LOGGER)

    usage.note("whois", 0.001, failed=True, project=None)
    usage.note("whois", 0.001, failed=False, project=None)
    usage.note("fetch_inbox", 0.001, failed=False, project=None)
    await log.emit()
    first = lines(caplog)
    usage.note("whois", 1.0, failed=False, project="/code/app")
    await log.emit()
    second = lines(caplog)
    await log.emit()

    assert [(line["tool"], line["calls"], line["errors"]) for line in first] == [("whois", 2, 1), ("fetch_inbox", 1, 0)]
    assert [(line["tool"], line["calls"], line["errors"]) for line in second] == [("whois", 1, 0)]
    assert second[0].keys() == {"tool", "calls", "errors", "p50_ms", "p95_ms", "p99_ms"}
    assert second[0]["p50_ms"] == pytest.approx(1_000, rel=0.21), "of this interval, not of the whole time"
    assert lines(caplog) == []


async def test_a_stop_tells_the_rest_and_leaves_no_task(usage: Usage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    log = ToolLog(usage, interval_s=3_600)
    log.start()
    await asyncio.sleep(0)
    usage.note("whois", 0.001, failed=False, project=None)

    await log.stop()

    assert [line["tool"] for line in lines(caplog)] == ["whois"]
    assert "tool_metrics" not in {task.get_name() for task in asyncio.all_tasks()}
