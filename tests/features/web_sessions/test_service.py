from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.core.ids import IssuedTokenId, token_hash
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.web_sessions import (
    IDLE,
    LIFETIME,
    LINK_LIFETIME,
    MAX_LINKS,
    MAX_LIVE,
    MAX_OF_ONE_TOKEN,
    TOUCHED_EVERY,
    OpenedBy,
    SessionGrant,
    SpentLink,
    TooManyLinks,
    TooManySessions,
)
from mcp_agent_mail.features.web_sessions.service import WebSessionService
from mcp_agent_mail.features.web_sessions.token_roles import TokenRoles
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed
from mcp_agent_mail.store.transaction import Tx
from tests.features.web_sessions.tokens import an_issued_token
from tests.seeded_store import SeededStore, open_seeded_store
from tests.sick_store import full_disk

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
READER = SessionGrant(by=OpenedBy.ISSUED, role=Role.READER, issued_token=IssuedTokenId(7))
JUDGE = token_hash("the settings and the key")
BY_JWT = SessionGrant(
    by=OpenedBy.JWT, role=Role.OPERATOR, judged_by=JUDGE, subject_hash=token_hash("ada"), expires_ts=None
)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


def service_of(
    seeded: SeededStore, *, revoked: set[int] | None = None, server_token: str | None = "the-token", **today: Any
) -> WebSessionService:
    """As after a start of the server: nothing but the store is known. `today` is what tokens give."""
    gone = revoked if revoked is not None else set()
    tokens = TokenRoles(
        find_issued=lambda number: None if number in gone else an_issued_token(number),
        server_token_hash=None if server_token is None else token_hash(server_token),
    )
    service = WebSessionService(seeded.store, tokens=replace(tokens, **today), clock=seeded.clock)
    service.jwt_judges = lambda: {JUDGE}
    return service


@pytest.fixture
def service(seeded: SeededStore) -> WebSessionService:
    return service_of(seeded)


async def test_a_link_opens_one_session_of_the_operator(service: WebSessionService) -> None:
    link = service.make_link(OPERATOR)

    opened = await service.open_by_link(link.code)

    assert (opened.session.grant.by, opened.session.grant.role) == (OpenedBy.LINK, Role.OPERATOR)
    assert service.find(opened.secret) == opened.session
    with pytest.raises(SpentLink):
        await service.open_by_link(link.code)


async def test_a_link_ends_with_its_minute(seeded: SeededStore, service: WebSessionService) -> None:
    early, late = service.make_link(OPERATOR), service.make_link(OPERATOR)

    seeded.clock.step(LINK_LIFETIME / SECOND - 1)
    await service.open_by_link(early.code)
    seeded.clock.step(1)

    with pytest.raises(SpentLink):
        await service.open_by_link(late.code)


async def test_what_is_no_link_opens_nothing(service: WebSessionService) -> None:
    for code in ("", "aml_made-up", "\ud800"):
        with pytest.raises(SpentLink):
            await service.open_by_link(code)


async def test_a_restart_ends_links(seeded: SeededStore, service: WebSessionService) -> None:
    link = service.make_link(OPERATOR)

    with pytest.raises(SpentLink):
        await service_of(seeded).open_by_link(link.code)


async def test_only_the_operator_makes_links(service: WebSessionService) -> None:
    with pytest.raises(PermissionDenied):
        service.make_link(ANYBODY)


async def test_links_that_wait_are_bounded_and_those_that_expired_do_not_count(
    seeded: SeededStore, service: WebSessionService
) -> None:
    for _ in range(MAX_LINKS):
        service.make_link(OPERATOR)

    with pytest.raises(TooManyLinks):
        service.make_link(OPERATOR)

    seeded.clock.step(LINK_LIFETIME / SECOND)
    assert service.make_link(OPERATOR).code


async def test_a_session_is_at_rest_by_its_hash_alone_and_outlives_a_restart(
    seeded: SeededStore, service: WebSessionService
) -> None:
    opened = await service.open(READER)

    rows = await seeded.store.read(
        lambda view: view.agents._connection.execute("SELECT * FROM web_sessions LIMIT 9").fetchall()
    )

    assert token_hash(opened.secret) in rows[0]
    assert opened.secret not in repr(rows)
    assert opened.secret not in repr(opened)
    assert service_of(seeded).find(opened.secret) == opened.session


async def test_only_the_very_secret_finds_it(service: WebSessionService) -> None:
    secret = (await service.open(READER)).secret

    for other in ("", secret[:-1], secret + "x", secret.upper(), secret.removeprefix("ams_"), "\ud800"):
        assert service.find(other) is None, other


