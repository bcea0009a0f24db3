"""What a look is as JSON, and which agents it shows."""

from __future__ import annotations

from mcp_agent_mail.cli.top.full_look import MOST_SHOWN, AgentLook, FullLook, ProjectLook, seen_agents


def row(number: int, **more: object) -> AgentLook:
    given = {"name": f"Agent{number}", "project": "shop", "program": "p", "unread": number, "leases": 0}
    last = {"listening": None, "last_active_ts": f"2026-11-21T00:{number // 60:02}:{number % 60:02}+00:00"}
    return AgentLook(**{**given, **last, **more})  # type: ignore[arg-type]  # plain values of a row


def test_those_active_last_are_shown_and_no_more_than_a_bound() -> None:
    looks = [ProjectLook(slug="shop", agents=[row(number) for number in range(MOST_SHOWN + 20)], leases=0)]

    found = seen_agents(looks)

    assert len(found) == MOST_SHOWN
    assert [one.name for one in found[:2]] == [f"Agent{MOST_SHOWN + 19}", f"Agent{MOST_SHOWN + 18}"]


def test_a_project_adds_up_its_unread_mail() -> None:
    assert ProjectLook(slug="shop", agents=[row(2), row(5)], leases=0).unread == 7


def test_json_has_the_agents_under_a_name_of_their_own() -> None:
    value = FullLook(server="ok", rows=[row(1)]).to_json()

    assert value["server"] == "ok"
    assert value["agents_shown"][0]["name"] == "Agent1"
    assert "rows" not in value
