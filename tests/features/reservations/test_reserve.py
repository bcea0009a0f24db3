"""Reserving: what is granted, what is not, and that a refused call leaves no trace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import (
    Conflict,
    IdempotencyKeyConflict,
    InvalidInput,
    PermissionDenied,
    QuotaExceeded,
)
from mcp_agent_mail.domain.reservations import MAX_LIVE_LEASES
from mcp_agent_mail.store.lease_events import sweep_expired
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


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ("src/**", "src/app.py"),
        ("*.py", "src/*"),
        ("docs/", "docs/x/y.md"),
        ("src/a*", "src/*b"),
        ("*.py", "src/api/x.py"),
        ("src/**/*.py", "src/api/**"),
        ("src", "src/app.py"),
        ("src/app.py", "src"),
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("tool://deploy", "tool://deploy"),
        ("*.[ch]", "lib/list.c"),
    ],
)
async def test_overlap_is_seen_whoever_came_first(claims: Claims, held: str, wanted: str) -> None:
    await claims.hold("BlueLake", held)
    there = await claims.reserve("RedStone", wanted)
    await claims.release("BlueLake")
    await claims.hold("RedStone", wanted)

    back = await claims.reserve("BlueLake", held)

    assert (ids(there), ids(back)) == ([], [])


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ("README.md", "package.json"),
        ("src", "docs"),
        ("*.py", "*.js"),
        ("src/app.py", "src/**/*.js"),
        ("README.md", "docs/README.md"),
        ("src/*.py", "src/api/x.py"),
        ("tool://deploy", "tool://deploy/x"),
        ("src/app.py", "src/app.pyx"),
        ("src/Ä.py", "src/ä.py"),
    ],
)
async def test_what_does_not_overlap_is_granted_whoever_came_first(claims: Claims, held: str, wanted: str) -> None:
    await claims.hold("BlueLake", held)

    there = await claims.reserve("RedStone", wanted)

    assert len(there["granted"]) == 1


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


async def test_a_folder_of_the_workspace_counts_as_one_and_that_is_kept(claims: Claims, tmp_path: Path) -> None:
    root = tmp_path / "code"
    (root / "src").mkdir(parents=True)
    claims.root = str(root)
    await claims.open_project()
    await claims.hold("BlueLake", "src")
    (root / "src").rmdir()

    wildcard = await claims.reserve("RedStone", "*.py")
    elsewhere = await claims.reserve("RedStone", "docs")

    assert (ids(wildcard), len(elsewhere["granted"])) == ([], 1)


async def test_without_a_folder_there_a_name_is_one_path(claims: Claims) -> None:
    await claims.hold("BlueLake", "src")

    wildcard = await claims.reserve("RedStone", "*.py")

    assert len(wildcard["granted"]) == 1


async def test_a_path_named_twice_is_one_lease(claims: Claims) -> None:
    answer = await claims.reserve("BlueLake", "src/app.py", "./src/app.py", "/code/app/src/app.py")

    assert [grant["path_pattern"] for grant in answer["granted"]] == ["src/app.py"]


@pytest.mark.parametrize("path", ["../other", "/etc/passwd", "a/../../b", "src/[", " "])
async def test_an_unreadable_path_refuses_the_whole_call(claims: Claims, path: str) -> None:
    with pytest.raises(InvalidInput):
        await claims.reserve("BlueLake", "src/app.py", path)

    assert claims.rows("SELECT count(*) FROM leases") == [(0,)]


async def test_no_path_at_all_is_refused(claims: Claims) -> None:
    with pytest.raises(InvalidInput):
        await claims.reserve("BlueLake")


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


async def test_nobody_reserves_as_the_overseer(claims: Claims) -> None:
    with pytest.raises(PermissionDenied):
        await claims.reserve("Human", "src")


async def test_a_keyed_call_is_answered_once_and_then_again_the_same(claims: Claims) -> None:
    first = await claims.reserve("BlueLake", "src", idempotency_key="k")

    again = await claims.reserve("BlueLake", "src", idempotency_key="k")

    (grant,) = first["granted"]
    assert again == {**first, "granted": [{**grant, "live": True}], "idempotent_replay": True}
    with pytest.raises(IdempotencyKeyConflict):
        await claims.reserve("BlueLake", "docs", idempotency_key="k")


@pytest.mark.parametrize("end", ["release", "expiry", "swept", "lapsed and renewed", "shared", "retired", "archived"])
async def test_a_repeat_never_says_that_a_grant_holds_which_does_not(claims: Claims, end: str) -> None:
    await claims.hold("RedStone", "src", idempotency_key="k", ttl_seconds=60)
    if end == "release":
        await claims.release("RedStone")
    elif end in ("expiry", "swept", "lapsed and renewed"):
        claims.seeded.clock.step(60)
    if end == "swept":
        await claims.seeded.store.write(lambda tx: sweep_expired(tx, 10))
    elif end == "lapsed and renewed":
        await claims.renew("RedStone")
    elif end == "shared":
        await claims.hold("RedStone", "src", exclusive=False)
    elif end == "retired":
        await claims.retire(claims.seeded.red)
    elif end == "archived":
        await claims.seeded.store.write(lambda tx: tx.projects.set_archived(claims.seeded.app.id, tx.now))

    again = await claims.reserve("RedStone", "src", idempotency_key="k", ttl_seconds=60)

    assert [grant["live"] for grant in again["granted"]] == [False]


async def test_a_keyed_conflict_is_kept_with_its_holders(claims: Claims) -> None:
    await claims.hold("BlueLake", "src")
    first = await claims.reserve("RedStone", "src", idempotency_key="k")
    await claims.release("BlueLake")

    again = await claims.reserve("RedStone", "src", idempotency_key="k")

    assert again["conflicts"] == first["conflicts"]
    assert again["idempotent_replay"] is True


async def test_of_many_at_once_one_gets_it(claims: Claims) -> None:
    agents = ["BlueLake", "RedStone", "GreenField"]

    answers = await asyncio.gather(
        *(claims.reserve(agents[n % 3], f"src/{'*' if n % 2 else 'a.py'}") for n in range(30))
    )

    holders = {agents[n % 3] for n, answer in enumerate(answers) if answer["granted"]}
    assert len(holders) == 1
    losers = [answer for answer in answers if not answer["granted"]]
    assert {one["holders"][0]["agent"] for answer in losers for one in answer["conflicts"]} == holders


async def test_every_change_is_told_to_the_archive_by_the_one_who_made_it(claims: Claims) -> None:
    await claims.hold("BlueLake", "src")
    await claims.renew("BlueLake")
    await claims.release("BlueLake")

    events = claims.rows("SELECT kind, agent_id FROM outbox ORDER BY seq")

    assert events == [("reservation", claims.seeded.blue.id)] * 3
