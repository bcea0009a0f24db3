"""A good token proves what it says, and any other is refused for its reason, whichever key it is checked with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.server.jwt import verifier as module
from mcp_agent_mail.server.jwt.proofs import JwtProof, JwtReason, JwtRefused
from mcp_agent_mail.server.jwt.verifier import LONGEST_TOKEN, JwtVerifier, jwt_verifier, looks_like_jwt
from tests.core.machine import Machine
from tests.server.jwt.issuing import (
    AUDIENCE,
    ISSUER,
    NOW_S,
    SECRET,
    FakeClock,
    Issuer,
    b64,
    claims,
    issuing,
    new_key,
    public,
    signed,
)

R = JwtReason


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def with_secret(machine: Machine, clock: FakeClock, **given: str) -> JwtVerifier:
    said = {"HTTP_JWT_SECRET": SECRET, "HTTP_JWT_AUDIENCE": f"{AUDIENCE},other", "HTTP_JWT_ISSUER": ISSUER, **given}
    return jwt_verifier(machine.settings(HTTP_JWT_ENABLED="true", **said), clock=clock)


@asynccontextmanager
async def with_issuer(machine: Machine, clock: FakeClock, issuer: Issuer, **given: str) -> AsyncIterator[JwtVerifier]:
    said = {"HTTP_JWT_JWKS_URL": issuer.url, "HTTP_JWT_AUDIENCE": AUDIENCE, "HTTP_JWT_ISSUER": ISSUER, **given}
    verifier = jwt_verifier(machine.settings(HTTP_JWT_ENABLED="true", **said), clock=clock)
    verifier.start()
    try:
        yield verifier
    finally:
        await verifier.stop()


@pytest.fixture
def verifier(machine: Machine, clock: FakeClock) -> JwtVerifier:
    return with_secret(machine, clock)


async def outcome(verifier: JwtVerifier, token: str) -> JwtProof | JwtReason:
    try:
        return await verifier.verify(token)
    except JwtRefused as refused:
        return refused.reason


async def test_a_good_token_proves_who_what_and_until_when(verifier: JwtVerifier) -> None:
    proof = await verifier.verify(signed(claims(role="write", agent=["BlueLake@/srv/app", "Ada"])))

    assert proof == JwtProof(
        subject=json.dumps([ISSUER, "ada"]),
        role=Role.WRITER,
        agents=("BlueLake@/srv/app", "Ada"),
        expires_ts=Micros((NOW_S + 900) * SECOND),
        judged_by=proof.judged_by,
    )
    assert verifier.judges() == {proof.judged_by}


async def test_a_token_without_a_subject_is_its_own(verifier: JwtVerifier) -> None:
    token = signed(claims(sub=None))

    proof = await verifier.verify(token)

    assert proof.subject == f"token:{hashlib.sha256(token.encode()).hexdigest()[:32]}"


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
async def test_each_algorithm_of_a_shared_key(algorithm: str, machine: Machine, clock: FakeClock) -> None:
    only = with_secret(machine, clock, HTTP_JWT_ALGORITHMS=algorithm)

    assert isinstance(await outcome(only, signed(algorithm=algorithm)), JwtProof)
    assert await outcome(only, signed(algorithm="HS384" if algorithm == "HS256" else "HS256")) is R.ALGORITHM


KEY_PAIRS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


@pytest.mark.parametrize("algorithm", KEY_PAIRS)
async def test_each_algorithm_of_key_pairs(algorithm: str, machine: Machine, clock: FakeClock) -> None:
    token = signed(algorithm=algorithm, header={"kid": "one"})
    changed = f"{token[:-4]}{'AAAA' if token[-4:] != 'AAAA' else 'BBBB'}"

    async with (
        issuing(public(new_key(algorithm), kid="one")) as issuer,
        with_issuer(machine, clock, issuer, HTTP_JWT_ALGORITHMS=algorithm) as verifier,
    ):
        assert isinstance(await outcome(verifier, token), JwtProof)
        assert await outcome(verifier, changed) is R.SIGNATURE


# --- The header: what it says of algorithms and keys ------------------------------------------------------------------

UNSIGNED = [b'{"alg":"none"}', b'{"alg":"None"}', b'{"alg":"NONE"}', b'{"alg":"nOnE"}', b'{"alg":""}', b'{"alg":null}']
UNSIGNED += [b'{"alg":0}', b'{"alg":["HS256"]}', b"{}", b'{"alg":"HS256 "}', b'{"alg":"hs256"}', b'{"alg":"HS1"}']


@pytest.mark.parametrize("header", UNSIGNED)
async def test_the_algorithm_is_one_of_the_settings_however_it_is_spelt(header: bytes, verifier: JwtVerifier) -> None:
    assert await outcome(verifier, signed(header=header)) is R.ALGORITHM
    assert await outcome(verifier, signed(header=header).rpartition(".")[0] + ".") is R.MALFORMED
    assert await outcome(verifier, signed(header=header).rpartition(".")[0] + ".AA") is R.ALGORITHM


@pytest.mark.parametrize("written", ["pem", "der", "jwk", "n"])
async def test_a_public_key_is_no_shared_key(written: str, machine: Machine, clock: FakeClock) -> None:
    from joserfc.jwk import OctKey

    key = new_key("RS256")
    public_key: Any = key
    secret = {
        "pem": public_key.as_pem(private=False),
        "der": public_key.as_der(private=False),
        "jwk": json.dumps(public(key, kid="one")).encode(),
        "n": str(public(key)["n"]).encode(),
    }[written]
    shared = OctKey(secret, secret)
    token = signed(algorithm="HS256", header={"kid": "one"}, key=shared)

    async with issuing(public(key, kid="one")) as issuer, with_issuer(machine, clock, issuer) as verifier:
        assert await outcome(verifier, token) is R.ALGORITHM


@pytest.mark.parametrize("said", ["ES256", "EdDSA", "PS256", "RS512"])
async def test_a_key_checks_its_own_algorithms_alone(said: str, machine: Machine, clock: FakeClock) -> None:
    """The token is signed with the issuer's key, and says another algorithm."""
    header = json.dumps({"alg": said, "kid": "one"}).encode()
    given = public(new_key("RS256"), kid="one", alg="RS256")

    async with (
        issuing(given) as issuer,
        with_issuer(machine, clock, issuer, HTTP_JWT_ALGORITHMS="RS256,RS512,PS256,ES256,EdDSA") as verifier,
    ):
        assert await outcome(verifier, signed(algorithm="RS256", header=header)) is R.KEY