async def test_what_is_no_secret_of_a_session_finds_none_whatever_is_kept(seeded: SeededStore) -> None:
    secrets = ("amo_of-another-kind", "ams_of-a-session")

    def unit(tx: Tx) -> None:
        for secret in secrets:
            tx.web_sessions.add(token_hash(secret), READER, tx.now)

    await seeded.store.write(unit)

    found = [service_of(seeded).find(secret) for secret in secrets]

    assert [one is not None for one in found] == [False, True]


async def test_it_ends_when_nobody_used_it_for_eight_hours(seeded: SeededStore, service: WebSessionService) -> None:
    opened = await service.open(READER)

    seeded.clock.step(IDLE / SECOND - 1)
    assert service.find(opened.secret) is not None
    seeded.clock.step(IDLE / SECOND - 1)
    assert service.is_live(opened.session.id)
    seeded.clock.step(1)

    assert service.find(opened.secret) is None
    assert not service.is_live(opened.session.id)
    assert service_of(seeded).find(opened.secret) is None


async def test_it_ends_after_seven_days_however_it_is_used(seeded: SeededStore, service: WebSessionService) -> None:
    opened = await service.open(READER)
    hours = LIFETIME // SECOND // 3_600

    for hour in range(1, hours + 1):
        seeded.clock.step(3_600)
        assert (service.find(opened.secret) is not None) is (hour < hours), hour


async def test_it_ends_with_its_token(seeded: SeededStore, service: WebSessionService) -> None:
    opened = await service.open(replace(READER, expires_ts=Micros(seeded.clock.now + 5 * SECOND)))

    seeded.clock.step(4)
    assert service.find(opened.secret) is not None
    seeded.clock.step(1)

    assert service.find(opened.secret) is None


async def test_a_token_that_is_revoked_ends_it_at_once(seeded: SeededStore) -> None:
    revoked: set[int] = set()
    service = service_of(seeded, revoked=revoked)
    opened = await service.open(READER)
    assert service.is_live(opened.session.id)

    revoked.add(7)

    assert service.find(opened.secret) is None
    assert not service.is_live(opened.session.id)


@pytest.mark.parametrize("server_token", ["another", None])
async def test_another_server_token_ends_those_that_it_opened_alone(
    seeded: SeededStore, service: WebSessionService, server_token: str | None
) -> None:
    by_server = await service.open(SessionGrant(by=OpenedBy.SERVER, role=Role.WRITER))
    by_link = await service.open(SessionGrant(by=OpenedBy.LINK, role=Role.OPERATOR))

    after = service_of(seeded, server_token=server_token)

    assert after.find(by_server.secret) is None
    assert after.find(by_link.secret) is not None
    assert service_of(seeded).find(by_server.secret) is not None


async def test_signing_out_ends_one_for_good_and_no_other(seeded: SeededStore, service: WebSessionService) -> None:
    first, second = await service.open(READER), await service.open(READER)

    for _ in range(2):
        await service.end(first.session.id)

    for one in (service, service_of(seeded)):
        assert one.find(first.secret) is None
        assert one.find(second.secret) is not None


async def test_use_is_written_down_once_a_minute_at_most(seeded: SeededStore, service: WebSessionService) -> None:
    opened = await service.open(READER)
    begun = seeded.clock.now

    seeded.clock.step(TOUCHED_EVERY / SECOND - 1)
    service.find(opened.secret)
    seeded.clock.step(1)
    service.find(opened.secret)
    seeded.clock.step(1)
    service.find(opened.secret)
    await seeded.store.write(lambda tx: tx.now)

    kept = await seeded.store.read(lambda view: view.web_sessions.list_())
    assert [one.used_ts - begun for _, one in kept] == [TOUCHED_EVERY]


async def test_a_token_that_lost_its_role_gives_its_session_no_more(seeded: SeededStore) -> None:
    before = service_of(seeded, server_role=Role.OPERATOR)
    opened = await before.open(SessionGrant(by=OpenedBy.SERVER, role=Role.OPERATOR))

    found = [service_of(seeded, server_role=role).find(opened.secret) for role in (*Role, Role.OPERATOR)]

    assert [one and one.grant.role for one in found] == [Role.READER, Role.WRITER, Role.OPERATOR, Role.OPERATOR]


async def test_a_session_of_a_jwt_counts_while_its_judge_is_there(seeded: SeededStore) -> None:
    service = service_of(seeded)
    opened = await service.open(BY_JWT)
    before = service.find(opened.secret)

    service.jwt_judges = lambda: {token_hash("another key")}
    other = (service.find(opened.secret), service.is_live(opened.session.id))
    service.jwt_judges = frozenset
    none = service.find(opened.secret)

    assert before == opened.session
    assert (other, none) == ((None, False), None)


