from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.clock import SECOND
from tests.features.importing.scripted import ScriptedReader, agent, at, lease, project, whole_store
from tests.features.importing.test_service import bring, found
from tests.rebuild.world import World

APP = "/old/app"
LEASES = "SELECT path_pattern, created_ts, expires_ts, released_ts, ended_by FROM leases ORDER BY id"
FAR = at(1_000_000_000)
LONGEST = 30 * 86_400 * SECOND


async def test_what_is_over_is_history_and_what_is_live_is_held(world: World) -> None:
    await bring(world, whole_store())

    assert world.rows(LEASES) == [
        ("src/**", at(20), at(500), at(300), "release"),
        ("docs/*.md", at(20), at(500), at(500), "expiry"),
        ("live/**", at(20), world.clock.now + LONGEST, None, None),
        ("gone/**", at(20), FAR, at(400), "idle"),
    ]


async def test_a_live_lease_stands_here_too(world: World) -> None:
    await bring(world, whole_store())

    asked = await world.call("file_reservation_paths", project_key=APP, agent_name="BlueLake", paths=["live/x.py"])

    assert [one["path"] for one in asked["conflicts"]] == ["live/x.py"]


async def test_what_somebody_here_holds_is_left_to_it_and_listed(world: World) -> None:
    await world.call("ensure_project", human_key=APP)
    await world.call("register_agent", project_key=APP, program="p", model="m", name="Native")
    await world.call("file_reservation_paths", project_key=APP, agent_name="Native", paths=["live/a.py"])

    dry = await bring(world, whole_store(), apply=False)
    report = await bring(world, whole_store())

    assert found(report)["leases"] == found(dry)["leases"] == (3, 0, 1)
    assert [one.why for one in report.left if one.kind == "leases"] == ["somebody here holds what it covers"]


async def test_a_pattern_that_is_none_here_is_listed(world: World) -> None:
    reader = ScriptedReader(
        all_projects=[project()], all_agents=[agent("a1", "BlueLake")], all_leases=[lease("l1", "a1", "")]
    )

    report = await bring(world, reader)

    assert found(report)["leases"] == (0, 0, 1)


async def test_a_live_one_ends_no_later_than_one_that_is_granted_here_and_the_report_says_so(world: World) -> None:
    report = await bring(world, whole_store())

    assert "Leases that reach further end in 30 days, as all do here." in report.notes


async def test_one_that_ended_before_it_began_ended_at_once(world: World) -> None:
    over = lease("l1", "a1", "src/**", expires_ts=at(500), released_ts=at(1))
    reader = ScriptedReader(
        all_projects=[project()],
        all_agents=[agent("a1", "BlueLake")],
        all_leases=[over, replace(over, key="l2", pattern="docs/**", released_ts=None, expires_ts=at(1))],
    )

    await bring(world, reader)

    assert world.rows(LEASES) == [
        ("src/**", at(20), at(500), at(20), "release"),
        ("docs/**", at(20), at(20), at(20), "expiry"),
    ]
