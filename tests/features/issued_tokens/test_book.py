"""The book: what is in force is found at once, what has ended is not, and uses are written in batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.ids import IssuedTokenId, token_hash
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.issued_tokens import IssuedToken, NewIssuedToken
from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.writer import Unit
from tests.seeded_store import SeededStore, open_seeded_store

TEXT = "amk_the-token"


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def book(seeded: SeededStore) -> IssuedTokenBook:
    return IssuedTokenBook(seeded.store, clock=seeded.clock, interval_s=600)


async def stored(seeded: SeededStore, text: str = TEXT, *, expires_in_s: int | None = None) -> IssuedToken:
    """A token that the store has, as a process before this one left it."""
    expires_ts = None if expires_in_s is None else Micros(seeded.clock.now + expires_in_s * SECOND)
    new = NewIssuedToken(token_hash=token_hash(text), role=Role.READER, agent_id=None, note="", expires_ts=expires_ts)
    return await seeded.store.write(lambda tx: tx.issued_tokens.add(new, tx.now))


async def last_use(seeded: SeededStore, token: IssuedToken) -> Micros | None:
    found = await seeded.store.read(lambda view: view.issued_tokens.find(token.id))
    assert found is not None
    return found.last_used_ts


async def test_what_the_store_has_is_found_by_its_text_alone(seeded: SeededStore, book: IssuedTokenBook) -> None:
    token = await stored(seeded)

    assert book.find(TEXT) == token
    assert [book.find(text) for text in ("amk_another", "the-token", f"{TEXT} ", "", "amk_\udcff")] == [None] * 5


async def test_once_read_the_store_is_not_asked_again(seeded: SeededStore, book: IssuedTokenBook) -> None:
    book.load()
    await stored(seeded)

    assert book.find(TEXT) is None


async def test_at_the_very_instant_of_its_end_nobody_finds_it(seeded: SeededStore, book: IssuedTokenBook) -> None:
    token = await stored(seeded, expires_in_s=60)
    book.load()

    seeded.clock.now = Micros(seeded.clock.now + 60 * SECOND - 1)
    before = (book.find(TEXT), book.is_live(token.id))
    seeded.clock.now = Micros(seeded.clock.now + 1)

    assert before == (token, True)
    assert (book.find(TEXT), book.is_live(token.id)) == (None, False)


async def test_those_that_let_their_holder_look_alone_are_counted_while_they_are_in_force(
    seeded: SeededStore, book: IssuedTokenBook
) -> None:
    await stored(seeded, "amk_one")
    await stored(seeded, "amk_two", expires_in_s=60)
    writers = NewIssuedToken(
        token_hash=token_hash("amk_three"), role=Role.WRITER, agent_id=None, note="", expires_ts=None
    )
    await seeded.store.write(lambda tx: tx.issued_tokens.add(writers, tx.now))

    before = book.count_readers()
    seeded.clock.step(60)

    assert (before, book.count_readers()) == (2, 1)


async def test_what_is_revoked_is_not_found_nor_in_force(seeded: SeededStore, book: IssuedTokenBook) -> None:
    token, other = await stored(seeded), await stored(seeded, "amk_other")

    book.end(token.id)
    book.end(token.id)

    assert (book.find(TEXT), book.is_live(token.id)) == (None, False)
    assert (book.find("amk_other"), book.is_live(other.id)) == (other, True)
    assert not book.is_live(IssuedTokenId(99))


async def test_with_a_token_that_is_added_those_that_have_expired_are_forgotten(
    seeded: SeededStore, book: IssuedTokenBook
) -> None:
    expiring, lasting = await stored(seeded, expires_in_s=60), await stored(seeded, "amk_lasting")
    book.load()
    seeded.clock.step(60)

    book.add(token_hash("amk_new"), replace(lasting, id=IssuedTokenId(3)))
    seeded.clock.step(-60)

    assert not book.is_live(expiring.id)
    assert (book.is_live(lasting.id), book.is_live(IssuedTokenId(3))) == (True, True)


async def test_a_use_is_shown_at_once_and_written_later(seeded: SeededStore, book: IssuedTokenBook) -> None:
    token = await stored(seeded)
    seeded.clock.step(5)

    book.note_use(token.id)
    (shown,) = book.with_use([token])
    between = await last_use(seeded, token)
    await book.flush()

    assert (shown.last_used_ts, between) == (seeded.clock.now, None)
    assert await last_use(seeded, token) == seeded.clock.now
    assert book.with_use([token]) == [token]
    await book.close()


async def test_uses_are_written_at_each_interval_by_the_book_itself(seeded: SeededStore) -> None:
    token = await stored(seeded)
    written = asyncio.Event()
    book = IssuedTokenBook(seeded.store, clock=seeded.clock, interval_s=0)
    book.load()
    seeded.store.on_commit(written.set)

    for _ in range(2):
        seeded.clock.step(1)
        written.clear()
        book.note_use(token.id)
        await written.wait()

        assert await last_use(seeded, token) == seeded.clock.now
    await book.close()


async def test_closing_writes_what_is_noted_and_of_what_has_ended_nothing_is(
    seeded: SeededStore, book: IssuedTokenBook
) -> None:
    token, ended = await stored(seeded), await stored(seeded, "amk_ended")
    book.end(ended.id)
    seeded.clock.step(5)

    for one in (token, ended):
        book.note_use(one.id)
    await book.close()
    await book.close()

    assert (await last_use(seeded, token), await last_use(seeded, ended)) == (seeded.clock.now, None)


class RefusingOnce:
    """A store whose first write is refused, as by a full disk."""

    def __init__(self, store: Store) -> None:
        self.read_now = store.read_now
        self._store = store
        self.refusals = 1

    async def write(self, unit: Unit[None]) -> None:
        if self.refusals:
            self.refusals -= 1
            raise Unavailable("full")
        await self._store.write(unit)


async def test_what_cannot_be_written_is_kept_for_the_next_time(seeded: SeededStore) -> None:
    token = await stored(seeded)
    refusing = RefusingOnce(seeded.store)
    book = IssuedTokenBook(refusing, clock=seeded.clock, interval_s=600)  # type: ignore[arg-type]  # what it asks alone
    book.note_use(token.id)

    with pytest.raises(Unavailable):
        await book.flush()
    between = await last_use(seeded, token)
    await book.close()

    assert (between, await last_use(seeded, token)) == (None, seeded.clock.now)
