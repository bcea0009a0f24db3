"""What a person sees of a look, and that words of peers are text."""

from __future__ import annotations

import re

import pytest

from mcp_agent_mail.cli.top.full_look import AgentLook, CallLook, FullLook, ToolRow
from mcp_agent_mail.cli.top.page import figures, frame
from mcp_agent_mail.core.clock import Micros, parse_time

NOW = parse_time("2026-11-21T10:00:00Z")


def seen(overview: FullLook, now: Micros = NOW) -> list[str]:
    return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in frame(overview, now=now)]


def agent(name: str, **more: object) -> AgentLook:
    given = {"name": name, "project": "shop", "program": "tester", "unread": 3, "leases": 1, "listening": True}
    return AgentLook(**{**given, "last_active_ts": "2026-11-21T09:58:00+00:00", **more})  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")


def test_a_server_at_work() -> None:
    tools = [ToolRow(tool="send_message", calls_per_s=3.5, p95_ms=6.4)]
    calls = CallLook(window_s=60, calls_per_s=4, errors_per_s=0.5, p95_ms=5.1, p95_ms_since_start=9, tools=tools)
    found = seen(
        FullLook(
            server="ok",
            url="http://127.0.0.1:8765",
            projects=1,
            projects_seen=1,
            agents=1,
            unread=3,
            leases=1,
            calls=calls,
            pending_events=2,
            oldest_pending_s=0.5,
            waits=1,
            streams=0,
            rows=[agent("BlueLake")],
        )
    )

    assert found == [
        "am top  ok  http://127.0.0.1:8765",
        "projects 1   agents 1   unread 3   leases 1",
        "calls/s 4   errors/s 0.5   p95 5.1 ms   pending 2 events for Git, the oldest fo…",
        "waiting 1 calls, 0 streams",
        "",
        "TOOL          CALLS/S  P95 MS",
        "send_message      3.5     6.4",
        "",
        "AGENT     PROJECT  PROGRAM  UNREAD  LEASES  ACTIVE  LISTENING",
        "BlueLake  shop     tester        3       1   2 min  yes",
    ]


def test_no_server_is_said_with_the_reason() -> None:
    found = seen(FullLook(server="none", problem="The server stopped before it answered."))

    assert found[0].startswith("am top  no server")
    assert found[1] == "The server stopped before it answered."
    assert found[-1] == "No agents yet."


def test_many_agents_leave_no_line_beyond_the_terminal() -> None:
    found = seen(FullLook(server="ok", rows=[agent(f"Agent{number}" * 20) for number in range(90)]))

    assert len(found) == 23
    assert max(map(len, found)) <= 80


def test_words_of_peers_are_neither_markup_nor_control() -> None:
    found = "\n".join(seen(FullLook(server="ok", problem="[bold]\x1b[2J", rows=[agent("x", program="[red]\x1b]0;t")])))

    assert "[bold]" in found
    assert r"[red]\x1b]0" in found
    assert "\x1b" not in found


def test_what_is_a_lower_bound_has_a_plus() -> None:
    overview = FullLook(
        server="ok",
        projects=9,
        projects_seen=9,
        agents=8,
        unread=7,
        leases=6,
        has_more_projects=True,
        has_more_agents=True,
        has_more_unread=True,
        has_more_leases=True,
    )
    found = dict(figures(overview))
    shown = seen(FullLook(server="ok", rows=[agent("BlueLake", has_more_leases=True)]))

    assert [found[name] for name in ("projects", "agents", "unread", "leases")] == ["9+", "8+", "7+", "6+"]
    assert shown[-1].split()[3:5] == ["3", "1+"]


def test_projects_that_were_not_looked_at_yet_are_counted() -> None:
    assert dict(figures(FullLook(server="ok", projects=9, projects_seen=4)))["projects"] == "9 (4 of them looked at)"
