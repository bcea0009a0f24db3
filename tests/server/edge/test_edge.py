"""What every request meets at a running server: Host and Origin, its token, its role, its rate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers
from mcp_agent_mail.server.edge.browsers import Origins
from mcp_agent_mail.server.edge.edge import Edge
from mcp_agent_mail.server.edge.gate import Gate
from mcp_agent_mail.server.edge.proxies import Proxies
from mcp_agent_mail.server.edge.rates import NO_RATES, Rate, RateClass, Rates
from mcp_agent_mail.server.jwt.verifier import JwtVerifier, jwt_verifier
from mcp_agent_mail.server.transport.limits import MAX_BODY_BYTES
from tests.core.machine import Machine
from tests.server.edge.standing_clock import StandingClock
from tests.server.hosted import hosted
from tests.server.jwt.issuing import AUDIENCE, ISSUER, FakeClock, issuing, new_key, public, signed
from tests.server.rest.toy_routes import rest_app

SERVER, OPERATOR = "the-servers-token", "amo_the-operators"
PAGE = "https://app.example"


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def rates_of(clock: StandingClock, **per_minute: int) -> Rates:
    return Rates({RateClass(one): Rate(per_minute=rate) for one, rate in per_minute.items()}, now=clock)


@asynccontextmanager
async def asking(
    *,
    server_token: str | None = None,
    role: Role = Role.WRITER,
    trust_loopback: bool = False,
    origins: tuple[str, ...] = (),
    proxies: tuple[str, ...] = (),
    rates: Rates = NO_RATES,
    jwts: JwtVerifier | None = None,
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[httpx.AsyncClient]:
    rules = BearerRules(
        server_token=server_token, operator_token=OPERATOR, server_role=role, trust_loopback=trust_loopback
    )
    gate = Gate(allowed_hosts=(), bearers=Bearers(rules, jwts=jwts), origins=Origins(origins))
    app = rest_app(Edge(gate, proxies=Proxies(proxies), rates=rates))
    async with hosted(app) as url, httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def tool_call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def mcp(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """The error of an answer of MCP, `/rpc` or REST."""
    body = answer.json()
    found: dict[str, Any] = (body["result"]["structuredContent"] if "result" in body else body)["error"]
    return found


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


QUESTION = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
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


# Rates


async def test_a_tool_call_that_comes_too_often_is_told_when(clock: StandingClock) -> None:
    async with asking(rates=rates_of(clock, tools=1)) as client:
        await client.post("/rpc/echo", json={"text": "a"})
        over_rpc = await client.post("/rpc/echo", json={"text": "a"})
        over_rest = await client.get("/rest/v1/picked")
        over_mcp = await client.post("/mcp", json=tool_call("echo", text="a"))
        others = [await client.get("/rest/v1/toys"), await client.post("/mcp", json=mcp("tools/list"))]
        clock.now_s += error_of(over_mcp)["data"]["retry_after_s"]
        waited_out = await client.post("/mcp", json=tool_call("echo", text="a"))

    for answer in (over_rpc, over_rest):
        body = answer.json()
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "61")
        assert (body["error"]["type"], body["error"]["data"]["retry_after_s"]) == ("RATE_LIMITED", 60.001)
        assert body["retry_after_s"] == 60.001
        assert "Too many tool calls" in body["detail"]
    assert (over_mcp.status_code, error_of(over_mcp)["type"]) == (200, "RATE_LIMITED")
    assert [answer.status_code for answer in others] == [200, 200]
    assert waited_out.json()["result"]["structuredContent"]["text"] == "a"


async def test_reads_count_as_reads_wherever_they_are_made(clock: StandingClock) -> None:
    async with asking(rates=rates_of(clock, resources=3)) as client:
        uri = {"uri": "resource://toys"}
        read = [
            await client.post("/rpc/read_resource", json=uri),
            await client.get("/rest/v1/toys"),
            await client.post("/mcp", json=mcp("resources/read", **uri)),
        ]
        beyond = await client.get("/rest/v1/toys")
        over_mcp = await client.post("/mcp", json=mcp("resources/read", **uri))
        tool = await client.post("/rpc/echo", json={"text": "a"})

    assert [answer.status_code for answer in read] == [200] * 3
    assert "error" not in read[2].json()
    assert (beyond.status_code, error_of(beyond)["type"], tool.status_code) == (429, "RATE_LIMITED", 200)
    assert "RATE_LIMITED" in over_mcp.text


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/mcp", b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
        ("POST", "/mcp", b"{"),
        ("POST", "/mcp", b'{"tools/call": 1}'),
        ("DELETE", "/mcp", b""),
        ("GET", "/nowhere", b""),
        ("GET", "/rpc/echo", b""),
        ("POST", "/rpc/echo", b"{"),
        ("POST", "/rpc/echo", b"[]"),
        ("POST", "/rpc/read_resource", b"{}"),
        ("GET", "/rest/v1/nowhere", b""),
        ("DELETE", "/rest/v1/toys", b""),
        ("GET", "/rest/v1/picked?stranger=1&stranger=2", b""),
        ("GET", "/rest/v1/picked?word=a&word=b", b""),
        ("GET", "/rest/v1/toys?limit=x", b""),
        ("GET", "/rest/v1/openapi.json", b""),
        ("GET", "/rest/v1/stream", b""),
        ("GET", "/.well-known/openid-configuration", b""),
        ("POST", "/.well-known/openid-configuration", b""),
        ("POST", "/mcp?profile=nobodys", b"{}"),
        ("POST", "/rpc/echo?profile=nobodys", b"{}"),
        ("GET", "/rest/v1/toys?profile=nobodys", b""),
        *(("POST", path, b" " * (MAX_BODY_BYTES + 1)) for path in ("/mcp", "/rpc/echo", "/nowhere")),
    ],
    ids=lambda one: f"{one[:80]!r}",
)
async def test_what_is_neither_a_call_nor_a_read_counts_too(
    method: str, path: str, body: bytes, clock: StandingClock
) -> None:
    headers = {"Content-Type": "application/json"} if body else {}
    async with asking(rates=rates_of(clock, others=1), headers=headers) as client:
        first = await client.request(method, path, content=body)
        second = await client.request(method, path, content=body)

    assert first.status_code != 429
    assert (second.status_code, second.headers["retry-after"]) == (429, "61")
    assert second.json()["retry_after_s"] == 60.001
    assert "Too many requests" in second.json()["detail"]


async def test_a_browsers_question_counts_too(clock: StandingClock) -> None:
    async with asking(rates=rates_of(clock, others=1), origins=(PAGE,), headers=QUESTION) as client:
        first, second = await client.options("/mcp"), await client.options("/mcp")

    assert (first.status_code, second.status_code) == (204, 429)


async def test_a_browsers_question_of_where_to_sign_in_counts_too(clock: StandingClock) -> None:
    async with asking(rates=rates_of(clock, others=1), origins=(PAGE,), headers=QUESTION) as client:
        answers = [await client.options("/.well-known/oauth-protected-resource") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [204, 429]


async def test_probes_are_free(clock: StandingClock) -> None:
    async with asking(rates=rates_of(clock, tools=1, resources=1, others=1)) as client:
        answers = [await client.get(f"/health/{probe}") for probe in ("liveness", "readiness") * 5]

    assert [answer.status_code for answer in answers] == [200] * 10


async def test_whatever_names_are_said_the_servers_token_is_one_payer(clock: StandingClock) -> None:
    async with asking(server_token=SERVER, rates=rates_of(clock, tools=2), headers=bearer(SERVER)) as client:
        statuses = [
            (
                await client.post(
                    f"/rpc/echo?agent={name}", json={"text": "a"}, headers={"X-Agent-Name": name, "X-Agent-Token": name}
                )
            ).status_code
            for name in ("BlueLake", "RedStone", "GreenField")
        ]
        operators = await client.post("/rpc/echo", json={"text": "a"}, headers=bearer(OPERATOR))

    assert (statuses, operators.status_code) == ([200, 200, 429], 200)


async def test_thirty_wrong_tokens_a_minute_are_looked_at_and_a_right_one_always(clock: StandingClock) -> None:
    async with asking(server_token=SERVER, rates=rates_of(clock, refused=30)) as client:
        wrong = [(await client.post("/mcp", json={}, headers=bearer(f"{n}"))).status_code for n in range(31)]
        told = await client.post("/mcp", json={}, headers=bearer("wrong"))
        missing = await client.post("/mcp", json={})
        right = await client.post("/rpc/echo", json={"text": "a"}, headers=bearer(SERVER))
        clock.now_s += told.json()["retry_after_s"]
        later = await client.post("/mcp", json={}, headers=bearer("wrong"))

    assert wrong == [401] * 30 + [429]
    said = told.json()
    assert (told.status_code, told.headers["retry-after"], said["detail"]) == (429, "3", said["error"]["message"])
    assert said["error"]["data"] == {"status": 429, "retry_after_s": said["retry_after_s"]}
    assert (missing.status_code, right.status_code, later.status_code) == (401, 200, 401)


async def test_a_wrong_token_beyond_the_rate_is_counted_once(clock: StandingClock) -> None:
    gate = Gate(allowed_hosts=(), bearers=Bearers(BearerRules(server_token=SERVER)))
    edge = Edge(gate, rates=rates_of(clock, refused=1))
    async with hosted(rest_app(edge)) as url, httpx.AsyncClient(base_url=url, headers=bearer("wrong")) as client:
        statuses = [(await client.post("/mcp", json={})).status_code for _ in range(2)]

    assert statuses == [401, 429]
    assert (edge.figures().refused, edge.figures().limited) == ({401: 1}, {RateClass.REFUSED: 1})


async def test_tokens_of_unknown_keys_count_as_wrong_ones(clock: StandingClock, machine: Machine) -> None:
    """Else made-up keys would be a way around the rate."""
    made_up = [signed(algorithm="ES256", header={"kid": f"x{number}"}) for number in range(5)]
    async with issuing(public(new_key("ES256", 1), kid="one")) as issuer:
        given = {"HTTP_JWT_JWKS_URL": issuer.url, "HTTP_JWT_AUDIENCE": AUDIENCE, "HTTP_JWT_ISSUER": ISSUER}
        jwts = jwt_verifier(
            machine.settings(HTTP_JWT_ENABLED="true", HTTP_JWT_ALGORITHMS="ES256", **given), clock=FakeClock()
        )
        async with asking(jwts=jwts, rates=rates_of(clock, refused=3)) as client:
            answers = [await client.post("/rpc/echo", json={"text": "a"}, headers=bearer(token)) for token in made_up]

    assert [answer.status_code for answer in answers] == [401, 503, 503, 429, 429]
    assert (answers[1].headers["retry-after"], answers[1].json()["retry_after_s"]) == ("60", 60)
    assert issuer.looks == 2


async def test_a_burst_at_once_is_counted_to_the_last(clock: StandingClock) -> None:
    async with asking(rates=rates_of(clock, tools=5)) as client:
        answers = await asyncio.gather(*(client.post("/rpc/echo", json={"text": "a"}) for _ in range(20)))

    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [429] * 15
