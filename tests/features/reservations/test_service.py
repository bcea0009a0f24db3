from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.reservations.conflicts import MAX_WANTED
from tests.features.reservations.claims import Claims, open_claims
from tests.features.reservations.test_wait_queue import start
from tests.seeded_store import token_of


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


async def test_a_look_ahead_tells_what_an_exclusive_claim_would_meet_and_changes_nothing(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/**", exclusive=False)
    before = claims.rows("SELECT count(*) FROM outbox")

    look = await claims.check("RedStone", "src/app.py", "docs")

    assert look["free"] == ["docs"]
    assert [(one["path"], one["holders"][0]["agent"]) for one in look["conflicts"]] == [("src/app.py", "BlueLake")]
    assert claims.rows("SELECT count(*) FROM outbox") == before


async def test_a_look_ahead_meets_neither_ones_own_nor_expired_leases(claims: Claims) -> None:
    await claims.hold("RedStone", "src/**")
    await claims.hold("BlueLake", "docs", ttl_seconds=60)
    claims.seeded.clock.step(60)

    look = await claims.check("RedStone", "src/app.py", "docs")

    assert look == {"conflicts": [], "free": ["src/app.py", "docs"]}
    assert claims.rows("SELECT count(*) FROM leases WHERE released_ts IS NOT NULL") == [(0,)]


async def test_the_list_is_paged_oldest_first_and_shows_ended_ones_only_when_asked(claims: Claims) -> None:
    await claims.hold("BlueLake", "a", "b", "c")
    await claims.release("BlueLake", paths=["a"])
    await claims.hold("RedStone", "d", ttl_seconds=60)
    claims.seeded.clock.step(60)

    active = await claims.listed()
    everything = await claims.listed("?active_only=false&limit=2&after_id=1")

    assert [one["id"] for one in active] == [2, 3]
    assert [one["id"] for one in everything] == [2, 3]
    first = (await claims.listed("?active_only=false&limit=1"))[0]
    assert first["released_ts"] == first["created_ts"]
    assert (first["agent"], first["fencing"], first["stale"]) == ("BlueLake", 1, False)


async def test_a_claim_is_taken_at_once_or_waits_in_line_and_either_is_activity(claims: Claims) -> None:
    await claims.hold("BlueLake", "src")
    at_once = await claims.reserve("RedStone", "src", "docs")
    waiting = await start(claims, "GreenField", "src", "tests")

    await claims.release("BlueLake")
    waited = await waiting

    assert [grant["path_pattern"] for grant in at_once["granted"]] == ["docs"]
    assert [grant["path_pattern"] for grant in waited["granted"]] == ["src", "tests"]


async def test_a_look_ahead_tells_who_waits_for_what_nobody_holds(claims: Claims) -> None:
    await claims.hold("BlueLake", "src")
    waiting = await start(claims, "GreenField", "src", "tests")

    look = await claims.check("RedStone", "tests", "docs")

    assert [(one["path"], one["holders"][0]["agent"]) for one in look["conflicts"]] == [("tests", "GreenField")]
    assert look["free"] == ["docs"]
    await claims.release("BlueLake")
    await waiting


async def test_a_look_ahead_too_large_for_one_read_says_the_same(claims: Claims) -> None:
    await claims.hold("BlueLake", "dir3/*.py")
    many = [f"dir{number}/file.py" for number in range(MAX_WANTED + 1)]

    look = await claims.check("RedStone", *many)

    assert [one["path"] for one in look["conflicts"]] == ["dir3/file.py"]
    assert len(look["free"]) == len(many) - 1


async def test_a_project_of_its_own_lists_its_reservations_to_no_agent_of_another(claims: Claims) -> None:
    fox = Credentials(via="mcp", agent_token=token_of("QuietFox", claims.seeded.lib))

    with pytest.raises(PermissionDenied):
        await claims.resources.read("resource://file_reservations/%2Fcode%2Fapp", fox)


async def test_who_acts_is_active_by_every_use_case(claims: Claims) -> None:
    noted: list[str] = []
    claims.service._note_activity = lambda agent: noted.append(agent.name)

    await claims.hold("BlueLake", "src")
    await claims.renew("BlueLake")
    await claims.check("RedStone", "src")
    await claims.release("BlueLake")

    assert noted == ["BlueLake", "BlueLake", "RedStone", "BlueLake"]
