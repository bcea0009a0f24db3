"""Looks at a real server: what is known after each, and how little is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from mcp_agent_mail.cli.gateway.http import Server
from mcp_agent_mail.cli.top import server_look
from mcp_agent_mail.cli.top.call_counts import CallFigures, ToolCalls
from mcp_agent_mail.cli.top.full_look import MOST_SHOWN
from mcp_agent_mail.cli.top.server_look import PROJECTS_A_LOOK, ServerLook, call_look
from tests.cli.conftest import Post
from tests.cli.top.crowds import add_agents
from tests.served import Served

PROJECTS = 6


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "store", HOME=str(tmp_path)) as served:
        with served.connect() as connection:
            for number in range(PROJECTS):
                connection.call("ensure_project", human_key=f"/code/p{number}")
                given = {"project_key": f"/code/p{number}", "agent_name": "BlueLake"}
                profile = {"name": "BlueLake", "program": "tester", "model": "none"}
                connection.call("register_agent", project_key=f"/code/p{number}", **profile)
                connection.call("file_reservation_paths", **given, paths=["a/**", "b/**"])
        yield served


@pytest.fixture
def looks(server: Served) -> Iterator[ServerLook]:
    clock = count(0, 2)
    look = ServerLook(Server(url=f"http://127.0.0.1:{server.port}"), now=lambda: float(next(clock)))
    yield look
    look.close()


def test_projects_are_looked_at_in_turn(looks: ServerLook) -> None:
    first, second = looks.look(), looks.look()

    assert (first.projects, first.projects_seen, first.agents) == (PROJECTS, PROJECTS_A_LOOK, PROJECTS_A_LOOK)
    assert (second.projects_seen, second.agents, second.leases) == (PROJECTS, PROJECTS, 2 * PROJECTS)
    assert second.rows[0].leases == 2


def test_sums_of_projects_that_were_not_all_looked_at_are_lower_bounds(looks: ServerLook) -> None:
    first, second = looks.look(), looks.look()

    assert (first.has_more_agents, first.has_more_unread, first.has_more_leases) == (True, True, True)
    assert (second.has_more_agents, second.has_more_unread, second.has_more_leases) == (False, False, False)
    assert (first.has_more_projects, second.has_more_projects) == (False, False)


def test_what_a_token_may_not_see_is_left_out_and_said(tmp_path: Path) -> None:
    secret = "the-token-of-this-whole-server"
    told = {}
    with Served(tmp_path / "store", HOME=str(tmp_path), AGENT_AUTH="strict", HTTP_BEARER_TOKEN=secret) as served:
        operators = {"Authorization": f"Bearer {(served.root / 'operator.token').read_text().strip()}"}
        with served.connect(**operators) as connection:
            for number in (1, 2):
                project, agent = {"project_key": f"/code/p{number}"}, {"agent_name": "BlueLake"}
                connection.call("ensure_project", human_key=f"/code/p{number}")
                connection.call("register_agent", **project, name="BlueLake", program="tester", model="none")
                connection.call("file_reservation_paths", **project, **agent, paths=["a/**"])
            issued = {
                role: connection.call("create_issued_token", role=role)["token"]
                for role in ("reader", "writer", "operator")
            }
            agents = connection.call("create_issued_token", project_key="/code/p1", agent_name="BlueLake")["token"]
        for whose, token in {"server": secret, **issued, "agent": agents}.items():
            with closing(ServerLook(Server(url=f"http://127.0.0.1:{served.port}", bearer_token=token))) as looks:
                looks.look()
                found = looks.look()
            figures = (found.projects, found.agents, found.leases, found.has_more_leases, found.has_more_unread)
            told[whose] = (figures, sorted((row.unread for row in found.rows), key=str), found.problem)

    said = "leases or unread mail of {} are not told to this token: one that was issued with --role operator"
    assert told["server"] == told["reader"] == told["writer"]
    for whose, figures, unread, problem in (
        ("server", (2, 2, 0, True, True), [None, None], said.format("2 projects")),
        ("operator", (2, 2, 2, False, False), [0, 0], ""),
        ("agent", (2, 2, 1, True, True), [0, None], said.format("1 project")),
    ):
        assert told[whose][:2] == (figures, unread), whose
        assert str(told[whose][2] or "").startswith(problem), whose


def test_more_than_a_list_holds_is_counted(looks: ServerLook, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with server.connect() as connection:
        for number in range(8):
            given = {"project_key": "/code/p5", "agent_name": "BlueLake"}
            connection.call("file_reservation_paths", **given, paths=[f"c{number}/**"])
    monkeypatch.setattr(server_look, "_LISTED", 4)

    found = looks.look(projects=PROJECTS)

    assert (found.projects, found.has_more_projects) == (PROJECTS, False)
    assert (found.leases, found.has_more_leases) == (2 * PROJECTS + 8, False)
    assert [row.leases for row in found.rows if row.project.startswith("code-p5")] == [10]


def test_what_a_look_has_no_lists_for_is_said(looks: ServerLook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_look, "_LISTED", 2)
    monkeypatch.setattr(server_look, "_LISTS", 2)
    monkeypatch.setattr(server_look, "_MORE_LISTS", 1)

    found = looks.look(projects=PROJECTS)

    assert (found.projects, found.has_more_projects) == (4, True)
    assert (found.leases, found.has_more_leases) == (8, True)
    assert sorted(row.has_more_leases for row in found.rows) == [False, True, True, True]


def test_agents_beyond_the_list_are_counted_and_their_mail_is_said_to_be_more(stopped_post: Post) -> None:
    add_agents(stopped_post.server.database, 1_000)
    with stopped_post.server as served, closing(ServerLook(Server(url=f"http://127.0.0.1:{served.port}"))) as looks:
        found = looks.look()

    assert (found.projects_seen, found.agents, found.has_more_agents) == (1, 1_002, False)
    assert (found.unread, found.has_more_unread) == (1, True)
    assert len(found.rows) == MOST_SHOWN


def test_calls_are_counted_between_looks(looks: ServerLook, server: Served) -> None:
    first = looks.look()
    with server.connect() as connection:
        for _ in range(10):
            connection.call("whois", project_key="/code/p0", agent_name="BlueLake")
        connection.rpc("whois", {"project_key": "/code/p0", "agent_name": "Nobody"})
    second = looks.look()

    assert first.calls is None
    assert second.calls is not None
    assert (second.calls.window_s, second.calls.calls_per_s, second.calls.errors_per_s) == (2.0, 5.5, 0.5)
    assert [(one.tool, one.calls_per_s) for one in second.calls.tools] == [("whois", 5.5)]
    assert second.calls.p95_ms is not None


def test_a_look_writes_to_the_store_now_and_then_only(looks: ServerLook, server: Served) -> None:
    for _ in range(11):
        looks.look()

    with server.connect() as connection:
        tools = connection.call("read_resource", uri="resource://tooling/metrics")["tools"]
    assert next(one["calls"] for one in tools if one["name"] == "health_check") == 3


def test_calls_between_two_looks_are_those_of_the_busiest_tools() -> None:
    def figures(at_s: float, calls: int) -> CallFigures:
        tools = {f"tool{number}": ToolCalls(calls=calls * number) for number in range(9)}
        return CallFigures(at_s=at_s, started_s=1, tools=tools, gauges={})

    found = call_look(figures(0, 1), figures(2, 3))

    assert found is not None
    assert [(one.tool, one.calls_per_s) for one in found.tools][:2] == [("tool8", 8.0), ("tool7", 7.0)]
    assert len(found.tools) == 5
    assert call_look(figures(0, 1), figures(0, 1)) is None
