from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import IssuedTokenId, WebSessionId
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.web_sessions import IDLE, LIFETIME, MAX_LIVE, OpenedBy, SessionGrant, WebSession
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store

LINK = SessionGrant(by=OpenedBy.LINK, role=Role.OPERATOR)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def add(seeded: SeededStore, secret_hash: bytes, grant: SessionGrant = LINK) -> None:
    await seeded.store.write(lambda tx: tx.web_sessions.add(secret_hash, grant, tx.now))


async def kept(seeded: SeededStore) -> dict[bytes, WebSession]:
    return dict(await seeded.store.read(lambda view: view.web_sessions.list_()))


async def test_all_that_a_grant_says_is_kept(seeded: SeededStore) -> None:
    full = SessionGrant(
        by=OpenedBy.JWT,
        role=Role.WRITER,
        issued_token=IssuedTokenId(3),
        issued_to=seeded.fox.id,
        claimed_agents=("BlueLake", "caf\u00e9"),
        server_token_hash=b"hash",
        expires_ts=Micros(seeded.clock.now + SECOND),
    )

    await add(seeded, b"one", full)

    now = seeded.clock.now
    assert await kept(seeded) == {b"one": WebSession(id=WebSessionId(1), grant=full, created_ts=now, used_ts=now)}


async def test_use_is_noted_and_never_taken_back(seeded: SeededStore) -> None:
    await add(seeded, b"one")
    later = Micros(seeded.clock.now + 100)

    for at in (later, Micros(later - 50)):
        await seeded.store.write(lambda tx, at=at: tx.web_sessions.touch(WebSessionId(1), at))  # type: ignore[misc]

    assert (await kept(seeded))[b"one"].used_ts == later


async def test_one_that_is_removed_is_gone_and_its_number_is_no_others(seeded: SeededStore) -> None:
    await add(seeded, b"one")

    for _ in range(2):
        await seeded.store.write(lambda tx: tx.web_sessions.remove(WebSessionId(1)))
    await add(seeded, b"two")

    assert [(hashed, one.id) for hashed, one in (await kept(seeded)).items()] == [(b"two", 2)]


@pytest.mark.parametrize("how", ["idle", "old", "its token"])
async def test_those_that_have_ended_go_when_another_comes(seeded: SeededStore, how: str) -> None:
    ends = Micros(seeded.clock.now + IDLE) if how == "its token" else None
    await add(seeded, b"one", replace(LINK, expires_ts=ends))
    seeded.clock.step((LIFETIME if how == "old" else IDLE) / SECOND - 1)
    await seeded.store.write(_touched(how))

    await add(seeded, b"before")
    seeded.clock.step(1)
    await add(seeded, b"at")

    assert list(await kept(seeded)) == [b"before", b"at"]


def _touched(how: str) -> Callable[[Tx], None]:
    def unit(tx: Tx) -> None:
        if how != "idle":
            tx.web_sessions.touch(WebSessionId(1), tx.now)

    return unit


async def test_beyond_the_bound_the_one_that_was_used_least_lately_goes(seeded: SeededStore) -> None:
    def fill(tx: Tx) -> None:
        for number in range(MAX_LIVE):
            tx.web_sessions.add(b"%d" % number, LINK, Micros(tx.now + number))
        tx.web_sessions.touch(WebSessionId(1), Micros(tx.now + MAX_LIVE))

    await seeded.store.write(fill)

    await add(seeded, b"new")

    found = await kept(seeded)
    assert len(found) == MAX_LIVE
    assert {b"0", b"new"} <= set(found)
    assert b"1" not in found
