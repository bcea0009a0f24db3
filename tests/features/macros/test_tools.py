from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from tests.features.macros.harness import APP, MacrosHarness, refused


@pytest.fixture(autouse=True)
async def _two_agents(team: MacrosHarness) -> None:
    await team.start("BlueLake")
    await team.start("RedStone")


async def test_a_target_that_is_not_there_is_registered_and_without_leave_it_is_an_error(team: MacrosHarness) -> None:
    missing = await refused(team.shake("BlueLake", "GreenField", register_if_missing=False))

    shaken = await team.shake("BlueLake", "GreenField", program="codex", model="gpt", task_description="Docs")

    known = await team.call("whois", project_key=APP, agent_name="GreenField")
    assert missing.code == "RECIPIENT_NOT_FOUND"
    assert shaken["request"]["to"] == "GreenField"
    assert (known["program"], known["task_description"]) == ("codex", "Docs")


async def test_other_names_of_the_two_are_the_same_arguments(team: MacrosHarness) -> None:
    shaken = await team.shake(None, None, agent_name="BlueLake", to_agent="RedStone")
    differing = await refused(team.shake("BlueLake", "RedStone", to_agent="GreenField"))

    assert (shaken["request"]["from"], shaken["request"]["to"]) == ("BlueLake", "RedStone")
    assert (differing.code, differing.data["parameter"]) == ("INVALID_INPUT", "target")


async def test_a_session_and_a_cycle_begin_with_what_is_said_and_an_hour_of_reservations(team: MacrosHarness) -> None:
    started = await team.start("GreenField", file_reservation_paths=["src/**"], task_description="Docs")
    cycled = await team.cycle("GreenField", "docs/**")

    in_an_hour = iso(Micros(team.clock.now + 3_600 * SECOND))
    assert (started["agent"]["name"], started["agent"]["task_description"]) == ("GreenField", "Docs")
    (held,) = started["file_reservations"]["granted"]
    assert (held["path_pattern"], held["reason"], held["exclusive"]) == ("src/**", "macro-session", True)
    (granted,) = cycled["file_reservations"]["granted"]
    assert (granted["reason"], granted["expires_ts"]) == ("macro-file_reservation", in_an_hour)
    assert cycled["released"] is None


async def test_without_a_path_there_is_no_cycle(team: MacrosHarness) -> None:
    assert (await refused(team.cycle("BlueLake"))).code == "INVALID_INPUT"


async def test_a_thread_is_joined_by_who_it_is_said_to_be(team: MacrosHarness) -> None:
    joined = await team.join("GreenField", task_description="Docs")

    assert (joined["agent"]["name"], joined["agent"]["task_description"]) == ("GreenField", "Docs")
    assert joined["thread"]["thread_id"] == "plan-1"
