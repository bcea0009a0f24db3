"""JWTs that somebody has made up for a server that takes them: all are refused, and all in the same words."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import OctKey

from tests.auth.asking import Asker, outcome
from tests.auth.servers import bearer, jwt_claims, open_server
from tests.auth.table import THROUGH
from tests.server.jwt.issuing import AUDIENCE, ISSUER, SECRET, Issuer, b64, issuing, new_key, public, signed

_SETTINGS = {
    "AGENT_AUTH": "strict",
    "HTTP_JWT_ENABLED": "true",
    "HTTP_JWT_AUDIENCE": AUDIENCE,
    "HTTP_JWT_ISSUER": ISSUER,
}
_WHERE_KEYS_ARE_UNKNOWN = (401, 503)
"""The issuer is asked once a minute: in the rest of it nobody can tell of such keys."""
_OPERATOR = {"role": "operator"}
KIDS: list[Any] = [
    "../../../../dev/null",
    "/etc/passwd",
    "one' OR '1'='1",
    "one'; DROP TABLE agents; --",
    "one' UNION SELECT 'key",
    "https://evil.example/keys",
    "file:///dev/null",
    "x" * 5_000,
    "x" * 10_000,
    "",
    "ONE",
    "one\n",
    "o\u0000ne",
    1,
    1.5,
    True,
    ["one"],
    {"one": 1},
]


@asynccontextmanager
async def _asking(directory: Path, **settings: str) -> AsyncIterator[Asker]:
    async with open_server(directory, **_SETTINGS, **settings) as server, Asker(server.url) as asker:
        yield asker


async def _require_refused(asker: Asker, forged: Mapping[str, str], *, refusals: Collection[int] = (401,)) -> None:
    """Over `/rpc`, REST and MCP; what is said is no hint of what was wrong with it."""
    said, let_in = set(), []
    for what, token in forged.items():
        for path in ("/rpc/list_issued_tokens", "/mcp", "/rest/v1/agents"):
            method = "GET" if path.startswith("/rest") else "POST"
            answer = await asker.ask(method, path, bearer(token), {} if method == "POST" else None)
            if answer.status not in refusals:
                let_in.append((what, path, answer.status))
            said.add((answer.status, answer.value["detail"], answer.headers.get("www-authenticate")))
    assert let_in == []
    assert {status for status, _, _ in said} == set(refusals)
    assert len(said) == len(refusals)


async def _require_good(asker: Asker, token: str) -> None:
    assert outcome(await asker.ask("POST", "/rpc/list_issued_tokens", bearer(token), {})) == THROUGH


def _unsigned(alg: str, said: Mapping[str, Any]) -> str:
    """With something in the signature's place, since without three parts it is no JWT at all."""
    head = b64(json.dumps({"alg": alg}).encode())
    return f"{head}.{b64(json.dumps(said).encode())}"


def _wrong_claims() -> dict[str, dict[str, Any]]:
    now_s = int(time.time())
    return {
        "another audience": jwt_claims(**_OPERATOR, aud="another-service"),
        "audiences without ours": jwt_claims(**_OPERATOR, aud=["one", "two"]),
        "no audience": jwt_claims(**_OPERATOR, aud=None),
        "an audience in other letters": jwt_claims(**_OPERATOR, aud=AUDIENCE.upper()),
        "another issuer": jwt_claims(**_OPERATOR, iss="https://evil.example"),
        "the issuer and more": jwt_claims(**_OPERATOR, iss=f"{ISSUER}/"),
        "a list of issuers": jwt_claims(**_OPERATOR, iss=[ISSUER]),
        "no issuer": jwt_claims(**_OPERATOR, iss=None),
        "expired a second ago": jwt_claims(**_OPERATOR, exp=now_s - 1),
        "never expires": jwt_claims(**_OPERATOR, exp=None),
        "expires at a text": jwt_claims(**_OPERATOR, exp=str(now_s + 900)),
        "expires at true": jwt_claims(**_OPERATOR, exp=True),
        "expires beyond time": jwt_claims(**_OPERATOR, exp=10**30),
        "expires at a fraction": jwt_claims(**_OPERATOR, exp=now_s + 900.5),
        "not yet": jwt_claims(**_OPERATOR, nbf=now_s + 3_600),
        "issued in the future": jwt_claims(**_OPERATOR, iat=now_s + 3_600),
    }