async def test_one_whose_judge_is_not_known_yet_waits_and_is_not_ended(seeded: SeededStore) -> None:
    service = service_of(seeded)
    opened = await service.open(BY_JWT)

    service.jwt_judges = lambda: None
    meanwhile = (service.find(opened.secret), service.waits_for_judges(opened.secret))
    await service.open(READER)
    service.jwt_judges = lambda: {JUDGE}

    assert meanwhile == (None, True)
    assert not service.waits_for_judges(opened.secret)
    assert service.find(opened.secret) == opened.session


@pytest.mark.parametrize("secret", ["", "ams_made-up", "\ud800"])
async def test_what_is_no_session_waits_for_nothing(service: WebSessionService, secret: str) -> None:
    service.jwt_judges = lambda: None

    assert not service.waits_for_judges(secret)


@pytest.mark.parametrize("how", ["idle", "old", "its token"])
async def test_those_that_have_ended_go_when_another_comes(seeded: SeededStore, how: str) -> None:
    revoked: set[int] = set()
    service = service_of(seeded, revoked=revoked)
    first = await service.open(READER)

    if how == "its token":
        revoked.add(7)
    else:
        seeded.clock.step((IDLE if how == "idle" else LIFETIME) / SECOND)
    opened = await service.open(BY_JWT)

    kept = await seeded.store.read(lambda view: view.web_sessions.list_())
    assert [one for _, one in kept] == [opened.session]
    assert opened.session.id > first.session.id


async def test_one_token_has_so_many_sessions_and_for_another_its_own_goes(service: WebSessionService) -> None:
    by_link = await service.open(SessionGrant(by=OpenedBy.LINK, role=Role.OPERATOR))

    opened = [await service.open(READER) for _ in range(MAX_OF_ONE_TOKEN + 2)]

    assert [service.find(one.secret) is not None for one in opened] == [False] * 2 + [True] * MAX_OF_ONE_TOKEN
    assert service.find(by_link.secret) is not None


async def test_many_readers_sign_nobody_out_who_may_more(seeded: SeededStore) -> None:
    service = service_of(seeded)
    by_server = await service.open(SessionGrant(by=OpenedBy.SERVER, role=Role.WRITER))
    by_link = await service.open(SessionGrant(by=OpenedBy.LINK, role=Role.OPERATOR))

    readers = [await service.open(replace(READER, issued_token=IssuedTokenId(n))) for n in range(MAX_LIVE)]

    assert [service.find(one.secret) is not None for one in readers] == [False] * 2 + [True] * (MAX_LIVE - 2)
    assert [service.find(one.secret) is not None for one in (by_server, by_link)] == [True, True]


async def test_where_all_may_more_a_reader_does_not_come_in_and_nobody_goes(seeded: SeededStore) -> None:
    service = service_of(seeded)
    writer = SessionGrant(by=OpenedBy.ISSUED, role=Role.WRITER)
    writers = [await service.open(replace(writer, issued_token=IssuedTokenId(n))) for n in range(MAX_LIVE)]

    with pytest.raises(TooManySessions):
        await service.open(READER)

    assert all(service.find(one.secret) for one in writers)


async def test_an_end_that_cannot_be_written_counts_at_once_and_is_tried_until_it_is(
    seeded: SeededStore, service: WebSessionService
) -> None:
    ended, other = await service.open(READER), await service.open(READER)
    with full_disk(seeded.store), pytest.raises(StoreFailed):
        await service.end(ended.session.id)
    late = await service.open(READER)

    assert service.find(ended.secret) is None
    assert not service.is_live(ended.session.id)
    await seeded.store.__aexit__(None, None, None)
    await seeded.store.__aenter__()
    restarted = service_of(seeded)
    assert restarted.find(ended.secret) is None
    assert restarted.find(other.secret) is not None
    assert restarted.find(late.secret) is not None


async def test_whoever_leaves_while_its_session_ends_has_ended_it(
    seeded: SeededStore, service: WebSessionService
) -> None:
    opened = await service.open(READER)

    leaving = asyncio.ensure_future(service.end(opened.session.id))
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    await seeded.store.write(lambda _tx: None)

    assert service_of(seeded).find(opened.secret) is None


async def test_a_link_whose_session_could_not_be_stored_is_good_still(
    seeded: SeededStore, service: WebSessionService
) -> None:
    link = service.make_link(OPERATOR)

    with full_disk(seeded.store), pytest.raises(StoreFailed):
        await service.open_by_link(link.code)

    assert (await service.open_by_link(link.code)).session.grant.role is Role.OPERATOR
    with pytest.raises(SpentLink):
        await service.open_by_link(link.code)
