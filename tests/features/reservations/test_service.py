from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.reservations.claims import Claims, open_claims


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
