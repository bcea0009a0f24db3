from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from mcp_agent_mail.web.headers import PAGE_HEADERS
from tests.server.pages.browsers import SIGN_IN, SIGN_OUT, Browser, ServedPages, csrf_of, serve_pages
from tests.server.whole_app import OPERATOR

NO_RATES = {"HTTP_RATE_LIMIT_ENABLED": "false"}
SERVER_TOKEN = "the-token-of-this-whole-server"
LOCKED = {"HTTP_BEARER_TOKEN": SERVER_TOKEN, "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "false", **NO_RATES}
HOURS = 3_600
DAYS = 24 * HOURS


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedPages]:
    async with serve_pages(tmp_path, **NO_RATES) as opened:
        yield opened


def port_of(served: ServedPages) -> str:
    return served.url.rpartition(":")[2]


async def issue(served: ServedPages, **wish: str) -> tuple[int, str]:
    made = await served.call("create_issued_token", expires="1d", **wish)
    return made["id"], made["token"]


async def link_of(served: ServedPages) -> str:
    return str((await served.call("create_sign_in_link"))["path"])


@pytest.mark.parametrize("token", ["wrong", "amo_wrong", "amk_wrong", "a.b.c", ""])
async def test_a_token_that_opens_nothing_signs_nobody_in(served: ServedPages, token: str) -> None:
    browser = served.browser()

    answer = await browser.sign_in(token)

    assert answer.status_code == 403
    assert await browser.who() == "Reading only"


async def test_cookies_of_another_port_sign_nobody_out(served: ServedPages) -> None:
    """Cookies ignore ports: a page of another server of this machine sets some of this name."""
    browser = served.browser()
    await browser.sign_in_by(await link_of(served))
    (own,) = [f"{one.name}={one.value}" for one in browser.client.cookies.jar]
    name = own.partition("=")[0]
    foreign = "; ".join(f"{name}={value}" for value in ("x", "", "ams_wrong", *"abcdefgh"))
    stranger = served.browser()

    for sent in (f"{foreign}; {own}", f"{own}; {foreign}"):
        stranger.client.headers["cookie"] = sent
        assert await stranger.who() == "Human"
    stranger.client.headers["cookie"] = foreign
    assert await stranger.who() == "Reading only"


async def test_wrong_tokens_are_limited(tmp_path: Path) -> None:
    async with serve_pages(tmp_path, HTTP_RATE_LIMIT_ENABLED="true") as served:
        browser = served.browser()
        answers = [await browser.sign_in("wrong") for _ in range(60)]

    assert any("Too many" in answer.text or answer.status_code == 429 for answer in answers)


async def test_a_link_signs_in_once_and_fetching_it_beforehand_nobody(served: ServedPages) -> None:
    path = await link_of(served)
    mail_program, browser, late = served.browser(), served.browser(), served.browser()

    for method in ("GET", "HEAD"):
        await mail_program.client.request(method, path)
    fetched = await mail_program.who()
    first = await browser.sign_in_by(path)
    second = await late.sign_in_by(path)

    assert fetched == "Reading only"
    assert (first.status_code, await browser.who()) == (303, "Human")
    assert (second.status_code, await late.who()) == (403, "Reading only")


async def test_a_link_ends_with_its_minute(served: ServedPages) -> None:
    path = await link_of(served)
    served.clock.ahead_s = 61
    browser = served.browser()

    assert (await browser.sign_in_by(path)).status_code == 403
    assert await browser.who() == "Reading only"


async def test_the_cookie_is_of_this_port_below_mail_and_no_scripts(served: ServedPages) -> None:
    set_cookies = (await served.browser().sign_in()).headers.get_list("set-cookie")

    session = next(one for one in set_cookies if one.startswith("agent_mail_session"))
    assert re.fullmatch(
        rf"agent_mail_session_{port_of(served)}=ams_[\w-]+; Path=/mail; HttpOnly; SameSite=Strict", session
    )


