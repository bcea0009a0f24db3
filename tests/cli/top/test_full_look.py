"""What a look is as JSON, and which agents it shows."""

from __future__ import annotations

from mcp_agent_mail.cli.top.full_look import MOST_SHOWN, AgentLook, FullLook, ProjectLook, added_up, seen_agents


def row(number: int, **more: object) -> AgentLook:
    given = {"name": f"Agent{number}", "project": "shop", "program": "p", "unread": number, "leases": 0}
    last = {"listening": None, "last_active_ts": f"2026-11-21T00:{number // 60:02}:{number % 60:02}+00:00"}
    return AgentLook(**{**given, **last, **more})  # type: ignore[arg-type]  # plain values of a row


def look(*rows: AgentLook, **more: object) -> ProjectLook:
    given = {"slug": "shop", "agents": rows, "agents_count": len(rows), "leases": 0, "has_more_leases": False}
    return ProjectLook(**{**given, **more})  # type: ignore[arg-type]  # plain values of a look


def test_those_active_last_are_shown_and_no_more_than_a_bound() -> None:
    looks = [look(*(row(number) for number in range(MOST_SHOWN + 20)))]

    found = seen_agents(looks)

    assert len(found) == MOST_SHOWN
    assert [one.name for one in found[:2]] == [f"Agent{MOST_SHOWN + 19}", f"Agent{MOST_SHOWN + 18}"]


def test_a_project_adds_up_its_unread_mail() -> None:
    assert look(row(2), row(5)).unread == 7


def test_a_sum_says_where_there_is_more_than_it() -> None:
    whole = added_up([look(row(2), row(3), leases=4), look(row(1), leases=1)], is_whole=True)
    cut = added_up([look(row(2), agents_count=9), look(leases=7, has_more_leases=True)], is_whole=True)
    partly = added_up([look(row(2), leases=1)], is_whole=False)

    assert (whole.agents, whole.unread, whole.leases) == (3, 6, 5)
    assert (whole.has_more_agents, whole.has_more_unread, whole.has_more_leases) == (False, False, False)
    assert (cut.agents, cut.unread, cut.leases) == (9, 2, 7)
    assert (cut.has_more_agents, cut.has_more_unread, cut.has_more_leases) == (False, True, True)
    assert (partly.has_more_agents, partly.has_more_unread, partly.has_more_leases) == (True, True, True)


def test_json_has_the_agents_under_a_name_of_their_own() -> None:
    value = FullLook(server="ok", rows=[row(1)]).to_json()

    assert value["server"] == "ok"
    assert value["agents_shown"][0]["name"] == "Agent1"
    assert "rows" not in value
