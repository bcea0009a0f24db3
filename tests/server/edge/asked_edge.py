"""A running server behind an edge, and what a test asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers
from mcp_agent_mail.server.edge.browsers import Origins
from mcp_agent_mail.server.edge.edge import Edge
from mcp_agent_mail.server.edge.gate import Gate
from mcp_agent_mail.server.edge.proxies import Proxies
from mcp_agent_mail.server.edge.rates import NO_RATES, Rate, RateClass, Rates
from mcp_agent_mail.server.jwt.verifier import JwtVerifier
from tests.server.edge.standing_clock import StandingClock
from tests.server.hosted import hosted
from tests.server.rest.toy_routes import rest_app

SERVER, OPERATOR = "the-servers-token", "amo_the-operators"
PAGE = "https://app.example"
QUESTION = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}


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