KIDS = ["../../etc/passwd", "one' OR '1'='1", "https://evil.example/keys", "x" * 4_000, "ONE", "one ", "", "o\u0000ne"]


@pytest.mark.parametrize("kid", KIDS)
async def test_the_name_of_a_key_is_looked_up_and_nothing_else(kid: str, machine: Machine, clock: FakeClock) -> None:
    async with issuing(public(new_key("ES256"), kid="one")) as issuer, with_issuer(machine, clock, issuer) as verifier:
        assert await outcome(verifier, signed(algorithm="ES256", header={"kid": kid})) is R.KEY
        assert set(issuer.paths) == {"/keys?tenant=1"}


@pytest.mark.parametrize("kid", [1, 1.5, True, ["one"], {"one": 1}])
async def test_the_name_of_a_key_is_a_text(kid: object, verifier: JwtVerifier) -> None:
    assert await outcome(verifier, signed(header={"kid": kid})) is R.MALFORMED


async def test_a_longer_name_than_a_token_may_be_is_not_looked_at(verifier: JwtVerifier) -> None:
    assert await outcome(verifier, signed(header={"kid": "x" * 10_000})) is R.TOO_LONG


async def test_keys_and_addresses_in_a_token_are_not_followed(machine: Machine, clock: FakeClock) -> None:
    """All of them lead to a key that has indeed signed it."""
    theirs, ours = new_key("RS256", 1), new_key("RS256")

    async with (
        issuing(public(theirs, kid="one")) as evil,
        issuing(public(ours, kid="one")) as issuer,
        with_issuer(machine, clock, issuer) as verifier,
    ):
        leads: list[dict[str, Any]] = [{"jwk": public(theirs)}, {"jku": evil.url}, {"x5u": evil.url}]
        leads += [{"x5c": [b64(b"certificate")]}, {"x5t": "thumb"}, {"x5t#S256": "thumb"}, {"url": evil.url}]
        for lead in leads:
            header = {"kid": "one", **lead}
            assert await outcome(verifier, signed(algorithm="RS256", key=theirs, header=header)) is R.SIGNATURE
            assert isinstance(await outcome(verifier, signed(algorithm="RS256", header=header)), JwtProof)
        assert evil.looks == 0


