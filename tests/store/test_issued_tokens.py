from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import IssuedTokenId
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.issued_tokens import KEPT_AFTER_END, MAX_KEPT, NewIssuedToken
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store

NEW = NewIssuedToken(token_hash=b"one", role=Role.READER, agent_id=None, note="scraper", expires_ts=None)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def numbers(seeded: SeededStore) -> list[int]:
    tokens = await seeded.store.read(lambda view: view.issued_tokens.list_(view.now, MAX_KEPT, with_ended=True))
    return [token.id for token in tokens]


async def test_a_token_is_found_with_the_agent_that_it_proves_and_its_project(seeded: SeededStore) -> None:
    new = replace(NEW, role=Role.WRITER, agent_id=seeded.fox.id, expires_ts=Micros(seeded.clock.now + SECOND))

    added = await seeded.store.write(lambda tx: tx.issued_tokens.add(new, tx.now))

    assert (added.agent_name, added.project_id, added.project) == ("QuietFox", seeded.lib.id, "/code/lib")
    assert (added.role, added.note, added.created_ts) == (Role.WRITER, "scraper", seeded.clock.now)
    assert (added.expires_ts, added.revoked_ts, added.last_used_ts) == (new.expires_ts, None, None)
    assert await seeded.store.read(lambda view: view.issued_tokens.live(view.now)) == [(b"one", added)]


async def test_what_has_ended_is_not_among_those_in_force_and_is_listed_when_asked_for(seeded: SeededStore) -> None:
    soon = Micros(seeded.clock.now + SECOND)

    def add(tx: Tx) -> None:
        tx.issued_tokens.add(NEW, tx.now)
        tx.issued_tokens.add(replace(NEW, token_hash=b"two", expires_ts=soon), tx.now)
        tx.issued_tokens.revoke(tx.issued_tokens.add(replace(NEW, token_hash=b"three"), tx.now).id, tx.now)

    await seeded.store.write(add)
    seeded.clock.step(1)

    live = await seeded.store.read(lambda view: view.issued_tokens.live(view.now))
    shown = await seeded.store.read(lambda view: view.issued_tokens.list_(view.now, 10, with_ended=False))
    newest = await seeded.store.read(lambda view: view.issued_tokens.list_(view.now, 2, with_ended=True))
    assert [hashed for hashed, _ in live] == [b"one"]
    assert [token.id for token in shown] == [1]
    assert [token.id for token in newest] == [3, 2]
    assert await seeded.store.read(lambda view: view.issued_tokens.count_live(view.now)) == 1


async def test_a_token_is_revoked_once_and_used_ever_later(seeded: SeededStore) -> None:
    token = await seeded.store.write(lambda tx: tx.issued_tokens.add(NEW, tx.now))

    def change(tx: Tx) -> None:
        for at in (20, 30):
            tx.issued_tokens.revoke(token.id, Micros(at))
        for at in (50, 40):
            tx.issued_tokens.touch_many([(token.id, Micros(at))])

    await seeded.store.write(change)

    found = await seeded.store.read(lambda view: view.issued_tokens.find(token.id))
    assert found == replace(token, revoked_ts=Micros(20), last_used_ts=Micros(50))


async def test_what_ended_long_ago_is_forgotten_with_the_next_token(seeded: SeededStore) -> None:
    now = seeded.clock.now

    def add(tx: Tx) -> None:
        tx.issued_tokens.add(replace(NEW, token_hash=b"revoked"), now)
        tx.issued_tokens.add(replace(NEW, token_hash=b"later"), now)
        tx.issued_tokens.add(replace(NEW, token_hash=b"expired", expires_ts=now), now)
        tx.issued_tokens.add(replace(NEW, token_hash=b"in force"), now)
        tx.issued_tokens.revoke(IssuedTokenId(1), now)
        tx.issued_tokens.revoke(IssuedTokenId(2), Micros(now + 1))

    await seeded.store.write(add)
    later = Micros(now + KEPT_AFTER_END)
    await seeded.store.write(lambda tx: tx.issued_tokens.add(NEW, later))

    assert await numbers(seeded) == [5, 4, 2]


async def test_so_many_rows_are_kept_and_the_first_that_ended_makes_room(seeded: SeededStore) -> None:
    def fill(tx: Tx) -> None:
        connection = tx.issued_tokens._connection
        rows = ((str(number).encode(), None if number == 1 else tx.now) for number in range(1, MAX_KEPT + 1))
        connection.executemany(
            "INSERT INTO issued_tokens (token_hash, role, note, created_ts, revoked_ts) VALUES (?, 'reader', '', 1, ?)",
            rows,
        )

    await seeded.store.write(fill)

    added = await seeded.store.write(lambda tx: tx.issued_tokens.add(NEW, tx.now))

    kept = await numbers(seeded)
    assert (len(kept), kept[0], kept[-2:]) == (MAX_KEPT, added.id, [3, 1])


async def test_a_hash_is_stored_once_and_an_agents_token_is_never_the_operators(seeded: SeededStore) -> None:
    await seeded.store.write(lambda tx: tx.issued_tokens.add(NEW, tx.now))
    operators = replace(NEW, token_hash=b"two", role=Role.OPERATOR, agent_id=seeded.blue.id)

    with pytest.raises(sqlite3.IntegrityError):
        await seeded.store.write(lambda tx: tx.issued_tokens.add(NEW, tx.now))
    with pytest.raises(sqlite3.IntegrityError):
        await seeded.store.write(lambda tx: tx.issued_tokens.add(operators, tx.now))
