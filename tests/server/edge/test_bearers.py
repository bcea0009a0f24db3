"""What a bearer token lets its bearer do: each kind of it, in their order, and who is refused."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import AgentId, token_hash
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.issued_tokens import IssuedToken, NewIssuedToken
from mcp_agent_mail.domain.identity.web_sessions import OpenedBy
from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
from mcp_agent_mail.server.edge.admitted import Admitted, HttpRefusal
from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers
from mcp_agent_mail.server.edge.rates import token_payer
from mcp_agent_mail.server.jwt.verifier import JwtVerifier, jwt_verifier
from tests.core.machine import Machine
from tests.seeded_store import SeededStore, open_seeded_store
from tests.server.jwt.issuing import (
    AUDIENCE,
    ISSUER,
    NOW_S,
    SECRET,
    FakeClock,
    claims,
    issuing,
    new_key,
    public,
    signed,
)

SERVER, OPERATOR, AGENT, ISSUED = "the-servers-token", "amo_the-operators", "amt_blue", "amk_issued"
OPEN = BearerRules(operator_token=OPERATOR)
LOCKED = BearerRules(server_token=SERVER, operator_token=OPERATOR)
HOME, ELSEWHERE = "127.0.0.1", "192.0.2.7"


async def judged(
    bearers: Bearers,
    token: str | None,
    *,
    address: str = ELSEWHERE,
    is_local: bool = False,
    operator_may: bool = True,
    scheme: str = "Bearer",
) -> Admitted | HttpRefusal:
    headers = {} if token is None else {b"authorization": f"{scheme} {token}".encode("latin-1")}
    return await bearers.judge(headers, address, is_local=is_local, operator_may=operator_may)


async def admitted(
    bearers: Bearers, token: str | None, *, address: str = ELSEWHERE, is_local: bool = False
) -> Admitted:
    found = await judged(bearers, token, address=address, is_local=is_local)
    assert isinstance(found, Admitted), found
    return found


async def refused(bearers: Bearers, token: str | None, *, operator_may: bool = True) -> tuple[int, bytes]:
    """The status, and what `WWW-Authenticate` says."""
    found = await judged(bearers, token, operator_may=operator_may)
    assert isinstance(found, HttpRefusal), found
    return found.status, dict(found.headers).get(b"www-authenticate", b"")


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def book(seeded: SeededStore) -> IssuedTokenBook:
    return IssuedTokenBook(seeded.store, clock=seeded.clock, interval_s=600)


async def issued(
    seeded: SeededStore, *, role: Role = Role.READER, agent_id: AgentId | None = None, expires_in_s: int | None = None
) -> IssuedToken:
    expires_ts = None if expires_in_s is None else Micros(seeded.clock.now + expires_in_s * SECOND)
    new = NewIssuedToken(token_hash=token_hash(ISSUED), role=role, agent_id=agent_id, note="", expires_ts=expires_ts)
    return await seeded.store.write(lambda tx: tx.issued_tokens.add(new, tx.now))


def verifier_of(directory: Path, clock: FakeClock, **given: str) -> JwtVerifier:
    said = {"HTTP_JWT_SECRET": SECRET, "HTTP_JWT_AUDIENCE": AUDIENCE, "HTTP_JWT_ISSUER": ISSUER, **given}
    return jwt_verifier(Machine(directory).settings(HTTP_JWT_ENABLED="true", **said), clock=clock)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def test_the_servers_token_gives_the_role_that_is_set_and_is_one_payer() -> None:
    bearers = Bearers(replace(LOCKED, server_role=Role.READER))

    found = [await admitted(bearers, SERVER, address=address) for address in (HOME, ELSEWHERE)]

    assert found == [Admitted(payer="server", role=Role.READER, bearer_is_spent=True, opened_by=OpenedBy.SERVER)] * 2


async def test_the_operators_token_is_the_operators_where_it_counts() -> None:
    bearers = Bearers(LOCKED)

    assert await admitted(bearers, OPERATOR) == Admitted(
        payer="operator",
        role=Role.OPERATOR,
        bearer_is_spent=True,
        is_operators_own=True,
        opened_by=OpenedBy.OPERATOR,
    )
    assert (await refused(bearers, OPERATOR, operator_may=False))[0] == 401


async def test_without_roles_all_are_writers_but_the_operator(seeded: SeededStore, book: IssuedTokenBook) -> None:
    await issued(seeded)
    bearers = Bearers(replace(LOCKED, server_role=Role.READER, has_roles=False), tokens=book)

    roles = [(await admitted(bearers, token)).role for token in (SERVER, ISSUED, OPERATOR)]

    assert roles == [Role.WRITER, Role.WRITER, Role.OPERATOR]
    await book.close()


@pytest.mark.parametrize("token", [None, AGENT])
async def test_an_open_server_lets_everybody_write_and_their_address_pays(token: str | None) -> None:
    found = await admitted(Bearers(OPEN), token)

    assert found == Admitted(payer=f"address {ELSEWHERE}", role=Role.WRITER, bearer_is_spent=False)


@pytest.mark.parametrize(
    ("token", "challenge"),
    [
        (None, b"Bearer"),
        (AGENT, b'Bearer error="invalid_token"'),
        (f"{SERVER}x", b'Bearer error="invalid_token"'),
        (SERVER[:-1], b'Bearer error="invalid_token"'),
        ("\xe9", b'Bearer error="invalid_token"'),
        ("amk_unknown", b'Bearer error="invalid_token"'),
        ("a.b.c", b'Bearer error="invalid_token"'),
    ],
)
async def test_a_locked_server_wants_a_token_that_opens_it_and_never_says_why(
    token: str | None, challenge: bytes
) -> None:
    assert await refused(Bearers(LOCKED), token) == (401, challenge)


async def test_all_wrong_tokens_of_a_kind_are_refused_in_the_same_words(
    seeded: SeededStore, book: IssuedTokenBook, tmp_path: Path, clock: FakeClock
) -> None:
    await issued(seeded, expires_in_s=60)
    seeded.clock.now = Micros(seeded.clock.now + 61 * SECOND)
    bearers = Bearers(LOCKED, tokens=book, jwts=verifier_of(tmp_path, clock))
    expired, forged = signed(claims(exp=NOW_S - 1)), signed()[:-4] + "AAAA"

    jwts = [await judged(bearers, token) for token in (expired, forged, "x.y.z", "a-guess")]
    of_issued = [await judged(bearers, token) for token in ("amk_never", ISSUED)]
    agents = [await judged(bearers, token) for token in (AGENT, "amt_of-nobody")]

    assert [answer == kind[0] for kind in (jwts, of_issued, agents) for answer in kind] == [True] * 8
    told = [kind[0] for kind in (jwts, of_issued, agents)]
    assert [one.status for one in told if isinstance(one, HttpRefusal)] == [401] * 3
    details = [one.detail for one in told if isinstance(one, HttpRefusal)]
    assert details[0].startswith("The bearer token opens nothing here.")
    assert details[1] == (
        "This issued token was revoked, has expired, or is another server's. The operator issues another: am token "
        "create."
    )
    assert details[2].startswith("An agent's own token belongs in X-Agent-Token;")


async def test_an_issued_token_is_told_so_where_the_server_issues_none() -> None:
    found = await judged(Bearers(LOCKED), ISSUED)

    assert isinstance(found, HttpRefusal)
    assert "was revoked, has expired, or is another server's" in found.detail


async def test_another_scheme_is_no_token() -> None:
    found = await judged(Bearers(LOCKED), SERVER, scheme="Basic")

    assert isinstance(found, HttpRefusal)
    assert "send Authorization: Bearer" in found.detail


async def test_the_challenge_of_who_may_sign_in_has_the_error_behind_a_comma() -> None:
    bearers = Bearers(replace(LOCKED, challenge=b'Bearer resource_metadata="x"'))

    assert await refused(bearers, None) == (401, b'Bearer resource_metadata="x"')
    assert await refused(bearers, "wrong") == (401, b'Bearer resource_metadata="x", error="invalid_token"')


@pytest.mark.parametrize(("trusts", "is_local", "status"), [(True, True, None), (True, False, 401), (False, True, 401)])
async def test_this_machine_needs_no_token_where_that_is_set(trusts: bool, is_local: bool, status: int | None) -> None:
    bearers = Bearers(replace(LOCKED, trust_loopback=trusts))

    for token in (None, AGENT):
        found = await judged(bearers, token, address=HOME, is_local=is_local)
        assert (found.status if isinstance(found, HttpRefusal) else None) == status
        if isinstance(found, Admitted):
            assert (found.role, found.payer, found.bearer_is_spent) == (Role.WRITER, "address 127.0.0.1", False)


@pytest.mark.parametrize("rules", [OPEN, LOCKED])
async def test_an_issued_token_opens_gives_its_role_proves_its_agent_and_pays(
    rules: BearerRules, seeded: SeededStore, book: IssuedTokenBook
) -> None:
    token = await issued(seeded, role=Role.READER, agent_id=seeded.red.id)

    found = await admitted(Bearers(rules, tokens=book), ISSUED)

    assert found == Admitted(
        payer=f"issued {token.id}",
        role=Role.READER,
        bearer_is_spent=True,
        issued_to=seeded.red.id,
        opened_by=OpenedBy.ISSUED,
        issued_token=token.id,
    )
    assert book.with_use([token])[0].last_used_ts == seeded.clock.now
    await book.close()


async def test_an_issued_token_lives_until_it_is_revoked_or_expires(seeded: SeededStore, book: IssuedTokenBook) -> None:
    token = await issued(seeded, expires_in_s=60)
    bearers = Bearers(OPEN, tokens=book)
    is_live = (await admitted(bearers, ISSUED)).is_live
    assert is_live is not None

    before = is_live()
    seeded.clock.now = Micros(seeded.clock.now + 61 * SECOND)
    expired = is_live()
    seeded.clock.now = Micros(seeded.clock.now - 30 * SECOND)
    book.end(token.id)

    assert (before, expired, is_live()) == (True, False, False)
    assert (await refused(bearers, ISSUED))[0] == 401
    await book.close()


async def test_a_jwt_gives_its_role_claims_its_agents_and_its_subject_pays(tmp_path: Path, clock: FakeClock) -> None:
    settings = {"HTTP_RBAC_READER_ROLES": "guests", "HTTP_JWT_AGENT_CLAIM": "agents", "HTTP_JWT_ROLE_CLAIM": "roles"}
    jwts = verifier_of(tmp_path, clock, **settings)
    bearers = Bearers(OPEN, jwts=jwts, clock=clock)

    found = await admitted(bearers, signed(claims(roles=["guests"], agents=["RedStone"])))

    assert found == Admitted(
        payer=token_payer(OpenedBy.JWT, subject_hash=found.subject_hash),
        role=Role.READER,
        bearer_is_spent=True,
        claimed_agents=("RedStone",),
        opened_by=OpenedBy.JWT,
        judged_by=found.judged_by,
        subject_hash=token_hash(f'["{ISSUER}", "ada"]'),
        expires_ts=found.expires_ts,
    )
    assert found.judged_by in (jwts.judges() or ())
    assert found.is_live is not None
    assert found.is_live()
    clock.now_s += 900
    assert not found.is_live()


async def test_a_jwt_without_a_role_is_403_unless_there_are_no_roles(tmp_path: Path, clock: FakeClock) -> None:
    jwts = verifier_of(tmp_path, clock, HTTP_RBAC_DEFAULT_ROLE="none")

    found = await judged(Bearers(OPEN, jwts=jwts, clock=clock), signed())
    without = await admitted(Bearers(replace(OPEN, has_roles=False), jwts=jwts, clock=clock), signed())

    assert isinstance(found, HttpRefusal)
    assert (found.status, found.detail) == (403, "The token gives no role here.")
    assert without.role is Role.WRITER


async def test_with_jwts_the_server_is_locked_and_its_own_tokens_open_it_all_the_same(
    tmp_path: Path, clock: FakeClock
) -> None:
    bearers = Bearers(BearerRules(operator_token=OPERATOR), jwts=verifier_of(tmp_path, clock), clock=clock)

    assert (await refused(bearers, None))[0] == (await refused(bearers, AGENT))[0] == 401
    assert (await admitted(bearers, OPERATOR)).role is Role.OPERATOR


async def test_a_servers_token_that_looks_like_another_kind_is_the_servers(
    book: IssuedTokenBook, tmp_path: Path, clock: FakeClock
) -> None:
    jwt = signed(claims(exp=NOW_S - 1))
    for token in (ISSUED, jwt):
        rules = replace(LOCKED, server_token=token)
        directory = tmp_path / str(len(token))
        directory.mkdir()
        bearers = Bearers(rules, tokens=book, jwts=verifier_of(directory, clock), clock=clock)
        assert (await admitted(bearers, token)).payer == "server"


async def test_while_the_issuer_is_away_its_tokens_get_503_and_a_time(tmp_path: Path, clock: FakeClock) -> None:
    async with issuing() as issuer:
        issuer.is_away = True
        said = {"HTTP_JWT_JWKS_URL": issuer.url, "HTTP_JWT_ALGORITHMS": "ES256", "HTTP_JWT_SECRET": ""}
        bearers = Bearers(OPEN, jwts=verifier_of(tmp_path, clock, **said), clock=clock)
        async with bearers.opened():
            found = await judged(bearers, signed(algorithm="ES256"))

    assert isinstance(found, HttpRefusal)
    assert found.status == 503
    assert found.retry_after_s is not None


async def test_a_jwt_whose_key_is_not_known_is_refused_for_now_and_counts_as_a_wrong_token(
    tmp_path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """One that cannot be told apart because there are no keys at all does not."""
    caplog.set_level(logging.INFO, "mcp_agent_mail.http")
    said = {"HTTP_JWT_ALGORITHMS": "ES256", "HTTP_JWT_SECRET": ""}
    made_up = [signed(algorithm="ES256", key=new_key("ES256", 9), header={"kid": f"{number}"}) for number in range(2)]
    async with issuing(public(new_key("ES256"), kid="one")) as issuer:
        jwts = verifier_of(tmp_path, clock, HTTP_JWT_JWKS_URL=issuer.url, **said)
        bearers = Bearers(OPEN, jwts=jwts, clock=clock)
        async with bearers.opened():
            found = [await judged(bearers, token) for token in made_up]
            issuer.is_away = True
            clock.now_s += 24 * 3_600
            away = await judged(bearers, made_up[0])

    told = [(one.status, one.retry_after_s, one.may_be_wrong) for one in (*found, away) if isinstance(one, HttpRefusal)]
    assert told == [(401, None, False), (503, 60, True), (503, 5, False)]
    words = [one.getMessage() for one in caplog.records if "for" in one.getMessage()]
    assert words == ["a JWT is refused for 60 s: no key that is known has signed it"]


def test_rules_do_not_show_their_tokens() -> None:
    assert SERVER not in repr(LOCKED)
    assert OPERATOR not in repr(LOCKED)