CRITICAL: list[dict[str, Any]] = [
    {"crit": ["exp"]},
    {"crit": ["b64"], "b64": False},
    {"crit": ["b64"], "b64": True},
    {"b64": False},
    {"b64": 0},
    {"crit": []},
    {"crit": "exp"},
    {"crit": None},
    {"crit": ["x"], "x": 1},
]


@pytest.mark.parametrize("header", CRITICAL)
async def test_what_a_token_calls_critical_is_refused(header: dict[str, Any], verifier: JwtVerifier) -> None:
    assert await outcome(verifier, signed(header=header)) is R.CRITICAL


@pytest.mark.parametrize(
    "header",
    [{"typ": "logout+jwt"}, {"typ": "application/secevent+jwt"}, {"typ": "dpop+JWT"}, {"cty": "JWT"}, {"typ": 1}],
)
async def test_tokens_for_other_ends_are_refused(header: dict[str, Any], verifier: JwtVerifier) -> None:
    assert await outcome(verifier, signed(header=header)) is R.MALFORMED


@pytest.mark.parametrize("typ", ["JWT", "jwt", "at+jwt", "application/at+JWT", "access"])
async def test_other_types_are_of_no_matter(typ: str, verifier: JwtVerifier) -> None:
    assert isinstance(await outcome(verifier, signed(header={"typ": typ})), JwtProof)


# --- Its form ---------------------------------------------------------------------------------------------------------


def malformed() -> dict[str, str]:
    good = signed()
    head, body, signature = good.split(".")
    return {
        "nested": signed(good.encode()),
        "five parts": f"{good}.{body}.{signature}",
        "two parts": f"{head}.{body}",
        "json": json.dumps({"protected": head, "payload": body, "signature": signature}),
        "general json": json.dumps({"payload": body, "signatures": [{"protected": head, "signature": signature}]}),
        "a list": signed(b"[1]"),
        "a text": signed(b'"ada"'),
        "no json": signed(b"{"),
        "two jsons": signed(json.dumps(claims()).encode() + b"{}"),
        "nan": signed(b'{"exp":NaN}'),
        "infinity": signed(b'{"exp":Infinity}'),
        "deep": signed(b'{"a":' + b"[" * 2_900 + b"]" * 2_900 + b"}"),
        "utf-16": signed(json.dumps(claims()).encode("utf-16")),
        "latin-1": signed('{"sub":"ä"}'.encode("latin-1")),
        "a mark of order": signed(b"\xef\xbb\xbf" + json.dumps(claims()).encode()),
        "a claim twice": signed(json.dumps(claims()).encode()[:-1] + b',"role":"reader","role":"operator"}'),
        "an algorithm twice": signed(header=b'{"alg":"none","alg":"HS256"}'),
        "an algorithm twice, spelt": signed(header=b'{"alg":"HS256","\\u0061lg":"HS256"}'),
        "no header": f".{body}.{signature}",
        "no object as header": signed(header=b'["HS256"]'),
        "a letter too many": f"{head}A.{body}.{signature}",
        "padding": f"{head}.{body}.{signature}=",
        "plain base64": f"{head}.{body}.{signature[:-1]}+",
        "a blank": f"{good} ",
        "a new line": f"{good}\n",
        "a blank first": f" {good}",
        "a blank inside": f"{head}. {body}.{signature}",
        "beyond ascii": f"{head}.{body}.{signature[:-1]}ß",
        "nothing": "",
    }


@pytest.mark.parametrize("kind", sorted(malformed()))
async def test_what_is_not_a_jwt_by_the_letter_is_refused(kind: str, verifier: JwtVerifier) -> None:
    assert await outcome(verifier, malformed()[kind]) is R.MALFORMED


