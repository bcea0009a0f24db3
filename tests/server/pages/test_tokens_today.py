"""A session of a browser gives what its token gives today, pays as it does, and is one of so many."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.server.jwt.issuing import AUDIENCE, ISSUER, SECRET, claims, issuing, new_key, public, signed
from tests.server.pages.browsers import SIGN_IN, Browser, csrf_of, serve_pages
from tests.server.whole_app import OPERATOR

NO_RATES = {"HTTP_RATE_LIMIT_ENABLED": "false"}
SERVER_TOKEN = "the-token-of-this-whole-server"
LOCKED = {"HTTP_BEARER_TOKEN": SERVER_TOKEN, "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "false", **NO_RATES}
JWT = {
    "HTTP_JWT_ENABLED": "true",
    "HTTP_JWT_AUDIENCE": AUDIENCE,
    "HTTP_JWT_ISSUER": ISSUER,
    "HTTP_JWT_SECRET": SECRET,
}
NO_SECRET = {name: value for name, value in JWT.items() if name != "HTTP_JWT_SECRET"}


def a_jwt(subject: str = "ada", role: str = "operator", **claimed: str) -> str:
    now = int(time.time())
    return signed(claims(sub=subject, iat=now, exp=now + 900, role=role, **claimed))


@asynccontextmanager
async def signed_in(directory: Path, token: str, **settings: str) -> AsyncIterator[tuple[Browser, int]]:
    """A browser with a session, and the port of the server that opened it, which has ended."""
    async with serve_pages(directory, **settings) as served:
        browser = Browser(httpx.AsyncClient(base_url=served.url, timeout=60), served.url)
        answer = await browser.sign_in(token)
        assert answer.status_code == 303, answer.text
        port = int(served.url.rpartition(":")[2])
    try:
        yield browser, port
    finally:
        await browser.client.aclose()


async def who_is(browser: Browser, directory: Path, port: int, **settings: str) -> str:
    """As what it is shown the pages by a server with these settings."""
    async with serve_pages(directory, port, **settings):
        status = (await browser.get("/mail")).status_code
        return await browser.who() if status == 200 else str(status)


async def test_each_kind_of_token_signs_in_as_what_it_is(tmp_path: Path) -> None:
    async with serve_pages(tmp_path, **LOCKED, **JWT) as served:
        await served.call("ensure_project", human_key="/code/app")
        await served.call("register_agent", project_key="/code/app", name="BlueLake", program="t", model="m")
        issued = {
            role: (await served.call("create_issued_token", expires="1d", role=role))["token"]
            for role in ("reader", "operator")
        }
        tokens = {
            OPERATOR: "Human",
            SERVER_TOKEN: "writer",
            issued["reader"]: "reader",
            issued["operator"]: "Human",
            a_jwt(role="reader"): "reader",
            a_jwt(role="operator"): "Human",
            # What is for agents is theirs, whatever role it gives.
            a_jwt(role="operator", agent="BlueLake"): "writer",
            a_jwt(role="operator", agent="Nobody@nowhere"): "nobody",
        }
        for token, role in tokens.items():
            browser = served.browser()
            answer = await browser.sign_in(token)
            assert (answer.status_code, await browser.who()) == (303, role), token[:12]


async def test_the_servers_token_gives_a_session_no_more_than_it_gives_now(tmp_path: Path) -> None:
    operators = {**LOCKED, "HTTP_BEARER_ROLE": "operator"}
    async with signed_in(tmp_path, SERVER_TOKEN, **operators) as (browser, port):
        seen = [
            await who_is(browser, tmp_path, port, **settings)
            for settings in (
                operators,
                {**LOCKED, "HTTP_BEARER_ROLE": "reader"},
                {**operators, "HTTP_RBAC_ENABLED": "false"},
                {**operators, "HTTP_BEARER_TOKEN": "another-token-of-this-server"},
                operators,
            )
        ]

    assert seen == ["Human", "reader", "writer", "401", "Human"]


async def test_what_a_token_gives_later_is_not_granted_to_its_sessions(tmp_path: Path) -> None:
    async with signed_in(tmp_path, SERVER_TOKEN, **LOCKED, HTTP_BEARER_ROLE="reader") as (browser, port):
        assert await who_is(browser, tmp_path, port, **LOCKED, HTTP_BEARER_ROLE="operator") == "reader"


async def test_a_session_of_a_jwt_outlives_a_restart_with_the_same_settings(tmp_path: Path) -> None:
    async with signed_in(tmp_path, a_jwt(), **LOCKED, **JWT) as (browser, port):
        assert await who_is(browser, tmp_path, port, **LOCKED, **JWT) == "Human"


@pytest.mark.parametrize(
    "changed",
    [
        {"HTTP_JWT_SECRET": "another key of forty characters, or so".replace(" ", "_")},
        {"HTTP_JWT_AUDIENCE": f"{AUDIENCE},other"},
        {"HTTP_JWT_ISSUER": "https://id.example/realms/other"},
        {"HTTP_JWT_ALGORITHMS": "HS256,HS512"},
        {"HTTP_JWT_ROLE_CLAIM": "roles"},
        {"HTTP_JWT_AGENT_CLAIM": "agents"},
        {"HTTP_RBAC_OPERATOR_ROLES": "root"},
        {"HTTP_RBAC_READER_ROLES": "guests"},
        {"HTTP_RBAC_WRITER_ROLES": "authors"},
        {"HTTP_RBAC_DEFAULT_ROLE": "none"},
        {"HTTP_RBAC_ENABLED": "false"},
        {"HTTP_JWT_ENABLED": "false"},
    ],
    ids=",".join,
)
async def test_a_session_of_a_jwt_ends_with_the_settings_that_judged_it(
    tmp_path: Path, changed: dict[str, str]
) -> None:
    async with signed_in(tmp_path, a_jwt(), **LOCKED, **JWT) as (browser, port):
        assert await who_is(browser, tmp_path, port, **{**LOCKED, **JWT, **changed}) == "401"


async def test_a_session_of_a_jwt_ends_with_the_key_that_signed_it(tmp_path: Path) -> None:
    one, other = new_key("ES256"), new_key("ES256", 1)
    now = int(time.time())
    token = signed(claims(iat=now, exp=now + 900, role="operator"), algorithm="ES256", key=one, header={"kid": "one"})
    async with issuing(public(one, kid="one"), public(other, kid="other")) as issuer:
        settings = {**LOCKED, **NO_SECRET, "HTTP_JWT_JWKS_URL": issuer.url, "HTTP_JWT_ALGORITHMS": "ES256"}
        async with signed_in(tmp_path, token, **settings) as (browser, port):
            kept = await who_is(browser, tmp_path, port, **settings)
            issuer.publish(public(other, kid="other"))
            gone = await who_is(browser, tmp_path, port, **settings)

    assert (kept, gone) == ("Human", "401")


async def test_a_token_signs_in_often_and_signs_nobody_else_out(tmp_path: Path) -> None:
    async with serve_pages(tmp_path, **NO_RATES) as served:
        operator = served.browser()
        await operator.sign_in()
        another = served.browser()
        await another.sign_in((await served.call("create_issued_token", expires="1d", role="reader"))["token"])
        readers = (await served.call("create_issued_token", expires="1d", role="reader"))["token"]
        first, last = served.browser(), served.browser()
        await first.sign_in(readers)
        for _ in range(205):
            await last.sign_in(readers)
        seen = [await one.who() for one in (operator, another, first, last)]

    assert seen == ["Human", "reader", "Reading only", "reader"]


async def test_all_sessions_of_a_jwts_subject_are_one_payer_with_the_subject(tmp_path: Path) -> None:
    rates = {"HTTP_RATE_LIMIT_ENABLED": "true", "HTTP_RATE_LIMIT_PER_MINUTE": "1"}
    settings = {**LOCKED, **JWT, **rates, "HTTP_TRUSTED_PROXIES": "127.0.0.1"}
    async with serve_pages(tmp_path, **settings) as served:
        browsers = [served.browser() for _ in range(4)]
        for number, (browser, subject) in enumerate(zip(browsers, ("ada", "ada", "bob", "bob"), strict=True)):
            page = await browser.get(SIGN_IN, x_forwarded_for=f"10.0.{number}.1")
            fields = {"csrf": csrf_of(page, SIGN_IN), "token": a_jwt(subject)}
            answer = await browser.post(SIGN_IN, fields, x_forwarded_for=f"10.0.{number}.2")
            assert answer.status_code == 303, answer.text
        seen = [(await browser.get("/mail")).status_code for browser in browsers]
        shown = await served.browser().get("/mail", authorization=f"Bearer {a_jwt('bob')}")

    assert seen == [200, 429, 200, 429]
    assert shown.status_code == 429
