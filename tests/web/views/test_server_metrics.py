from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.concurrency.keeper import KeeperFigures
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.archiving.protocol import ArchiverSettings, Workload
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.features.health.results import Health, ServerPlace
from mcp_agent_mail.features.health.service import HealthService
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.features.oversight.server_history import FigureHistory, PeriodicFigures, ServerFigures
from mcp_agent_mail.web.views.server_metrics import (
    DAY_S,
    STEP_S,
    FigureLine,
    day_charts,
    findings_of,
    tool_rows,
    worker_facts,
)
from tests.seeded_store import open_seeded_store

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
NOW = Micros(1_800_000_000 * SECOND)
PLACE = ServerPlace(
    environment="test", http_host="127.0.0.1", http_port=1, http_path="/mcp/", database_url="sqlite:///x", version="0"
)


def minute(ago_s: int, *, calls: int = 0, errors: int = 0, p95_s: float | None = None) -> PeriodicFigures:
    return PeriodicFigures(
        at=Micros(NOW - ago_s * SECOND), calls=calls, errors=errors, p95_s=p95_s, lag_s=0.0, pending=0
    )


def charts_of(*minutes: PeriodicFigures) -> dict[str, FigureLine]:
    figures = ServerFigures(tools=(), minutes=minutes, settings=())
    return {one.title: one for one in day_charts(figures, NOW)}


def drawn(line: FigureLine) -> dict[int, float]:
    """What is drawn, by how many steps from the first."""
    return {place: point.value for place, point in enumerate(line.points) if point.value is not None}


def keeper(task: str, *, is_running: bool = True, error: str | None = None) -> KeeperFigures:
    return KeeperFigures(task=task, is_running=is_running, restarts=0, error=error, failing_since=None)


@pytest.fixture
async def well(tmp_path: Path) -> Health:
    """What the check of a real store says."""
    settings = ArchiverSettings(
        storage_root=str(tmp_path),
        database_path=str(tmp_path / "mail.sqlite3"),
        author_name="mcp-agent",
        author_email="mcp-agent@example.com",
        commit_interval_ms=500,
    )
    async with open_seeded_store(tmp_path) as seeded:
        archive = ArchivingService(seeded.store, settings)
        return await HealthService(seeded.store, PLACE, clock=seeded.clock, archive=archive).check()


def test_minutes_of_one_step_are_drawn_together_and_what_is_older_than_a_day_is_not() -> None:
    last = DAY_S // STEP_S - 1
    line = charts_of(minute(DAY_S + 1, calls=900), minute(DAY_S, calls=6), minute(90, calls=1), minute(0, calls=4))[
        "Calls a minute"
    ]

    assert drawn(line) == {0: 6.0, last: 2.5}
    assert (line.last, line.most, line.top) == ("4", "6", 6.0)
    assert (len(line.points), line.points[-1].share) == (last + 1, 1.0)


def test_a_day_without_calls_is_a_gap_and_has_an_axis() -> None:
    without, quiet = charts_of(), charts_of(minute(0))

    assert {one.last for one in without.values()} == {"-"}
    assert {(one.top, len(drawn(one))) for one in without.values()} == {(1.0, 0)}
    assert [one.most for one in without.values()] == ["0", "0", "0 ms", "0 s"]
    assert (quiet["p95 of calls"].last, drawn(quiet["p95 of calls"])) == ("-", {})
    assert quiet["Calls a minute"].last == "0"


def test_the_slowest_minute_of_a_step_is_the_one_that_is_drawn() -> None:
    line = charts_of(minute(120, p95_s=1.5), minute(60), minute(0, p95_s=0.0004))["p95 of calls"]

    assert list(drawn(line).values()) == [1_500.0]
    assert (line.most, line.last) == ("1,500 ms", "0.4 ms")


def test_the_most_is_of_one_minute_as_the_last_is() -> None:
    line = charts_of(minute(120, calls=193), minute(60, calls=3))["Calls a minute"]

    assert (line.last, line.most) == ("3", "193")


async def test_tools_are_told_the_most_called_first_in_milliseconds(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        usage = Usage(clock=seeded.clock)
        for tool, failed in (("whois", False), ("send_message", False), ("send_message", True)):
            usage.note(tool, 0.1, failed=failed, project=None)
        rows = tool_rows(FigureHistory(seeded.store, usage, [], clock=seeded.clock).look(OPERATOR))

    assert [(row.name, row.calls, row.errors) for row in rows] == [("send_message", 2, 1), ("whois", 1, 0)]
    assert rows[0].p50_ms == pytest.approx(100, rel=0.2)


async def test_each_thing_that_is_not_well_is_a_finding_and_a_well_server_has_none(well: Health) -> None:
    care = replace(well.archive_care, last_error="no room to pack", workload=Workload(hung=2))
    ill = replace(
        well, archive_error="Git is gone", archive_care=care, failing=[keeper("sweeper", error="disk I/O error")]
    )

    assert findings_of(well) == []
    assert [one.words for one in findings_of(ill)] == [
        "Git is gone",
        "no room to pack",
        "2 archives do not answer.",
        "sweeper: disk I/O error",
    ]
    assert [one.words for one in findings_of(replace(well, schema_version=None))] == [
        "The store cannot be read or written."
    ]
    assert [one.words for one in findings_of(replace(well, schema_version=None, store_problem="full"))] == ["full"]


def test_workers_stand_by_name_and_say_how_they_fare() -> None:
    facts = worker_facts([keeper("c", error="broken"), keeper("b", is_running=False), keeper("a")])

    assert [(one.name, one.word, one.is_well) for one in facts] == [
        ("a", "at work", True),
        ("b", "at rest", True),
        ("c", "failing", False),
    ]