async def test_bits_left_over_in_a_signature_make_no_second_spelling(verifier: JwtVerifier) -> None:
    """43 letters of base64url hold 258 bits; the signature has 256."""
    good = signed()
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    other = letters[letters.index(good[-1]) + 1]

    assert isinstance(await outcome(verifier, good), JwtProof)
    assert await outcome(verifier, good[:-1] + other) is R.MALFORMED


def of_length(length: int) -> str:
    """Bytes of base64 come in threes to four letters, so that both parts are tried."""
    for pad in range(4):
        header = {"p": "y" * pad}
        guess = (length - len(signed(claims(fill=""), header=header))) * 3 // 4
        for fill in range(guess - 3, guess + 4):
            if len(token := signed(claims(fill="x" * fill), header=header)) == length:
                return token
    raise AssertionError(length)


async def test_eight_kib_are_read_and_one_byte_more_is_not(verifier: JwtVerifier) -> None:
    assert isinstance(await outcome(verifier, of_length(LONGEST_TOKEN)), JwtProof)
    assert await outcome(verifier, of_length(LONGEST_TOKEN + 1)) is R.TOO_LONG


@pytest.mark.parametrize("text", ["a.b.c", "eyJ.eyJ.c2ln", "-_.0.Z"])
def test_three_parts_of_base64url_look_like_a_jwt(text: str) -> None:
    assert looks_like_jwt(text)


@pytest.mark.parametrize("text", ["", "a", "a.b", "a..c", ".b.c", "a.b.", "a.b.c.d", "a.b.c=", "a.b.c\n", "a b.c.d"])
def test_anything_else_does_not(text: str) -> None:
    assert not looks_like_jwt(text)


# --- Its signature, and what is remembered of it ----------------------------------------------------------------------


async def test_another_key_has_signed_it(verifier: JwtVerifier) -> None:
    from joserfc.jwk import OctKey

    assert await outcome(verifier, signed(key=OctKey.import_key(b"z" * 40))) is R.SIGNATURE


async def test_claims_that_were_changed_are_not_signed(verifier: JwtVerifier) -> None:
    head, _, signature = signed().split(".")
    other = signed(claims(role="operator")).split(".")[1]

    assert await outcome(verifier, f"{head}.{other}.{signature}") is R.SIGNATURE


async def test_a_token_that_was_good_ends_when_it_ends(verifier: JwtVerifier, clock: FakeClock) -> None:
    token = signed()
    first = await outcome(verifier, token)

    clock.now_s = NOW_S + 899
    assert await outcome(verifier, token) is first
    clock.now_s = NOW_S + 900
    assert await outcome(verifier, token) is R.EXPIRED


async def test_so_many_tokens_are_remembered_and_no_more(
    verifier: JwtVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_REMEMBERED", 3)
    tokens = [signed(claims(sub=str(number))) for number in range(5)]

    proofs = [await outcome(verifier, token) for token in tokens]

    again = [await outcome(verifier, token) for token in reversed(tokens)]
    assert [one is other for one, other in zip(proofs, reversed(again), strict=True)] == [
        False,
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"exp": NOW_S}, R.EXPIRED),
        ({"nbf": NOW_S + 61}, R.NOT_YET),
        ({"iss": "x"}, R.ISSUER),
        ({"aud": "x"}, R.AUDIENCE),
    ],
)
async def test_what_is_claimed_is_looked_at_once_it_is_signed(
    changed: dict[str, Any], reason: JwtReason, verifier: JwtVerifier
) -> None:
    token = signed(claims(**changed))

    assert await outcome(verifier, token) is reason
    assert await outcome(verifier, f"{token.rpartition('.')[0]}.{b64(b'x' * 32)}") is R.SIGNATURE


async def test_roles_and_agents_stand_where_the_settings_say(machine: Machine, clock: FakeClock) -> None:
    given = {"HTTP_JWT_ROLE_CLAIM": "realm_access.roles", "HTTP_JWT_AGENT_CLAIM": "https://mail.example/agents"}
    token = signed(claims(realm_access={"roles": ["x", "admin"]}, **{"https://mail.example/agents": "Ada@/srv"}))

    proof = await with_secret(machine, clock, **given).verify(token)

    assert (proof.role, proof.agents) == (Role.OPERATOR, ("Ada@/srv",))
