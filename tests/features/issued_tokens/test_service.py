from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import AgentMailError, Conflict, NotFound, PermissionDenied
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind, ReservedIdentity
from mcp_agent_mail.domain.identity.issued_tokens import (
    MAX_LIVE,
    NewIssuedToken,
    TooManyIssuedTokens,
    UnfitAgent,
    UnfitLifetime,
    UnfitRole,
    UnknownIssuedToken,
)
from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
from mcp_agent_mail.features.issued_tokens.service import IssuedTokenService, TokenWish
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, SetClock, open_seeded_store

APP = "/code/app"
OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
SCRAPER = TokenWish(expires="90d", note="scraper")
BLUES = TokenWish(expires="never", agent="BlueLake", project=APP)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def book(seeded: SeededStore) -> IssuedTokenBook:
    return IssuedTokenBook(seeded.store, clock=seeded.clock, interval_s=600)


@pytest.fixture
def service(seeded: SeededStore, book: IssuedTokenBook) -> IssuedTokenService:
    return IssuedTokenService(seeded.store, book, clock=seeded.clock)


async def rows(seeded: SeededStore) -> list[tuple[object, ...]]:
    query = "SELECT * FROM issued_tokens ORDER BY id LIMIT 2000"
    return await seeded.store.read(lambda view: view.agents._connection.execute(query).fetchall())


async def test_a_token_is_told_once_stored_as_its_hash_and_found_at_once(
    seeded: SeededStore, service: IssuedTokenService, book: IssuedTokenBook
) -> None:
    issued = await service.create(OPERATOR, SCRAPER)

    ((number, hashed, *_),) = await rows(seeded)
    assert issued.text.startswith("amk_")
    assert (number, hashed) == (issued.token.id, token_hash(issued.text))
    assert book.find(issued.text) == issued.token
    assert (issued.token.role, issued.token.note, issued.token.agent_id) == (Role.READER, "scraper", None)
    assert issued.token.expires_ts == seeded.clock.now + 90 * 86_400 * SECOND


async def test_with_an_agent_it_is_that_agents_and_a_writers(
    seeded: SeededStore, service: IssuedTokenService, book: IssuedTokenBook
) -> None:
    issued = await service.create(OPERATOR, BLUES)

    found = book.find(issued.text)
    assert found is not None
    assert (found.agent_id, found.agent_name, found.project_id) == (seeded.blue.id, "BlueLake", seeded.app.id)
    assert (found.role, found.expires_ts) == (Role.WRITER, None)


@pytest.mark.parametrize(
    ("wish", "refusal"),
    [
        (TokenWish(expires="soon"), UnfitLifetime),
        (TokenWish(expires="1d", role="admin"), UnfitRole),
        (TokenWish(expires="1d", role="operator", agent="BlueLake", project=APP), UnfitRole),
        (TokenWish(expires="1d", agent="BlueLake"), UnfitAgent),
        (TokenWish(expires="1d", project=APP), UnfitAgent),
        (TokenWish(expires="1d", agent="NoBody", project=APP), NotFound),
        (TokenWish(expires="1d", agent="BlueLake", project="/nowhere"), NotFound),
    ],
)
async def test_what_cannot_be_issued_is_refused_and_nothing_is_stored(
    wish: TokenWish, refusal: type[AgentMailError], seeded: SeededStore, service: IssuedTokenService
) -> None:
    with pytest.raises(refusal):
        await service.create(OPERATOR, wish)

    assert await rows(seeded) == []


async def test_an_archived_project_gets_none_nor_does_the_overseer(
    seeded: SeededStore, service: IssuedTokenService
) -> None:
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.lib.id, tx.now))

    with pytest.raises(Conflict):
        await service.create(OPERATOR, TokenWish(expires="1d", agent="QuietFox", project="/code/lib"))
    with pytest.raises((ReservedIdentity, NotFound)):
        await service.create(OPERATOR, TokenWish(expires="1d", agent="Human", project=APP))


async def test_nobody_but_the_operator_issues_lists_or_revokes(service: IssuedTokenService) -> None:
    issued = await service.create(OPERATOR, SCRAPER)

    with pytest.raises(PermissionDenied):
        await service.create(ANYBODY, SCRAPER)
    with pytest.raises(PermissionDenied):
        await service.list_(ANYBODY, 10)
    with pytest.raises(PermissionDenied):
        await service.revoke(ANYBODY, issued.token.id)


async def test_so_many_are_in_force_and_the_next_is_refused_until_one_ends(
    seeded: SeededStore, service: IssuedTokenService, book: IssuedTokenBook
) -> None:
    def fill(tx: Tx) -> None:
        for number in range(MAX_LIVE - 1):
            hashed, expires_ts = token_hash(str(number)), Micros(tx.now + SECOND) if number == 0 else None
            new = NewIssuedToken(token_hash=hashed, role=Role.READER, agent_id=None, note="", expires_ts=expires_ts)
            tx.issued_tokens.add(new, tx.now)

    await seeded.store.write(fill)
    last = await service.create(OPERATOR, SCRAPER)
    before = await rows(seeded)

    with pytest.raises(TooManyIssuedTokens):
        await service.create(OPERATOR, SCRAPER)
    after = await rows(seeded)
    await service.revoke(OPERATOR, last.token.id)
    again = await service.create(OPERATOR, SCRAPER)
    with pytest.raises(TooManyIssuedTokens):
        await service.create(OPERATOR, SCRAPER)
    seeded.clock.step(1)
    once_more = await service.create(OPERATOR, SCRAPER)

    assert (len(before), after) == (MAX_LIVE, before)
    assert (book.find(again.text), book.find(once_more.text)) == (again.token, once_more.token)


