from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import (
    IdempotencyKeyConflict,
)
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.reservations.answers import find_answer, repeat_answer
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.store.lease_events import sweep_expired
from tests.features.messaging.harness import APP
from tests.features.reservations.claims import Claims, open_claims


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


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


async def test_without_a_key_and_under_a_new_one_nothing_was_answered(claims: Claims) -> None:
    await claims.reserve("BlueLake", "src")

    unkeyed = await claims.reserve("BlueLake", "src")
    new = await claims.reserve("BlueLake", "src", idempotency_key="k")

    assert "idempotent_replay" not in {**unkeyed, **new}


async def test_who_is_told_again_is_promised_again_and_who_only_looks_is_not(claims: Claims) -> None:
    await claims.reserve("BlueLake", "src", idempotency_key="k")
    request = ReserveRequest(
        project_key=APP,
        agent_name="BlueLake",
        paths=("src",),
        ttl_seconds=3_600,
        exclusive=True,
        reason="",
        idempotency_key="k",
    )
    holder = Actor(agent=claims.seeded.blue, project=claims.seeded.app)

    found = await claims.seeded.store.read(lambda view: find_answer(view, holder, request))
    looked = claims.rows("SELECT promises FROM leases")
    told = await claims.seeded.store.write(lambda tx: repeat_answer(tx, holder, request))

    assert found is not None
    assert told is not None
    assert [lease.id for lease in found.live] == [lease.id for lease in told.live] == [1]
    assert (looked, claims.rows("SELECT promises FROM leases")) == ([(1,)], [(2,)])