async def test_behind_https_the_cookie_is_for_https_alone(tmp_path: Path) -> None:
    async with serve_pages(tmp_path, HTTP_PUBLIC_URL="https://mail.example", **NO_RATES) as served:
        browser = served.browser()
        page = await browser.get(SIGN_IN)
        kept = page.headers["set-cookie"].partition(";")[0]
        fields = {"csrf": csrf_of(page, SIGN_IN), "token": OPERATOR}
        answer = await browser.post(SIGN_IN, fields, cookie=kept, origin="https://mail.example")

    told = [*page.headers.get_list("set-cookie"), *answer.headers.get_list("set-cookie")]
    assert [one.partition("=")[0].rpartition("_")[0] for one in told if "; Secure" in one] == [
        "agent_mail_form",
        "agent_mail_session",
        "agent_mail_form",
    ]


async def test_the_cookie_counts_nowhere_but_below_mail(tmp_path: Path) -> None:
    async with serve_pages(tmp_path, **LOCKED) as served:
        browser = served.browser()
        await browser.sign_in()
        cookie = "; ".join(f"{name}={value}" for name, value in browser.client.cookies.items())

        own = await browser.get("/mail")
        others = [
            await served.browser().client.request(
                method, path, headers={"cookie": cookie}, json={} if method == "POST" else None
            )
            for method, path in (
                ("POST", "/rpc/list_projects"),
                ("POST", "/mcp"),
                ("GET", "/rest/v1/projects"),
                ("GET", "/attachments/code-app/" + "0" * 64),
                ("GET", "/metrics"),
            )
        ]

    assert own.status_code == 200
    assert [answer.status_code for answer in others if answer.status_code not in (401, 404)] == []
    assert 401 in {answer.status_code for answer in others}


async def test_a_session_ends_after_eight_hours_of_rest(served: ServedPages) -> None:
    browser = served.browser()
    await browser.sign_in()

    served.clock.ahead_s = 8 * HOURS - 60
    before = await browser.who()
    served.clock.ahead_s = 16 * HOURS

    assert (before, await browser.who()) == ("Human", "Reading only")


async def test_a_session_ends_after_seven_days_of_work(served: ServedPages) -> None:
    browser = served.browser()
    await browser.sign_in()
    seen = []

    for hours in range(7, 7 * 24 + 8, 7):
        served.clock.ahead_s = hours * HOURS
        seen.append((hours >= 7 * 24, await browser.who()))

    assert set(seen) == {(False, "Human"), (True, "Reading only")}


async def test_a_session_outlives_a_restart_but_not_another_server_token(tmp_path: Path) -> None:
    async with serve_pages(tmp_path, **LOCKED) as served:
        port = int(port_of(served))
        by_server, by_operator = Browser(httpx.AsyncClient(base_url=served.url), served.url), None
        by_operator = Browser(httpx.AsyncClient(base_url=served.url), served.url)
        await by_server.sign_in(SERVER_TOKEN)
        await by_operator.sign_in()

    async with serve_pages(tmp_path, port, **LOCKED):
        kept = (await by_server.who(), await by_operator.who())
    async with serve_pages(tmp_path, port, **{**LOCKED, "HTTP_BEARER_TOKEN": "another-token-of-this-server"}):
        changed = ((await by_server.get("/mail")).status_code, await by_operator.who())
    for browser in (by_server, by_operator):
        await browser.client.aclose()

    assert kept == ("writer", "Human")
    assert changed == (401, "Human")


async def test_a_session_ends_with_its_issued_token(served: ServedPages) -> None:
    number, token = await issue(served, role="operator")
    browser = served.browser()
    await browser.sign_in(token)
    before = await browser.who()

    await served.call("revoke_issued_token", issued_token_id=number)

    assert (before, await browser.who()) == ("Human", "Reading only")


async def test_signing_out_ends_the_session_wherever_its_cookie_is(served: ServedPages) -> None:
    browser, thief = served.browser(), served.browser()
    await browser.sign_in()
    thief.client.cookies.update(browser.client.cookies)

    answer = await browser.post(SIGN_OUT, {"csrf": csrf_of(await browser.get("/mail"), SIGN_OUT)})

    assert answer.status_code == 303
    assert (await browser.who(), await thief.who()) == ("Reading only", "Reading only")


