"""What every request meets at a running server: Host and Origin, its token, its role."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.roles import Role
from tests.core.machine import Machine
from tests.server.edge.asked_edge import (
    OPERATOR,
    PAGE,
    QUESTION,
    SERVER,
    asking,
    bearer,
    error_of,
    mcp,
    rates_of,
    tool_call,
)
from tests.server.edge.standing_clock import StandingClock
from tests.server.pages.browsers import serve_pages


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# Roles


async def test_a_reader_reads_and_is_told_what_writing_needs() -> None:
    async with asking(server_token=SERVER, role=Role.READER, headers=bearer(SERVER)) as client:
        read = [
            await client.post("/rpc/echo", json={"text": "a"}),
            await client.post("/rpc/read_resource", json={"uri": "resource://toys"}),
            await client.get("/rest/v1/picked"),
            await client.get("/rest/v1/toys"),
        ]
        over_rpc = await client.post("/rpc/keep", json={"number": 1})
        over_rest = await client.post("/rest/v1/kept/1/again", json={})
        marked = await client.get("/rest/v1/picked?mark_read=true")
        over_mcp = await client.post("/mcp", json=tool_call("keep", number=1))

    assert [answer.status_code for answer in read] == [200] * 4
    assert [answer.status_code for answer in (over_rpc, over_rest, marked)] == [403] * 3
    for answer in (over_rpc, over_rest, marked, over_mcp):
        error = error_of(answer)
        assert (error["type"], error["data"]) == ("PERMISSION_DENIED", {"held": "reader", "needed": "writer"})


@pytest.mark.parametrize("value", [True, "true", "TRUE", " true "])
async def test_a_reader_marks_nothing_read_however_it_is_written(value: object) -> None:
    async with asking(server_token=SERVER, role=Role.READER, headers=bearer(SERVER)) as client:
        marked = await client.post("/rpc/pick", json={"mark_read": value})
        unmarked = await client.post("/rpc/pick", json={"mark_read": False})

    assert (marked.status_code in (400, 403), unmarked.status_code) == (True, 200)


async def test_tools_of_the_operator_need_its_role_and_are_unknown_over_mcp() -> None:
    async with asking(server_token=SERVER) as client:
        as_writer = await client.post("/rpc/rule", json={}, headers=bearer(SERVER))
        as_operator = await client.post("/rpc/rule", json={}, headers=bearer(OPERATOR))
        over_mcp = await client.post("/mcp", json=tool_call("rule"), headers=bearer(OPERATOR))

    assert (as_writer.status_code, error_of(as_writer)["data"]) == (403, {"held": "writer", "needed": "operator"})
    assert (as_operator.status_code, as_operator.json()) == (200, {"ruled": True})
    assert "Unknown tool" in over_mcp.text


async def test_all_roles_are_shown_the_same_tools() -> None:
    async with asking(server_token=SERVER, role=Role.READER) as client:
        as_reader = await client.post("/mcp", json=mcp("tools/list"), headers=bearer(SERVER))
        as_operator = await client.post("/mcp", json=mcp("tools/list"), headers=bearer(OPERATOR))

    assert as_reader.json() == as_operator.json()
    assert "keep" in {tool["name"] for tool in as_reader.json()["result"]["tools"]}


# Refusals, and what every answer says


async def test_a_401_says_how_to_come_in_and_whether_a_token_was_wrong() -> None:
    async with asking(server_token=SERVER) as client:
        missing = await client.post("/mcp", json={})
        wrong = await client.post("/mcp", json={}, headers=bearer("amt_blue"))
        unserved = await client.get("/nowhere")

    assert [answer.status_code for answer in (missing, wrong, unserved)] == [401] * 3
    assert missing.headers.get_list("www-authenticate") == ["Bearer"]
    assert wrong.headers.get_list("www-authenticate") == ['Bearer error="invalid_token"']


async def test_every_answer_says_how_it_may_be_used() -> None:
    async with asking(server_token=SERVER, headers=bearer(SERVER)) as client:
        answers = {
            "call": await client.post("/rpc/echo", json={"text": "a"}),
            "mcp": await client.post("/mcp", json=mcp("tools/list")),
            "refused": await client.post("/rpc/echo", json={"text": "a"}, headers=bearer("wrong")),
            "unserved": await client.get("/nowhere"),
            "host": await client.get("/nowhere", headers={"Host": "evil.example"}),
            "too long": await client.get("/" + "a" * 9_000),
            "probe": await client.get("/health/liveness"),
            "discovery": await client.get("/.well-known/openid-configuration"),
        }

    for name, answer in answers.items():
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"], name
        assert answer.headers.get_list("referrer-policy") == ["no-referrer"], name
    kept_nowhere = {name for name, answer in answers.items() if "no-store" in answer.headers.get("cache-control", "")}
    assert kept_nowhere == {"call", "mcp", "refused", "unserved", "host"}


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/health/liveness", "GET, HEAD"),
        ("OPTIONS", "/health/readiness", "GET, HEAD"),
        ("DELETE", "/.well-known/oauth-protected-resource", "GET, HEAD"),
        ("GET", "/rpc/echo", "POST"),
        ("PUT", "/rpc/echo", "POST"),
    ],
)
async def test_other_methods_than_a_path_has_are_405(method: str, path: str, allowed: str) -> None:
    async with asking() as client:
        refused = await client.request(method, path)

    assert (refused.status_code, refused.headers["allow"]) == (405, allowed)


async def test_head_of_a_probe_says_what_get_does_without_a_body() -> None:
    async with asking() as client:
        got, head = await client.get("/health/readiness"), await client.head("/health/readiness")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(got.content))


# Browsers


READING = {**QUESTION, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "mcp-protocol-version"}


async def test_a_page_that_is_granted_asks_mcp_rpc_and_rest_and_no_cookie_is_allowed() -> None:
    async with asking(server_token=SERVER, origins=(PAGE,)) as client:
        questions = [await client.options(path, headers=QUESTION) for path in ("/mcp", "/rpc/echo", "/rest/v1/toys")]
        asked = await client.post("/rpc/echo", json={"text": "a"}, headers={"Origin": PAGE, **bearer(SERVER)})
        refused = await client.post("/rpc/echo", json={"text": "a"}, headers={"Origin": PAGE})

    assert [answer.status_code for answer in questions] == [204] * 3
    for answer in (*questions, asked, refused):
        assert answer.headers["access-control-allow-origin"] == PAGE
        assert answer.headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in answer.headers
    assert (asked.status_code, refused.status_code) == (200, 401)


async def test_a_page_that_is_granted_reads_where_to_sign_in_before_it_has_a_token() -> None:
    path = "/.well-known/oauth-protected-resource/mcp"
    async with asking(server_token=SERVER, origins=(PAGE,)) as client:
        asked = await client.get(path, headers={"Origin": PAGE})
        question = await client.options(path, headers=READING)
        evil = await client.get(path, headers={"Origin": "https://evil.example"})
        evils_question = await client.options(path, headers={**READING, "Origin": "https://evil.example"})
    async with asking(server_token=SERVER) as client:
        ungranted = await client.get(path, headers={"Origin": PAGE})

    assert (asked.status_code, asked.json(), question.status_code) == (404, {"mcp_oauth": False}, 204)
    for answer in (asked, question):
        assert (answer.headers["access-control-allow-origin"], answer.headers["vary"]) == (PAGE, "Origin")
        assert "access-control-allow-credentials" not in answer.headers
    assert "mcp-protocol-version" in question.headers["access-control-allow-headers"]
    assert evils_question.status_code == 405
    for answer in (evil, evils_question, ungranted):
        assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize("path", ["/nowhere", "/health/liveness"])
async def test_no_other_path_is_opened_to_pages(path: str) -> None:
    async with asking(origins=(PAGE,)) as client:
        question = await client.options(path, headers=QUESTION)
        asked = await client.get(path, headers={"Origin": PAGE})

    for answer in (question, asked):
        assert not any(name.startswith("access-control") for name in answer.headers)
    assert question.status_code in (403, 405)


@pytest.mark.parametrize("origins", [(), (PAGE,)])
async def test_a_page_that_is_not_granted_is_refused(origins: tuple[str, ...]) -> None:
    evil = {**QUESTION, "Origin": "https://evil.example"}
    async with asking(origins=origins) as client:
        question = await client.options("/mcp", headers=evil)
        asked = await client.post("/rpc/echo", json={"text": "a"}, headers={"Origin": "https://evil.example"})

    assert (question.status_code, asked.status_code) == (403, 403)
    assert not any(name.startswith("access-control") for name in (*question.headers, *asked.headers))
    assert asked.headers.get("vary") == ("Origin" if origins else None)


async def test_a_question_for_another_host_is_refused_whoever_asks() -> None:
    async with asking(origins=(PAGE,)) as client:
        question = await client.options("/mcp", headers={**QUESTION, "Host": "evil.example"})

    assert question.status_code == 403


async def test_a_token_that_is_shown_counts_before_the_cookie_of_a_page(tmp_path: Path) -> None:
    locked = {"HTTP_BEARER_TOKEN": SERVER, "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "false"}
    async with serve_pages(tmp_path, **locked, HTTP_RATE_LIMIT_ENABLED="false") as served:
        readers = (await served.call("create_issued_token", expires="1d", role="reader"))["token"]
        browser = served.browser()
        await browser.sign_in()
        by_cookie = await browser.get("/mail")
        with_wrong = await browser.get("/mail", **bearer("wrong"))
        with_readers = await browser.get("/mail", **bearer(readers))

    assert (by_cookie.status_code, "<span>Human</span>" in by_cookie.text) == (200, True)
    assert (with_wrong.status_code, "<span>Human</span>" in with_wrong.text) == (401, False)
    assert (with_readers.status_code, "<span>reader</span>" in with_readers.text) == (200, True)


# Proxies


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Anything", "Forwarded", "Via"])
@pytest.mark.parametrize("proxies", [(), ("127.0.0.0/8",)])
async def test_what_was_passed_on_is_not_of_this_machine_whoever_says_so(name: str, proxies: tuple[str, ...]) -> None:
    async with asking(server_token=SERVER, trust_loopback=True, proxies=proxies) as client:
        direct = await client.post("/rpc/echo", json={"text": "a"})
        passed_on = await client.post("/rpc/echo", json={"text": "a"}, headers={name: "127.0.0.1"})

    assert (direct.status_code, passed_on.status_code) == (200, 401)


async def test_behind_a_trusted_proxy_each_client_has_a_rate_of_its_own(clock: StandingClock) -> None:
    async def statuses(proxies: tuple[str, ...]) -> list[int]:
        async with asking(proxies=proxies, rates=rates_of(clock, tools=1)) as client:
            asked = [("192.0.2.1",) * 2, ("198.51.100.9, 192.0.2.2",) * 2]
            return [
                (await client.post("/rpc/echo", json={"text": "a"}, headers={"X-Forwarded-For": one})).status_code
                for pair in asked
                for one in pair
            ]

    assert await statuses(("127.0.0.1",)) == [200, 429, 200, 429]
    assert await statuses(()) == [200, 429, 429, 429]
