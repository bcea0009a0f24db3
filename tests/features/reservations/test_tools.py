from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.tools import ToolTable
from mcp_agent_mail.features.reservations.tools import force_tools
from tests.features.messaging.harness import NOBODY
from tests.features.reservations.claims import Claims, open_claims
from tests.features.reservations.harness import ANYBODY, LONG, open_reservations


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


async def test_files_are_reserved_exclusively_for_an_hour_unless_said_otherwise(claims: Claims) -> None:
    plain = await claims.hold("BlueLake", "src")
    said = await claims.hold("BlueLake", "docs", exclusive=False, ttl_seconds=120, reason="reading")

    now = claims.seeded.clock.now
    assert (plain["exclusive"], plain["expires_ts"], plain["reason"]) == (True, iso(Micros(now + 3_600 * SECOND)), "")
    assert (said["exclusive"], said["expires_ts"], said["reason"]) == (
        False,
        iso(Micros(now + 120 * SECOND)),
        "reading",
    )


async def test_a_holder_that_looks_gone_is_marked_so_in_the_first_answer_and_in_a_look_ahead(claims: Claims) -> None:
    await claims.hold("BlueLake", "tool://deploy", ttl_seconds=86_400)
    await claims.service._staleness.look(claims.seeded.app, await lease(claims), claims.seeded.clock.now, anew=True)
    fresh = await claims.check("RedStone", "tool://deploy")
    claims.seeded.clock.step(1_801)
    await claims.service._staleness.look(claims.seeded.app, await lease(claims), claims.seeded.clock.now, anew=True)

    refused = await claims.reserve("RedStone", "tool://deploy", idempotency_key="k")
    look = await claims.check("RedStone", "tool://deploy")
    again = await claims.reserve("RedStone", "tool://deploy", idempotency_key="k")

    shown = [answer["conflicts"][0]["holders"][0]["stale"] for answer in (fresh, refused, look, again)]
    assert shown == [False, True, True, True]


async def lease(claims: Claims) -> Any:
    """The first one."""
    found = await claims.seeded.store.read(lambda view: view.leases.of_agent(claims.seeded.blue.id, limit=1))
    return found[0]


@pytest.mark.parametrize("tool", ["release", "renew"])
async def test_one_gives_back_or_prolongs_what_is_named_by_path_by_number_or_all_of_it(
    claims: Claims, tool: str
) -> None:
    await claims.hold("BlueLake", "a", "b", "c", "d")
    act = claims.release if tool == "release" else claims.renew

    by_path = await act("BlueLake", paths=["a"])
    by_number = await act("BlueLake", file_reservation_ids=[2])
    all_of_it = await act("BlueLake")

    touched = [[one["id"] for one in answer["file_reservations"]] for answer in (by_path, by_number)]
    assert touched == [[1], [2]]
    assert len(all_of_it["file_reservations"]) == (2 if tool == "release" else 4)


async def test_a_renewal_is_for_half_an_hour_unless_said_otherwise(claims: Claims) -> None:
    await claims.hold("BlueLake", "a", ttl_seconds=60)

    first = (await claims.renew("BlueLake"))["file_reservations"][0]
    second = (await claims.renew("BlueLake", extend_seconds=60))["file_reservations"][0]

    now = claims.seeded.clock.now
    assert first["new_expires_ts"] == iso(Micros(now + (60 + 1_800) * SECOND))
    assert second["new_expires_ts"] == iso(Micros(now + (60 + 1_800 + 60) * SECOND))


@pytest.mark.parametrize("tool", ["file_reservation_paths", "check_file_reservation_conflicts"])
async def test_a_call_without_paths_is_refused(claims: Claims, tool: str) -> None:
    with pytest.raises(InvalidInput):
        await claims.call(tool, agent_name="BlueLake", paths=[])


async def test_a_wait_longer_than_a_call_lasts_counts_as_the_longest(claims: Claims) -> None:
    answer = await claims.reserve("BlueLake", "a", wait_seconds=10**9)

    assert len(answer["granted"]) == 1


async def test_what_another_left_is_released_by_its_number_and_its_holder_told(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        left = await harness.hold()
        harness.clock.step(LONG)

        async def caller() -> Any:
            return ANYBODY

        tools = ToolTable(force_tools(harness.force, caller))
        given = {"project_key": harness.project.slug, "agent_name": "RedStone", "file_reservation_id": left.id}
        forced = await tools.run("force_release_file_reservation", {**given, "note": "I go on"}, NOBODY)

        assert (forced["released"], forced["reservation"]["notified"]) == (1, True)
        assert "> I go on" in (await harness.inbox(harness.blue))[0][1]
