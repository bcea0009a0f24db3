from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import IssuedTokenId, WebSessionId, token_hash
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.web_sessions import OpenedBy, SessionGrant, WebSession
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
        judged_by=token_hash("the judge"),
        subject_hash=token_hash("the subject"),
        expires_ts=Micros(seeded.clock.now + SECOND),
    )

    await add(seeded, b"one", full)

    now = seeded.clock.now
    assert await kept(seeded) == {b"one": WebSession(id=WebSessionId(1), grant=full, created_ts=now, used_ts=now)}


async def test_what_is_hashed_of_a_token_is_kept_alone_too(seeded: SeededStore) -> None:
    by_server = SessionGrant(by=OpenedBy.SERVER, role=Role.WRITER, judged_by=token_hash("the token"))

    await add(seeded, b"one", by_server)
    await add(seeded, b"two")

    assert [one.grant for one in (await kept(seeded)).values()] == [by_server, LINK]


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
