"""A call that nobody heard leaves nothing: no lease, no answer under its key. What somebody else was told stays."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.store.transaction import Tx
from tests.features.reservations.claims import Claims, open_claims
from tests.features.reservations.hearings import Deaf
from tests.features.reservations.test_wait_queue import WAIT, settle, start


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


async def cancel_in_its_unit(claims: Claims, *calls: Coroutine[Any, Any, Any]) -> list[Any]:
    """The first call is cancelled after its unit of work has run and before it can hear of it, with the units of the
    other calls behind it in the same group. What those answer.
    """
    holds_up, may_go_on = threading.Event(), threading.Event()

    def hold_up(_tx: Tx) -> None:
        holds_up.set()
        may_go_on.wait()

    loop = asyncio.get_running_loop()
    writer = claims.seeded.store._writer
    holding_up = asyncio.create_task(claims.seeded.store.write(hold_up))
    await asyncio.to_thread(holds_up.wait)
    tasks: list[asyncio.Task[Any]] = []
    for call in calls:
        tasks.append(asyncio.create_task(call))
        while writer.pending() < len(tasks):
            await asyncio.to_thread(threading.get_ident)
    first, *others = tasks
    leaving = asyncio.create_task(claims.seeded.store.write(lambda _tx: loop.call_soon_threadsafe(first.cancel)))
    while writer.pending() < len(tasks) + 1:
        await asyncio.to_thread(threading.get_ident)
    may_go_on.set()
    await asyncio.wait([holding_up, leaving, *tasks])
    assert first.cancelled()
    await settle(claims)
    return [task.result() for task in others]


def leases(claims: Claims) -> list[Any]:
    return claims.rows("SELECT path_pattern, exclusive, expires_ts, released_ts IS NULL FROM leases ORDER BY id")


@pytest.mark.parametrize("wait_s", [0, WAIT])
async def test_a_caller_that_leaves_while_its_unit_runs_holds_nothing(claims: Claims, wait_s: int) -> None:
    await cancel_in_its_unit(claims, claims.reserve("RedStone", "a", wait_seconds=wait_s))

    assert claims.rows("SELECT released_ts, ended_by FROM leases") == [(claims.seeded.clock.now, "release")]


@pytest.mark.parametrize("wait_s", [0, WAIT])
async def test_the_repeat_of_a_call_that_was_given_up_is_a_first_call(claims: Claims, wait_s: int) -> None:
    call = {"wait_seconds": wait_s, "idempotency_key": "k"}
    await cancel_in_its_unit(claims, claims.reserve("RedStone", "a", **call))
    await claims.hold("GreenField", "a")

    again = await claims.reserve("RedStone", "a", **call) if wait_s == 0 else await waits_again(claims, call)

    assert "idempotent_replay" not in again
    assert len(again["granted"]) + len(again["conflicts"]) == 1


async def waits_again(claims: Claims, call: dict[str, Any]) -> Any:
    waiter = await start(claims, "RedStone", "a", **call)
    assert not waiter.done()
    await claims.release("GreenField")
    return await waiter


async def test_what_a_repeat_was_told_meanwhile_stays(claims: Claims) -> None:
    call = {"wait_seconds": WAIT, "idempotency_key": "k"}

    (told,) = await cancel_in_its_unit(
        claims, claims.reserve("RedStone", "a", **call), claims.reserve("RedStone", "a", wait_seconds=0)
    )
    again = await claims.reserve("RedStone", "a", **call)

    assert (told["granted"][0]["id"], again["granted"][0]["id"], again["granted"][0]["live"]) == (1, 1, True)
    assert leases(claims)[0][3] == 1


async def test_a_repeat_that_is_given_up_too_leaves_what_the_first_was_told(claims: Claims) -> None:
    first = await claims.hold("RedStone", "a", idempotency_key="k")

    await cancel_in_its_unit(claims, claims.reserve("RedStone", "a", idempotency_key="k"))
    again = await claims.reserve("RedStone", "a", idempotency_key="k")

    assert again["granted"] == [{**first, "live": True}]


async def test_two_calls_that_nobody_heard_leave_nothing(claims: Claims) -> None:
    deaf = Deaf()
    with deaf.listening():
        await claims.reserve("RedStone", "a", idempotency_key="k")
        await claims.reserve("RedStone", "a", idempotency_key="k")

    deaf.leave()
    await settle(claims)

    assert leases(claims)[0][3] == 0
    assert claims.rows("SELECT count(*) FROM idempotency_keys") == [(0,)]


async def test_a_lease_that_was_only_prolonged_is_as_it_was(claims: Claims) -> None:
    await claims.hold("RedStone", "a", ttl_seconds=60)
    before = leases(claims)

    await cancel_in_its_unit(claims, claims.reserve("RedStone", "a", "b", wait_seconds=WAIT))

    assert leases(claims)[0] == before[0]
    assert leases(claims)[1][3] == 0


async def test_a_lease_that_was_made_exclusive_is_shared_again(claims: Claims) -> None:
    await claims.hold("RedStone", "a", exclusive=False)
    before = leases(claims)

    await cancel_in_its_unit(claims, claims.reserve("RedStone", "a", wait_seconds=WAIT))

    assert leases(claims) == before
    assert (await claims.reserve("GreenField", "a", exclusive=False))["conflicts"] == []


async def test_a_lease_that_was_made_shared_is_exclusive_again_unless_others_share_it(claims: Claims) -> None:
    deaf = Deaf()
    await claims.hold("RedStone", "a")
    await claims.hold("RedStone", "b")
    with deaf.listening():
        await claims.reserve("RedStone", "a", exclusive=False)
    deaf.leave()
    await settle(claims)
    with deaf.listening():
        await claims.reserve("RedStone", "b", exclusive=False)
    await claims.hold("GreenField", "b", exclusive=False)

    deaf.leave()
    await settle(claims)

    assert [(path, exclusive) for path, exclusive, _, _ in leases(claims)] == [("a", 1), ("b", 0), ("b", 0)]


async def test_whoever_waits_for_a_lease_that_is_as_short_again_does_not_sleep_past_its_end(claims: Claims) -> None:
    await claims.hold("RedStone", "a", ttl_seconds=60)
    deaf = Deaf()
    with deaf.listening():
        await claims.reserve("RedStone", "a", ttl_seconds=3_600)
    waiter = await start(claims, "GreenField", "a")
    deaf.leave()
    await settle(claims)

    claims.seeded.clock.step(60)
    await settle(claims)

    assert len((await waiter)["granted"]) == 1


async def test_the_answer_to_a_wait_in_vain_that_nobody_heard_is_forgotten(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    deaf = Deaf()
    with deaf.listening():
        await claims.reserve("RedStone", "a", idempotency_key="k")
    deaf.leave()
    await claims.release("BlueLake")

    again = await claims.reserve("RedStone", "a", idempotency_key="k")

    assert len(again["granted"]) == 1


async def test_a_caller_who_hangs_up_gives_up_its_place(claims: Claims) -> None:
    await claims.hold("BlueLake", "a")
    deaf = Deaf()
    with deaf.listening():
        waiter = await start(claims, "RedStone", "a", "b", idempotency_key="k")

    deaf.leave()
    with pytest.raises(Unavailable):
        await waiter

    assert claims.waiting() == 0
    assert (await claims.reserve("GreenField", "b"))["conflicts"] == []
    assert claims.rows("SELECT count(*) FROM idempotency_keys") == [(0,)]
