from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from tests.features.macros.harness import APP, MacrosHarness, refused
from tests.workspace.code_repository import begin, write


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


async def test_macros_warn_of_paths_and_refuse_several_in_one_as_the_tool_of_its_own(
    team: MacrosHarness, tmp_path: Path
) -> None:
    code = begin(tmp_path / "code")
    write(code, "src/app.py")

    started = await team.start("BlueLake", str(code), file_reservation_paths=["*.rs", "src/**"])
    cycled = await team.cycle("BlueLake", "src/{a,b}.py", project_key=str(code))
    before = team.everything()
    together = await refused(team.start("GreenField", str(code), file_reservation_paths=["src/a.py,src/b.py"]))

    assert started["file_reservations"]["warnings"] == [{"path": "*.rs", "reason": "no file fits it"}]
    assert [one["path"] for one in cycled["file_reservations"]["warnings"]] == ["src/{a,b}.py"]
    assert (together.code, together.data["did_you_mean"]) == ("INVALID_INPUT", ["src/a.py", "src/b.py"])
    assert team.everything() == before


async def test_macros_say_what_to_do_about_a_conflict(team: MacrosHarness) -> None:
    await team.start("BlueLake", file_reservation_paths=["src/**"])

    started = await team.start("RedStone", file_reservation_paths=["src/app.py"])

    assert started["file_reservations"]["hint"].startswith("Write to BlueLake, or reserve with wait_seconds")