async def test_a_revoked_token_is_found_no_more_and_a_repeat_tells_the_same(
    seeded: SeededStore, service: IssuedTokenService, book: IssuedTokenBook
) -> None:
    issued, other = await service.create(OPERATOR, BLUES), await service.create(OPERATOR, BLUES)

    revoked = await service.revoke(OPERATOR, issued.token.id)
    seeded.clock.step(5)
    again = await service.revoke(OPERATOR, issued.token.id)

    assert revoked.revoked_ts == seeded.clock.now - 5 * SECOND
    assert again == revoked
    assert (book.find(issued.text), book.find(other.text)) == (None, other.token)


async def test_a_number_that_no_token_has_is_refused(service: IssuedTokenService) -> None:
    issued = await service.create(OPERATOR, SCRAPER)

    with pytest.raises(UnknownIssuedToken):
        await service.revoke(OPERATOR, issued.token.id + 1)


async def test_the_list_has_those_in_force_newest_first_and_their_last_use(
    seeded: SeededStore, service: IssuedTokenService, book: IssuedTokenBook
) -> None:
    first, second, third = [await service.create(OPERATOR, SCRAPER) for _ in range(3)]
    await service.revoke(OPERATOR, second.token.id)
    seeded.clock.step(5)
    book.note_use(first.token.id)

    listing = await service.list_(OPERATOR, 10)
    everything = await service.list_(OPERATOR, 10, with_ended=True)

    assert [(token.id, token.last_used_ts) for token in listing.tokens] == [
        (third.token.id, None),
        (first.token.id, seeded.clock.now),
    ]
    assert [token.id for token in everything.tokens] == [third.token.id, second.token.id, first.token.id]
    assert [token.id for token in (await service.list_(OPERATOR, 1)).tokens] == [third.token.id]
    await book.close()


async def test_a_restart_keeps_revocations_and_last_uses(
    seeded: SeededStore, service: IssuedTokenService, book: IssuedTokenBook
) -> None:
    kept, revoked = await service.create(OPERATOR, SCRAPER), await service.create(OPERATOR, SCRAPER)
    book.note_use(kept.token.id)
    await service.revoke(OPERATOR, revoked.token.id)
    await book.close()

    later = IssuedTokenBook(seeded.store, clock=seeded.clock)

    found = later.find(kept.text)
    assert found is not None
    assert (found.last_used_ts, later.find(revoked.text)) == (seeded.clock.now, None)


class HeldUnit:
    """The next unit after `arm` has run, and its transaction waits until `let_go`."""

    def __init__(self) -> None:
        self._is_armed = False
        self._has_run, self._may_go_on = threading.Event(), threading.Event()

    def __call__(self, point: FailPoint) -> None:
        if self._is_armed and point is FailPoint.IN_UNIT:
            self._is_armed = False
            self._has_run.set()
            assert self._may_go_on.wait(60)

    async def leave(self, call: Coroutine[Any, Any, object]) -> None:
        """Make the call, and stop waiting for it once its unit has run."""
        self._is_armed = True
        calling = asyncio.create_task(call)
        await asyncio.to_thread(self._has_run.wait)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        self._may_go_on.set()


async def settle(store: Store) -> None:
    """What a call that was left owes is queued behind it, and stored by then."""
    for _ in range(3):
        await store.write(lambda _: None)


async def test_a_revocation_that_nobody_waits_for_any_more_counts_all_the_same(tmp_path: Path) -> None:
    held, clock = HeldUnit(), SetClock()
    async with Store(tmp_path / "mail.sqlite3", clock=clock, fault_hook=held) as store:
        book = IssuedTokenBook(store, clock=clock)
        service = IssuedTokenService(store, book, clock=clock)
        issued, other = await service.create(OPERATOR, SCRAPER), await service.create(OPERATOR, SCRAPER)

        await held.leave(service.revoke(OPERATOR, issued.token.id))
        await settle(store)

        assert (book.find(issued.text), book.find(other.text)) == (None, other.token)
        found = await store.read(lambda view: view.issued_tokens.find(issued.token.id))
        assert found is not None
        assert found.revoked_ts == clock.now


async def test_a_token_that_nobody_was_told_is_not_kept(tmp_path: Path) -> None:
    held, clock = HeldUnit(), SetClock()
    async with Store(tmp_path / "mail.sqlite3", clock=clock, fault_hook=held) as store:
        book = IssuedTokenBook(store, clock=clock)
        service = IssuedTokenService(store, book, clock=clock)

        await held.leave(service.create(OPERATOR, SCRAPER))
        await settle(store)

        assert (await service.list_(OPERATOR, 10, with_ended=True)).tokens == []