async def test_a_form_of_our_own_page_alone_is_taken(served: ServedPages) -> None:
    browser, other = served.browser(), served.browser()
    await browser.sign_in()
    await other.sign_in()
    own = csrf_of(await browser.get("/mail"), SIGN_OUT)
    another_sessions = csrf_of(await other.get("/mail"), SIGN_OUT)
    another_actions = csrf_of(await browser.get(SIGN_IN), SIGN_IN)
    port = int(port_of(served))

    for csrf in ("", "0" * 64, another_sessions, another_actions):
        answer = await browser.post(SIGN_OUT, {"csrf": csrf})
        assert answer.status_code == 403, csrf
    assert (await browser.post(SIGN_OUT, {})).status_code == 403
    for headers in (
        {"origin": f"http://127.0.0.1:{port + 1}"},
        {"origin": "http://127.0.0.1"},
        {"origin": f"https://127.0.0.1:{port}"},
        {"origin": f"http://localhost:{port}"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "", "referer": f"http://127.0.0.1:{port + 1}/mail"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "none"},
    ):
        answer = await browser.post(SIGN_OUT, {"csrf": own}, **headers)
        assert answer.status_code == 403, headers
    for answer in (
        await browser.get(f"{SIGN_OUT}?csrf={own}"),
        await browser.client.put(SIGN_OUT, data={"csrf": own}, headers={"origin": served.url}),
    ):
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")

    assert await browser.who() == "Human"
    assert (await browser.post(SIGN_OUT, {"csrf": own}, origin="", referer=f"{served.url}/mail")).status_code == 303


async def test_the_form_to_sign_in_is_judged_alike(served: ServedPages) -> None:
    browser, other = served.browser(), served.browser()
    own, others = [csrf_of(await one.get(SIGN_IN), SIGN_IN) for one in (browser, other)]

    for csrf, headers in (
        ("", {}),
        (others, {}),
        (own, {"origin": "http://evil.example"}),
        (own, {"sec_fetch_site": "cross-site"}),
        (own, {"origin": ""}),
    ):
        answer = await browser.post(SIGN_IN, {"csrf": csrf, "token": OPERATOR}, **headers)
        assert answer.status_code == 403, headers
        assert "set-cookie" not in answer.headers
    assert (await browser.get(f"{SIGN_IN}?csrf={own}&token={OPERATOR}")).status_code == 200
    assert await browser.who() == "Reading only"


@pytest.mark.parametrize("media_type", ["application/json", "multipart/form-data; boundary=x", "text/plain", ""])
async def test_what_is_no_form_is_not_read(served: ServedPages, media_type: str) -> None:
    browser = served.browser()
    await browser.sign_in()
    csrf = csrf_of(await browser.get("/mail"), SIGN_OUT)

    headers = {"origin": served.url, "content-type": media_type}
    answer = await browser.client.post(SIGN_OUT, content=f"csrf={csrf}", headers=headers)

    assert answer.status_code == 403
    assert await browser.who() == "Human"


async def test_a_form_of_too_much_is_refused(served: ServedPages) -> None:
    browser = served.browser()
    await browser.sign_in()

    many = await browser.post(SIGN_OUT, {f"field{number}": "x" for number in range(300)})
    large = await browser.post(SIGN_OUT, {"csrf": "x" * (5 * 1024 * 1024)})

    assert (many.status_code, large.status_code) == (403, 413)


async def test_without_a_session_no_form_is_taken(served: ServedPages) -> None:
    answer = await served.browser().post(SIGN_OUT, {"csrf": "0" * 64})

    assert answer.status_code == 401
    assert f'href="{SIGN_IN}?back=' in answer.text


async def test_a_locked_server_shows_nobody_anything(tmp_path: Path) -> None:
    async with serve_pages(tmp_path, **LOCKED) as served:
        await served.call("ensure_project", human_key="/code/secret-name")
        browser = served.browser()
        pages = [
            await browser.get(path) for path in ("/", "/mail", "/mail?box=needs", "/mail/x/message/1", "/mail/none")
        ]
        opened = await browser.get(SIGN_IN)

    assert {page.status_code for page in pages} == {401}
    assert [page for page in (*pages, opened) if "secret-name" in page.text] == []
    assert all(SIGN_IN in page.text for page in pages)
    assert opened.status_code == 200


