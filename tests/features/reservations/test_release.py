"""Giving back, prolonging, looking ahead and listing: what is passed over is named, with the reason."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.features.reservations.release import RENEWABLE_S
from mcp_agent_mail.store.lease_events import sweep_expired
from tests.features.reservations.claims import Claims, open_claims


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


async def sweep(claims: Claims) -> int:
    ended = await claims.seeded.store.write(lambda tx: sweep_expired(tx, 100))
    return len(ended)


async def test_nothing_named_releases_everything_of_the_agent_and_nobody_elses(claims: Claims) -> None:
    await claims.hold("BlueLake", "a", "b")
    await claims.hold("RedStone", "c")

    answer = await claims.release("BlueLake")

    assert answer == {
        "released": 2,
        "released_at": iso(claims.seeded.clock.now),
        "file_reservations": [{"id": 1, "path_pattern": "a"}, {"id": 2, "path_pattern": "b"}],
        "not_released": [],
        "verified": False,
    }
    assert [lease["path_pattern"] for lease in await claims.listed()] == ["c"]


@pytest.mark.parametrize(
    "named", [{"paths": []}, {"file_reservation_ids": []}, {"paths": [], "file_reservation_ids": []}]
)
async def test_an_empty_list_names_nothing_so_all_are_meant_and_the_answer_says_so(
    claims: Claims, named: dict[str, list[str]]
) -> None:
    await claims.hold("BlueLake", "a", "b")

    renewed = await claims.renew("BlueLake", **named)
    released = await claims.release("BlueLake", **named)

    assert (renewed["renewed"], released["released"]) == (2, 2)
    assert renewed["hint"] == released["hint"] == "An empty list names none, so all of yours were meant."


async def test_an_empty_list_beside_ids_takes_nothing_more(claims: Claims) -> None:
    await claims.hold("BlueLake", "a", "b")

    answer = await claims.release("BlueLake", paths=[], file_reservation_ids=[2])

    assert [one["id"] for one in answer["file_reservations"]] == [2]
    assert "hint" not in answer


async def test_paths_are_meant_as_they_were_reserved(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/**", "src/app.py")

    answer = await claims.release("BlueLake", paths=["./src//app.py", "lib/*.py"])

    assert [one["path_pattern"] for one in answer["file_reservations"]] == ["src/app.py"]
    assert answer["not_released"] == [
        {"path": "lib/*.py", "reason": "you hold no live reservation of exactly this pattern, but of src/**"}
    ]


async def test_a_release_of_nothing_says_why_of_each(claims: Claims) -> None:
    await claims.hold("RedStone", "theirs")
    await claims.hold("BlueLake", "short", ttl_seconds=60)
    await claims.hold("BlueLake", "gone")
    await claims.release("BlueLake", file_reservation_ids=[3])
    claims.seeded.clock.step(61)

    answer = await claims.release("BlueLake", file_reservation_ids=[1, 2, 3, 4711])

    assert (answer["released"], answer["released_at"]) == (0, None)
    expired = iso(claims.seeded.clock.now - 1_000_000)  # type: ignore[arg-type]
    ended = iso(claims.seeded.clock.now - 61_000_000)  # type: ignore[arg-type]
    assert {one["id"]: one["reason"] for one in answer["not_released"]} == {
        1: "it is held by RedStone",
        2: f"it expired at {expired}",
        3: f"it ended at {ended}, by release",
        4711: "no reservation of this project has this id",
    }


async def test_both_given_both_must_fit(claims: Claims) -> None:
    await claims.hold("BlueLake", "a", "b")

    answer = await claims.release("BlueLake", paths=["a"], file_reservation_ids=[1, 2])

    assert [one["id"] for one in answer["file_reservations"]] == [1]
    assert [(one["id"], one["reason"]) for one in answer["not_released"]] == [
        (2, "it is of b, which is none of the paths named")
    ]


async def test_releasing_twice_changes_nothing_the_second_time(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    await claims.release("BlueLake")

    again = await claims.release("BlueLake")

    assert (again["released"], again["not_released"]) == (0, [])


async def test_an_unreadable_path_refuses_a_release(claims: Claims) -> None:
    with pytest.raises(InvalidInput):
        await claims.release("BlueLake", paths=["../x"])


async def test_a_renewal_counts_from_the_old_expiry_while_that_is_to_come(claims: Claims) -> None:
    held = await claims.hold("BlueLake", "a", ttl_seconds=600)

    answer = await claims.renew("BlueLake", extend_seconds=60)

    assert answer["renewed"] == 1
    assert answer["file_reservations"] == [
        {
            "id": 1,
            "path_pattern": "a",
            "old_expires_ts": held["expires_ts"],
            "new_expires_ts": iso(claims.seeded.clock.now + 660_000_000),  # type: ignore[arg-type]
            "fencing": 1,
        }
    ]


@pytest.mark.parametrize("is_swept", [False, True])
async def test_what_has_expired_comes_back_from_now_with_a_new_number(claims: Claims, is_swept: bool) -> None:
    await claims.hold("BlueLake", "a", ttl_seconds=60)
    claims.seeded.clock.step(100)
    if is_swept:
        assert await sweep(claims) == 1

    answer = await claims.renew("BlueLake", extend_seconds=60)

    (renewed,) = answer["file_reservations"]
    assert (renewed["id"], renewed["fencing"]) == (1, 2)
    assert renewed["new_expires_ts"] == iso(claims.seeded.clock.now + 60_000_000)  # type: ignore[arg-type]
    refused = await claims.reserve("RedStone", "a")
    assert refused["granted"] == []


@pytest.mark.parametrize("is_swept", [False, True])
async def test_what_has_expired_never_comes_back_past_another_holder(claims: Claims, is_swept: bool) -> None:
    await claims.hold("BlueLake", "src/**", ttl_seconds=60)
    claims.seeded.clock.step(60)
    if is_swept:
        assert await sweep(claims) == 1
    await claims.hold("RedStone", "src/app.py")

    answer = await claims.renew("BlueLake")

    expired = iso(claims.seeded.clock.now)
    assert answer["renewed"] == 0
    assert [(one["id"], one["reason"]) for one in answer["not_renewed"]] == [
        (1, f"it expired at {expired}, and RedStone holds src/app.py (reservation 2) now")
    ]


async def test_long_after_its_expiry_a_lease_is_gone(claims: Claims) -> None:
    await claims.hold("BlueLake", "a", ttl_seconds=60)
    claims.seeded.clock.step(60 + RENEWABLE_S)

    answer = await claims.renew("BlueLake", file_reservation_ids=[1])

    assert (answer["renewed"], len(answer["not_renewed"])) == (0, 1)


async def test_what_was_released_is_not_renewed(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    await claims.release("BlueLake")

    answer = await claims.renew("BlueLake", paths=["a"])

    assert (answer["renewed"], answer["not_renewed"][0]["path"]) == (0, "a")


async def test_a_reservation_of_a_build_slot_is_none_of_these_tools_business(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    await claims.seeded.store.write(lambda tx: tx.leases._connection.execute("UPDATE leases SET kind = 'slot'"))

    answer = await claims.release("BlueLake", file_reservation_ids=[1])

    assert answer["not_released"] == [{"id": 1, "reason": "no reservation of this project has this id"}]
    assert await claims.listed() == []
    assert (await claims.release("BlueLake"))["released"] == 0
