"""Waiting for reservations: first come, first granted; all or nothing; and no trace of whoever leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import Conflict, Unavailable
from mcp_agent_mail.domain.reservations import WaitingCall
from mcp_agent_mail.features.reservations import wait_queue
from mcp_agent_mail.features.reservations.wait_queue import CallerLeft, Waiter
from mcp_agent_mail.store.lease_events import sweep_expired
from tests.features.reservations.claims import Claims, open_claims

WAIT = 20
"""Longer than any test takes: who waits so long fails."""


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


async def start(claims: Claims, agent: str, *paths: str, **arguments: Any) -> asyncio.Task[Any]:
    """A waiting call, returned once it stands in the line."""
    before = claims.waiting()
    task = asyncio.create_task(claims.reserve(agent, *paths, **{"wait_seconds": WAIT, **arguments}))
    while claims.waiting() == before and not task.done():
        await settle(claims)
    # It has tried, and watches what stands in its way.
    for _ in range(3):
        await settle(claims)
    return task


async def settle(claims: Claims) -> None:
    """Until whatever the writer was given before is done."""
    await claims.seeded.store.write(lambda tx: tx.now)


async def test_a_release_wakes_who_waits(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/**")
    waiter = await start(claims, "RedStone", "src/app.py")

    await claims.release("BlueLake")

    answer = await waiter
    assert [one["path_pattern"] for one in answer["granted"]] == ["src/app.py"]


async def test_nothing_in_the_way_is_granted_at_once(claims: Claims) -> None:
    answer = await claims.reserve("RedStone", "src/app.py", wait_seconds=WAIT)

    assert len(answer["granted"]) == 1


async def test_whoever_waits_gets_all_or_nothing(claims: Claims) -> None:
    await claims.hold("BlueLake", "a", "b")
    waiter = await start(claims, "RedStone", "a", "b", "c")
    await claims.release("BlueLake", paths=["a"])
    half = claims.rows("SELECT count(*) FROM leases WHERE agent_id = ?", claims.seeded.red.id)

    await claims.release("BlueLake", paths=["b"])

    assert half == [(0,)]
    assert len((await waiter)["granted"]) == 3


async def test_first_come_is_first_granted(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    first = await start(claims, "RedStone", "a")
    second = await start(claims, "GreenField", "*")
    await claims.release("BlueLake")
    granted = await first
    assert not second.done()

    await claims.release("RedStone")

    numbers = [answer["granted"][0]["fencing"] for answer in (granted, await second)]
    assert numbers == [2, 3]


async def test_who_comes_later_never_overtakes_whether_it_waits_or_not(claims: Claims) -> None:
    await claims.hold("BlueLake", "b")
    waiter = await start(claims, "RedStone", "a", "b")

    at_once = await claims.reserve("GreenField", "a", "c")
    look = await claims.check("GreenField", "a")
    behind = await start(claims, "GreenField", "a")
    await claims.release("BlueLake")

    assert [one["path_pattern"] for one in at_once["granted"]] == ["c"]
    (conflict,) = at_once["conflicts"]
    assert (conflict["path"], conflict["holders"][0]["agent"]) == ("a", "RedStone")
    assert (conflict["holders"][0]["waiting"], conflict["holders"][0]["reservation_id"]) == (True, None)
    assert look["free"] == []
    assert len((await waiter)["granted"]) == 2
    await claims.release("RedStone")
    assert len((await behind)["granted"]) == 1


async def test_what_does_not_overlap_passes_by(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    waiter = await start(claims, "RedStone", "a")

    beside = await claims.reserve("GreenField", "b", wait_seconds=WAIT)

    assert len(beside["granted"]) == 1
    await claims.release("BlueLake")
    await waiter


async def test_the_holder_prolongs_what_others_wait_for(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    waiter = await start(claims, "RedStone", "a")

    again = await claims.reserve("BlueLake", "a")

    assert (again["granted"][0]["id"], again["conflicts"]) == (1, [])
    await claims.release("BlueLake")
    await waiter


async def test_when_the_time_is_up_nothing_is_granted_and_the_holders_are_named(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")

    answer = await claims.reserve("RedStone", "a", "b", wait_seconds=1)

    assert answer["granted"] == []
    assert [(one["path"], one["holders"][0]["agent"]) for one in answer["conflicts"]] == [("a", "BlueLake")]
    assert claims.waiting() == 0


async def test_an_expiry_wakes_who_waits_when_the_next_commit_shows_it(claims: Claims) -> None:
    await claims.hold("BlueLake", "a", ttl_seconds=60)
    waiter = await start(claims, "RedStone", "a")
    claims.seeded.clock.step(60)

    await claims.seeded.store.write(lambda tx: sweep_expired(tx, 10))

    assert len((await waiter)["granted"]) == 1


async def test_an_expiry_wakes_who_waits_at_that_instant_without_anybodys_doing(claims: Claims) -> None:
    await claims.hold("BlueLake", "a", ttl_seconds=60)
    claims.seeded.clock.step(59.9)
    waiter = await start(claims, "RedStone", "a")
    claims.seeded.clock.step(0.2)

    answer = await waiter

    assert len(answer["granted"]) == 1


async def test_a_change_to_shared_makes_room_for_who_waits_to_share(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    waiter = await start(claims, "RedStone", "a", exclusive=False)

    await claims.hold("BlueLake", "a", exclusive=False)

    assert len((await waiter)["granted"]) == 1


async def test_a_retirement_wakes_who_waits(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    waiter = await start(claims, "RedStone", "a")

    await claims.retire(claims.seeded.blue)

    assert len((await waiter)["granted"]) == 1


async def test_an_agent_that_retires_while_it_waits_is_refused(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    waiter = await start(claims, "RedStone", "a")
    await claims.retire(claims.seeded.red)

    await claims.release("BlueLake")

    with pytest.raises(Conflict):
        await waiter
    assert claims.waiting() == 0


async def test_a_caller_that_leaves_is_forgotten_and_the_next_one_moves_up(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    leaves = await start(claims, "RedStone", "a")
    stays = await start(claims, "GreenField", "a")

    leaves.cancel()
    await claims.release("BlueLake")

    assert len((await stays)["granted"]) == 1
    assert leaves.cancelled()
    assert claims.rows("SELECT count(*) FROM leases WHERE agent_id = ?", claims.seeded.red.id) == [(0,)]


async def test_a_stop_wakes_everyone(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    waiters = [await start(claims, "RedStone", "a"), await start(claims, "GreenField", "a")]

    claims.service.wake()

    for waiter in waiters:
        with pytest.raises(Unavailable):
            await waiter
    with pytest.raises(Unavailable):
        await claims.reserve("RedStone", "a", wait_seconds=1)


async def test_a_full_line_takes_no_more(claims: Claims, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_queue, "MAX_WAITING", 1)
    await claims.hold("BlueLake", "a")
    waiter = await start(claims, "RedStone", "a")

    with pytest.raises(Unavailable):
        await claims.reserve("GreenField", "a", wait_seconds=1)
    at_once = await claims.reserve("GreenField", "b")

    assert len(at_once["granted"]) == 1
    await claims.release("BlueLake")
    await waiter


async def test_a_keyed_wait_is_answered_once(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    waiter = await start(claims, "RedStone", "a", idempotency_key="k")
    await claims.release("BlueLake")
    first = await waiter

    again = await claims.reserve("RedStone", "a", wait_seconds=WAIT, idempotency_key="k")

    (grant,) = first["granted"]
    assert again == {**first, "granted": [{**grant, "live": True}], "idempotent_replay": True}


async def test_twenty_who_wait_are_served_in_their_order(claims: Claims) -> None:
    await claims.add_agents(20)
    await claims.hold("BlueLake", "src/**")
    waiters = [await start(claims, f"Agent{number}", f"src/{'*' * (number % 2)}a.py") for number in range(20)]
    order: list[int] = []

    await claims.release("BlueLake")
    for number, waiter in enumerate(waiters):
        answer = await waiter
        order.append(answer["granted"][0]["fencing"])
        await claims.release(f"Agent{number}")

    assert order == sorted(order)


async def test_who_is_retired_loses_its_place_at_once(claims: Claims) -> None:
    await claims.hold("BlueLake", "held")
    waiter = await start(claims, "RedStone", "held", "free")
    behind = await start(claims, "GreenField", "free")

    await claims.retire(claims.seeded.red)

    async with asyncio.timeout(WAIT / 2):
        with pytest.raises(Conflict, match="RedStone is retired"):
            await waiter
        assert len((await behind)["granted"]) == 1


async def test_who_waits_in_a_project_that_is_archived_is_told_at_once_in_the_line_or_at_its_head(
    claims: Claims,
) -> None:
    await claims.hold("BlueLake", "held")
    waiters = [await start(claims, name, "held") for name in ("RedStone", "GreenField")]

    await claims.seeded.store.write(lambda tx: tx.projects.set_archived(claims.seeded.app.id, tx.now))

    async with asyncio.timeout(WAIT / 2):
        for waiter in waiters:
            with pytest.raises(Conflict, match="archived"):
                await waiter
    assert claims.waiting() == 0


async def test_a_clock_that_is_set_forward_wakes_who_waits_for_an_expiry(
    claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wait_queue, "LOOK_AGAIN_S", 0.01, raising=False)
    await claims.hold("BlueLake", "held", ttl_seconds=3_600)
    waiter = await start(claims, "RedStone", "held")

    claims.seeded.clock.step(3_601)

    async with asyncio.timeout(WAIT / 2):
        assert len((await waiter)["granted"]) == 1


@pytest.fixture
async def place(claims: Claims) -> Waiter:
    """RedStone's, that waits for `a`; in no line yet."""
    wanted = await claims.service._reader.read(claims.seeded.app, ["a"], exclusive=True)
    shown = WaitingCall(agent="RedStone", path_pattern="a", exclusive=True, reason="", until_ts=0)
    return Waiter(project_id=claims.seeded.app.id, agent_id=claims.seeded.red.id, shown=shown, wanted=wanted)


async def test_who_was_retired_and_brought_back_while_it_waited_has_lost_its_place(
    claims: Claims, place: Waiter
) -> None:
    queue = wait_queue.WaitQueue(claims.seeded.store, clock=claims.seeded.clock)
    queue.join(place)
    await claims.retire(claims.seeded.red)
    while len(queue):
        await settle(claims)
    await claims.seeded.store.write(lambda tx: tx.agents.set_retired(claims.seeded.red.id, None, tx.now))

    with pytest.raises(wait_queue.TurnLost, match="RedStone was retired") as lost:
        await queue.wait(place, WAIT)

    assert lost.value.data == {"retry_after_s": 1}


async def test_who_gave_its_place_up_does_not_wait_for_it(claims: Claims, place: Waiter) -> None:
    queue = wait_queue.WaitQueue(claims.seeded.store, clock=claims.seeded.clock)
    queue.join(place)
    place.give_up()

    with pytest.raises(CallerLeft):
        await queue.wait(place, WAIT)
    queue.leave(place)

    assert len(queue) == 0