async def test_an_answer_of_any_kind_says_what_a_browser_must_know(served: ServedPages) -> None:
    browser = served.browser()
    page = await browser.get("/mail")
    answers = {
        "page": page,
        "moved": await browser.get("/"),
        "missing": await browser.get("/mail/none/message/1"),
        "no page": await browser.get("/mail/a/b/c/d"),
        "unfit": await browser.get("/mail?box=spam"),
        "no method": await browser.client.delete("/mail"),
        "sign in": await browser.get(SIGN_IN),
        "refused": await browser.post(SIGN_OUT, {}),
        "another host": await browser.get("/mail", host="evil.example"),
        "too large": await browser.post(SIGN_IN, {"csrf": "x" * (5 * 1024 * 1024)}),
        "head": await browser.client.head("/mail"),
    }

    for what, answer in answers.items():
        told = {name: answer.headers.get(name) for name, _ in PAGE_HEADERS}
        assert told == dict(PAGE_HEADERS), (what, answer.status_code)


async def test_assets_are_kept_for_good_and_none_has_another_digest(served: ServedPages) -> None:
    browser = served.browser()
    href = re.findall(r'href="(/assets/[^"]+\.css)"', (await browser.get("/mail")).text)[0]

    there = await browser.get(href)
    missing = await browser.get(re.sub(r"/assets/\w+/", "/assets/0123456789abcdef/", href))

    assert there.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (missing.status_code, missing.headers["cache-control"]) == (404, "no-store")
    for answer in (there, missing):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert (await browser.client.post(href)).status_code == 405


async def test_head_is_get_without_its_body(served: ServedPages) -> None:
    browser = served.browser()

    for path in ("/mail", "/mail/none/message/1", SIGN_IN):
        head, page = await browser.client.head(path), await browser.get(path)
        assert (head.status_code, head.content, head.headers["content-type"]) == (
            page.status_code,
            b"",
            page.headers["content-type"],
        ), path


async def test_another_host_and_another_site_are_refused_by_a_page(served: ServedPages) -> None:
    browser = served.browser()

    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        answer = await browser.get("/mail", **headers)
        assert answer.status_code in (400, 403, 421), headers
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "access-control-allow-origin" not in answer.headers


async def test_pages_that_are_off_are_not_there(tmp_path: Path) -> None:
    async with serve_pages(tmp_path, WEB_ENABLED="false", **NO_RATES) as served:
        browser = served.browser()
        answers = [await browser.get(path) for path in ("/", "/mail", SIGN_IN, "/assets/x/tokens.css")]

    assert {answer.status_code for answer in answers} == {404}


def test_a_server_without_visitors_imports_nothing_that_makes_pages() -> None:
    code = (
        "import sys, mcp_agent_mail.server.assembly\n"
        "made = ('jinja2', 'nh3', 'mcp_agent_mail.web.app', 'mcp_agent_mail.web.pages')\n"
        "print(sorted(set(made) & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "[]"


@pytest.mark.parametrize("path", ["/", "/mail", "/mail/now"])
async def test_a_client_of_mcp_that_was_given_a_page_is_told_where_mcp_is(served: ServedPages, path: str) -> None:
    wanted = {"accept": "application/json, text/event-stream"}
    async with httpx.AsyncClient(base_url=served.url, headers=wanted, timeout=60) as client:
        answer = await client.post(path, json={"jsonrpc": "2.0", "id": 1, "method": "initialize"})

    assert answer.status_code == 404
    assert "MCP is at /mcp" in answer.json()["error"]["message"]


async def test_nobody_posts_to_an_address_that_leads_elsewhere(served: ServedPages) -> None:
    browser = served.browser()

    found = await browser.get("/")
    posted = await browser.post("/", {})

    assert (found.status_code, found.headers["location"]) == (303, "/mail")
    assert posted.status_code == 404