async def test_claims_that_are_not_for_this_server_now_are_refused(tmp_path: Path) -> None:
    forged = {what: signed(said) for what, said in _wrong_claims().items()}
    async with _asking(tmp_path, HTTP_JWT_SECRET=SECRET) as asker:
        await _require_good(asker, signed(jwt_claims(**_OPERATOR)))
        await _require_refused(asker, forged)


async def test_a_token_that_nobody_has_signed_is_refused(tmp_path: Path) -> None:
    said = jwt_claims(**_OPERATOR)
    good = signed(said)
    unsigned = {f"{alg}, {end!r}": _unsigned(alg, said) + end for alg in _NONES for end in ("", ".", ".AA")}
    head, _, signature = good.split(".")
    raised = signed(jwt_claims(role="reader")).split(".")
    forged = {
        **unsigned,
        "none, with a good signature": signed(said, header=b'{"alg":"none"}'),
        "two algorithms": signed(said, header=b'{"alg":"none","alg":"HS256"}'),
        "another role under a good signature": f"{raised[0]}.{good.split('.')[1]}.{raised[2]}",
        "no signature": f"{head}.{good.split('.')[1]}.",
        "claims left out": f"{head}..{signature}",
    }
    async with _asking(tmp_path, HTTP_JWT_SECRET=SECRET) as asker:
        await _require_good(asker, good)
        await _require_refused(asker, forged)


_NONES = ("none", "None", "NONE", "nOnE", "")


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with issuing(public(new_key("RS256"), kid="one")) as one:
        yield one


async def test_the_public_key_is_nobodys_secret(issuer: Issuer, tmp_path: Path) -> None:
    key: Any = new_key("RS256")
    written = {
        "pem": key.as_pem(private=False),
        "pem without its last line": key.as_pem(private=False).strip(),
        "der": key.as_der(private=False),
        "jwk": json.dumps(public(key, kid="one")).encode(),
        "n": str(public(key)["n"]).encode(),
    }
    forged = {
        f"{how}, {algorithm}": signed(
            jwt_claims(**_OPERATOR), algorithm=algorithm, header={"kid": "one"}, key=OctKey(secret, secret)
        )
        for how, secret in written.items()
        for algorithm in ("HS256", "HS512")
    }
    async with _asking(tmp_path, HTTP_JWT_JWKS_URL=issuer.url) as asker:
        await _require_good(asker, _by_issuer({"kid": "one"}))
        await _require_refused(asker, forged)


def _by_issuer(header: Mapping[str, Any]) -> str:
    return signed(jwt_claims(**_OPERATOR), algorithm="RS256", header=header)


def _by_another(header: Mapping[str, Any]) -> str:
    return signed(jwt_claims(**_OPERATOR), algorithm="RS256", header=header, key=new_key("RS256", 1))


async def test_the_name_of_a_key_leads_nowhere(issuer: Issuer, tmp_path: Path) -> None:
    forged = {f"{kid!r:.40}": _by_another({"kid": kid}) for kid in KIDS}
    async with _asking(tmp_path, HTTP_JWT_JWKS_URL=issuer.url) as asker:
        await _require_good(asker, _by_issuer({"kid": "one"}))
        await _require_refused(asker, forged, refusals=_WHERE_KEYS_ARE_UNKNOWN)
        await _require_good(asker, _by_issuer({"kid": "one"}))
    assert set(issuer.paths) == {"/keys?tenant=1"}


async def test_a_key_that_the_token_brings_or_names_is_not_taken(issuer: Issuer, tmp_path: Path) -> None:
    theirs = new_key("RS256", 1)
    async with issuing(public(theirs, kid="one")) as evil:
        leads: dict[str, Any] = {
            "jwk": public(theirs, kid="one"),
            "jku": evil.url,
            "x5u": evil.url,
            "x5c": [b64(b"certificate")],
            "url": evil.url,
        }
        forged = {
            f"{name}, {kid}": _by_another({name: lead, **kid})
            for name, lead in leads.items()
            for kid in ({"kid": "one"}, {})
        }
        forged["all of them"] = _by_another({"kid": "one", **leads})
        async with _asking(tmp_path, HTTP_JWT_JWKS_URL=issuer.url) as asker:
            await _require_good(asker, _by_issuer({"kid": "one"}))
            await _require_refused(asker, forged, refusals=_WHERE_KEYS_ARE_UNKNOWN)
        assert evil.looks == 0
