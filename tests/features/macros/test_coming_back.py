"""Whoever begins a session again: that it did, what it holds, what waits for it."""

from __future__ import annotations

import pytest

from mcp_agent_mail.features.macros import service
from tests.features.macros.harness import APP, MacrosHarness

PROFILE = {"program": "tests", "model": "none"}


async def test_who_comes_back_is_told_so_with_what_it_holds_and_what_waits_for_it(team: MacrosHarness) -> None:
    await team.start("RedStone")
    first = await team.start("BlueLake", file_reservation_paths=["src/**", "docs/a.md"])
    await team.cycle("RedStone", "tests/**")
    for number, ack_required in enumerate((True, False, True)):
        await team.send("RedStone", "BlueLake", subject=f"S{number}", ack_required=ack_required)
    newest = (await team.call("fetch_inbox", project_key=APP, agent_name="BlueLake", limit=1, mark_read=True))[0]

    again = await team.start("BlueLake", program="other", inbox_limit=2)
    counted = await team.start("BlueLake", inbox_limit=0)

    granted = first["file_reservations"]["granted"]
    assert (first["resumed"], first["held"], first["unread_count"]) == (False, granted[::-1], 0)
    assert (again["resumed"], again["held"]) == (True, granted[::-1])
    assert (again["unread_count"], again["ack_pending"]) == (2, 2)
    assert [item["subject"] for item in again["inbox"]] == ["S1", "S0"]
    assert (again["agent"]["existing"], again["agent"]["was"]["program"]) == (True, "tests")
    assert (counted["inbox"], counted["unread_count"], counted["ack_pending"]) == ([], 2, 2)
    assert newest["subject"] == "S2"


async def test_a_lease_that_ran_out_is_not_held_any_more(team: MacrosHarness) -> None:
    await team.start("BlueLake", file_reservation_paths=["src/**"], file_reservation_ttl_seconds=60)
    team.clock.step(60)

    assert (await team.start("BlueLake"))["held"] == []


async def test_no_more_than_so_many_leases_are_shown_the_newest_first(
    team: MacrosHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_HELD", 2)
    paths = ["a/x", "b/x", "c/x"]

    started = await team.start("BlueLake", file_reservation_paths=paths)

    assert [grant["path_pattern"] for grant in started["held"]] == ["c/x", "b/x"]


async def test_a_session_that_makes_a_second_project_by_mistake_is_told_so_once(team: MacrosHarness) -> None:
    first = await team.start("BlueLake")
    made = await team.call("macro_start_session", **{**PROFILE, "human_key": f"{APP}/src"})
    again = await team.call("macro_start_session", **{**PROFILE, "human_key": f"{APP}/src"})

    assert made["hint"] == (
        f"New project: {APP}/src is within the project {APP}, whose agents and mail are not here. "
        f"To join them use human_key={APP!r}."
    )
    assert "hint" not in first
    assert "hint" not in again


async def test_a_new_name_that_may_be_a_slip_of_anothers_is_told_so(team: MacrosHarness) -> None:
    first = await team.start("RedStone")
    slip = await team.start("Redston")
    other = await team.start("GreenField")

    assert slip["agent"]["hint"] == "A new agent. Did you mean RedStone, who is here already?"
    assert "hint" not in first["agent"]
    assert "hint" not in other["agent"]


async def test_a_session_in_a_project_that_may_be_a_slip_of_another_is_told_so(team: MacrosHarness) -> None:
    await team.start("BlueLake", "/code/application")
    slip = await team.start("BlueLake", "/code/aplication")
    again = await team.start("BlueLake", "/code/aplication")

    assert slip["hint"] == "A new project. Did you mean /code/application, which is here already?"
    assert "hint" not in again
