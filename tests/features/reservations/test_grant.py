from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import (
    Conflict,
    QuotaExceeded,
)
from mcp_agent_mail.domain.patterns.pattern import parse_pattern
from mcp_agent_mail.domain.reservations import MAX_LIVE_LEASES, Patterns, RequestedPath, WaitingCall
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.reservations.grant import GrantRequest, GrantResult, decide
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from tests.features.messaging.harness import APP
from tests.features.reservations.claims import Claims, open_claims


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


def ids(answer: Any) -> list[int]:
    return [grant["id"] for grant in answer["granted"]]


async def test_a_grant_says_what_is_held_until_when_and_with_which_number(claims: Claims) -> None:
    granted = await claims.reserve("BlueLake", " ./src//app.py ", ttl_seconds=120, reason="the parser")

    assert granted == {
        "granted": [
            {
                "id": 1,
                "path_pattern": "src/app.py",
                "exclusive": True,
                "reason": "the parser",
                "expires_ts": iso(claims.seeded.clock.now + 120_000_000),  # type: ignore[arg-type]
                "fencing": 1,
            }
        ],
        "conflicts": [],
        "verified": False,
    }


async def test_a_path_in_conflict_is_not_granted_the_others_are(claims: Claims) -> None:
    held = await claims.hold("BlueLake", "src/**", reason="refactoring")

    answer = await claims.reserve("RedStone", "src/app.py", "README.md")

    assert [grant["path_pattern"] for grant in answer["granted"]] == ["README.md"]
    assert answer["conflicts"] == [
        {
            "path": "src/app.py",
            "holders": [
                {
                    "agent": "BlueLake",
                    "reservation_id": held["id"],
                    "path_pattern": "src/**",
                    "exclusive": True,
                    "expires_ts": held["expires_ts"],
                    "reason": "refactoring",
                    "stale": False,
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("first", "second", "granted"),
    [(True, True, 0), (True, False, 0), (False, True, 0), (False, False, 1)],
)
async def test_only_shared_leases_lie_beside_each_other(
    claims: Claims, first: bool, second: bool, granted: int
) -> None:
    await claims.hold("BlueLake", "src/**", exclusive=first)

    answer = await claims.reserve("RedStone", "src/app.py", exclusive=second)

    assert len(answer["granted"]) == granted


async def test_ones_own_reservations_never_stand_in_ones_way(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/**")

    inner = await claims.hold("BlueLake", "src/app.py")

    assert inner["id"] == 2


async def test_reserving_again_prolongs_the_same_lease_and_never_shortens_it(claims: Claims) -> None:
    first = await claims.hold("BlueLake", "src/**", ttl_seconds=600, reason="first")

    longer = await claims.hold("BlueLake", "./src/**", ttl_seconds=1_200)
    shorter = await claims.hold("BlueLake", "src/**", ttl_seconds=60, reason="second")

    assert [one["id"] for one in (first, longer, shorter)] == [1, 1, 1]
    assert first["expires_ts"] < longer["expires_ts"] == shorter["expires_ts"]
    assert [one["reason"] for one in (first, longer, shorter)] == ["first", "first", "second"]
    assert [one["fencing"] for one in (first, longer, shorter)] == [1, 1, 1]


async def test_a_shared_lease_becomes_exclusive_only_when_nobody_shares_it(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/**", exclusive=False)
    await claims.hold("RedStone", "src/app.py", exclusive=False)

    refused = await claims.reserve("BlueLake", "src/**", exclusive=True)
    await claims.release("RedStone")
    granted = await claims.hold("BlueLake", "src/**", exclusive=True)

    assert ids(refused) == []
    assert (granted["id"], granted["exclusive"], granted["fencing"]) == (1, True, 3)


async def test_an_exclusive_lease_becomes_shared_for_others_to_join(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/**")
    await claims.hold("BlueLake", "src/**", exclusive=False)

    joined = await claims.reserve("RedStone", "src/app.py", exclusive=False)

    assert len(joined["granted"]) == 1


async def test_the_numbers_rise_with_every_grant_of_the_store(claims: Claims) -> None:
    first = await claims.hold("BlueLake", "a", "b")
    elsewhere = await claims.call("file_reservation_paths", project_key="/code/lib", agent_name="QuietFox", paths=["a"])
    await claims.release("BlueLake")
    again = await claims.hold("RedStone", "a")

    assert [one["fencing"] for one in (*first, elsewhere["granted"][0], again)] == [1, 2, 3, 4]


async def test_an_expired_lease_blocks_nobody_at_that_very_instant(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/**", ttl_seconds=60)
    claims.seeded.clock.step(60)

    granted = await claims.hold("RedStone", "src/app.py")

    assert granted["id"] == 2
    ended = claims.rows("SELECT released_ts - created_ts, ended_by FROM leases WHERE id = 1")
    assert ended == [(60_000_000, "expiry")]


async def test_one_instant_before_its_expiry_a_lease_still_holds(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/**", ttl_seconds=60)
    claims.seeded.clock.step(59.999_999)

    refused = await claims.reserve("RedStone", "src/app.py")

    assert ids(refused) == []


async def test_an_agent_may_hold_a_thousand_and_no_call_that_asks_for_more_leaves_a_trace(claims: Claims) -> None:
    for start in range(0, MAX_LIVE_LEASES, 500):
        await claims.hold("BlueLake", *(f"f{number}" for number in range(start, start + 500)))

    with pytest.raises(QuotaExceeded):
        await claims.reserve("BlueLake", "one/more", "f1")
    again = await claims.hold("BlueLake", "f1")

    assert again["path_pattern"] == "f1"
    assert claims.rows("SELECT count(*) FROM leases") == [(MAX_LIVE_LEASES,)]


async def test_what_has_expired_does_not_count(claims: Claims) -> None:
    for start in range(0, MAX_LIVE_LEASES, 500):
        await claims.hold("BlueLake", *(f"f{number}" for number in range(start, start + 500)), ttl_seconds=60)
    claims.seeded.clock.step(60)

    granted = await claims.hold("BlueLake", "one/more")

    assert granted["fencing"] == MAX_LIVE_LEASES + 1


async def test_a_retired_agent_and_an_archived_project_are_refused(claims: Claims) -> None:
    now = claims.seeded.clock.now
    await claims.seeded.store.write(lambda tx: tx.agents.set_retired(claims.seeded.blue.id, now, now))
    with pytest.raises(Conflict):
        await claims.reserve("BlueLake", "src")
    await claims.seeded.store.write(lambda tx: tx.projects.set_archived(claims.seeded.app.id, now))

    with pytest.raises(Conflict):
        await claims.reserve("RedStone", "src")

    assert claims.rows("SELECT count(*) FROM leases") == [(0,)]


async def test_every_change_is_told_to_the_archive_by_the_one_who_made_it(claims: Claims) -> None:
    await claims.hold("BlueLake", "src")
    await claims.renew("BlueLake")
    await claims.release("BlueLake")

    events = claims.rows("SELECT kind, agent_id FROM outbox ORDER BY seq")

    assert events == [("reservation", claims.seeded.blue.id)] * 3


async def ask(claims: Claims, *texts: str, all_or_nothing: bool = False, waited_for: int | None = None) -> GrantResult:
    """RedStone's call for an hour, in a unit of its own; GreenField waits for the path of that number."""
    request = ReserveRequest(
        project_key=APP, agent_name="RedStone", paths=texts, ttl_seconds=3_600, exclusive=True, reason=""
    )
    waiting = WaitingCall(agent="GreenField", path_pattern="a", exclusive=True, reason="", until_ts=0)
    asked = GrantRequest(
        request=request,
        wanted=[RequestedPath.of(text, parse_pattern(text), exclusive=True) for text in texts],
        all_or_nothing=all_or_nothing,
        waited_for={} if waited_for is None else {waited_for: (waiting,)},
    )
    holder = Actor(agent=claims.seeded.red, project=claims.seeded.app)
    return await claims.seeded.store.write(lambda tx: decide(tx, holder, asked, Patterns()))


def granted(result: GrantResult) -> list[str]:
    return [lease.path_pattern for lease in result.granted]


async def test_what_others_wait_for_is_not_granted_past_them_and_what_one_holds_is_prolonged(claims: Claims) -> None:
    first = await ask(claims, "a", "b", waited_for=0)
    await ask(claims, "a")

    own = await ask(claims, "a", waited_for=0)

    assert (granted(first), [(one.path, one.waiting[0].agent) for one in first.conflicts]) == (
        ["b"],
        [("a", "GreenField")],
    )
    assert (granted(own), own.conflicts, [lease.path_pattern for lease in own.before.values()]) == (["a"], (), ["a"])


async def test_a_call_for_all_or_nothing_gets_nothing_where_one_path_is_held(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")

    whole, parts = await ask(claims, "a", "b", all_or_nothing=True), await ask(claims, "a", "b")
    free = await ask(claims, "c", "d", all_or_nothing=True)

    assert (granted(whole), granted(parts), granted(free)) == ([], ["b"], ["c", "d"])
    assert [one.path for one in whole.conflicts] == ["a"]
