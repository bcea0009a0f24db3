"""The pages for people where a parent application, or a proxy, has this one below a prefix: not there, and said so."""

from __future__ import annotations

import http.client
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from mcp_agent_mail.asgi import create_app, lifespan
from tests.test_asgi import client_of, parent, settings_of, two_agents


@pytest.mark.parametrize("path", ["", "/", "/mail", "/mail/", "/mail/sign-in", "/assets/0/tokens.css"])
@pytest.mark.parametrize("lock", [{}, {"HTTP_BEARER_TOKEN": "the-token", "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "0"}])
async def test_below_a_prefix_there_are_no_pages_and_that_is_said(
    tmp_path: Path, path: str, lock: dict[str, str]
) -> None:
    mail = create_app({**settings_of(tmp_path), **lock})
    async with lifespan(mail), client_of(Starlette(routes=[Mount("/x", app=mail)])) as client:
        answer = await client.get(f"/x{path}", follow_redirects=True)

    assert answer.status_code == http.client.NOT_FOUND
    assert "not served below a prefix" in answer.json()["detail"]
    assert "'/x'" in answer.json()["detail"]


@pytest.mark.parametrize("prefix", ["/x", "/mail"])
async def test_a_proxys_prefix_that_is_told_is_none_for_pages_either(tmp_path: Path, prefix: str) -> None:
    mail = create_app(settings_of(tmp_path))
    transport = httpx.ASGITransport(app=mail, root_path=prefix)
    async with lifespan(mail), httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
        answers = [await client.get(path) for path in (f"{prefix}/mail", "/mail/sign-in", "/")]
        alive = await client.get(f"{prefix}/health/liveness")

    assert {answer.status_code for answer in answers} == {http.client.NOT_FOUND}
    assert alive.status_code == http.client.OK


async def test_at_the_root_of_a_parent_there_are_pages(tmp_path: Path) -> None:
    mail = create_app(settings_of(tmp_path))
    async with lifespan(mail), client_of(Starlette(routes=[Mount("/", app=mail)])) as client:
        answer = await client.get("/mail")

    assert answer.status_code == http.client.OK
    assert "text/html" in answer.headers["content-type"]


async def test_that_there_are_no_pages_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mail = create_app(settings_of(tmp_path))
    async with lifespan(mail), client_of(Starlette(routes=[Mount("/x", app=mail)])) as client:
        for _ in range(3):
            await client.get("/x/health/liveness")
            await client.get("/x/mail")
    without = create_app({**settings_of(tmp_path), "WEB_ENABLED": "false"})
    async with lifespan(without), client_of(Starlette(routes=[Mount("/x", app=without)])) as client:
        off = await client.get("/x/mail")

    told = [record for record in caplog.records if "below a prefix" in record.getMessage()]
    assert [record.facts for record in told] == [{"prefix": "/x"}]  # type: ignore[attr-defined]
    assert "prefix" not in off.json()["detail"]


def test_am_web_opens_nothing_below_a_prefix(tmp_path: Path) -> None:
    with parent(tmp_path) as server:
        with server.connect() as connection:
            two_agents(connection, "/mail")
        ended = server.am("web", "--no-browser")

    assert ended.returncode != 0
    assert ended.stdout == ""
    assert "The server is below /mail of an application, where it has no pages." in ended.stderr
