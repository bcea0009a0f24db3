"""What a request counts as at a running server, and whose rate it counts against."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers
from mcp_agent_mail.server.edge.edge import Edge
from mcp_agent_mail.server.edge.gate import Gate
from mcp_agent_mail.server.edge.rates import RateClass
from mcp_agent_mail.server.jwt.verifier import jwt_verifier
from mcp_agent_mail.server.transport.limits import MAX_BODY_BYTES
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
from tests.server.hosted import hosted
from tests.server.jwt.issuing import AUDIENCE, ISSUER, FakeClock, issuing, new_key, public, signed
from tests.server.rest.toy_routes import rest_app


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


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


async def test_a_call_with_a_number_that_is_none_counts_once(clock: StandingClock) -> None:
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a","times":NaN}}}'
    )
    async with asking(rates=rates_of(clock, tools=9, others=1)) as client:
        called = await client.post("/mcp", content=body, headers={"Content-Type": "application/json"})
        other = await client.post("/mcp", json=mcp("tools/list"))

    assert (called.status_code, error_of(called)["type"]) == (200, "INVALID_INPUT")
    assert other.status_code == 200


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
        ("POST", "/mcp", b"[]"),
        ("POST", "/mcp", b'{"tools/call": 1}'),
        ("POST", "/mcp", b'{"method": "tools/call"}'),
        ("POST", "/mcp", b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}'),
        ("POST", "/mcp", b'{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"echo"}}'),
        ("POST", "/mcp", b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"echo"}'),
        ("POST", "/mcp", b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'),
        (
            "POST",
            "/mcp",
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"x":"%b"}' % (b"y" * 300_000),
        ),
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
