"""Somebody who holds one good token, or half a pair, and hopes that the other half is not looked at.

Every combination of what a request can bring, over real HTTP: as a call of a session, of the era without sessions, and
over `/rpc`, at a server with a token of its own and at one without.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from tests.served import Connection, Served

PROJECT = "/code/app"
SERVERS = "the-token-of-this-server"
WRONG = "amt_wrong"
MODERN = "2026-07-28"
PROFILE = {"program": "tests", "model": "none"}

GIVEN_AS = ("nothing", "blue", "red", "wrong")
ARGUMENTS = ("registration_token", "sender_token")
WAYS = ("session", "modern", "rpc")


@dataclass(frozen=True)
class ServedAgents:
    """A server with two agents; `tokens` by what a combination calls them."""

    server: Served
    tokens: dict[str, str]
    has_token: bool


@pytest.fixture(scope="module", params=[False, True], ids=["no server token", "server token"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAgents]:
    settings: dict[str, str] = {"HTTP_BEARER_TOKEN": SERVERS} if request.param else {}
    authorization = {"Authorization": f"Bearer {SERVERS}"} if request.param else {}
    root = tmp_path_factory.mktemp("served") / "store"
    with Served(root, port=None, **settings) as server, server.connect(**authorization) as connection:
        connection.call("ensure_project", human_key=PROJECT)
        tokens = {"wrong": WRONG, "servers": SERVERS}
        for key, name in (("blue", "BlueLake"), ("red", "RedStone")):
            agent = connection.call("register_agent", project_key=PROJECT, name=name, **PROFILE)
            tokens[key] = agent["registration_token"]
        yield ServedAgents(server, tokens, request.param)


def call(connection: Connection, way: str, headers: dict[str, str], arguments: dict[str, Any]) -> str:
    """The outcome of `set_status` as BlueLake: the error's type, or `verified` or `unverified`."""
    if way == "rpc":
        answer = connection.rpc("set_status", arguments, **headers)
        result = answer.value if answer.status in (200, 403) else None
    else:
        answer = _call_mcp(connection, way, headers, arguments)
        result = answer.value["result"]["structuredContent"] if answer.status == 200 else None
    if result is None:
        return f"HTTP {answer.status}"
    if "error" in result:
        return str(result["error"]["type"])
    return "verified" if result["verified"] else "unverified"


def _call_mcp(connection: Connection, way: str, headers: dict[str, str], arguments: dict[str, Any]) -> Any:
    params: dict[str, Any] = {"name": "set_status", "arguments": arguments}
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    if way == "modern":
        sent |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "set_status"}
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    else:
        sent |= connection._session
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return connection.request("POST", "/mcp", json.dumps(message).encode(), sent)


def expected(served: ServedAgents, bearer: str, header: str, argument: str) -> str:
    """The contract: what is given and wrong is refused; two agents at once are nobody; nothing is no proof."""
    if served.has_token and bearer != "servers":
        return "HTTP 401"
    given = {one for one in (bearer, header, argument) if one not in ("nothing", "servers")}
    if not given:
        return "unverified"
    return "verified" if given == {"blue"} else "PERMISSION_DENIED"


@pytest.mark.parametrize("way", WAYS)
def test_every_combination_of_proofs_is_judged_as_a_whole(served: ServedAgents, way: str) -> None:
    bearers = ("nothing", "servers", "blue", "red", "wrong") if served.has_token else GIVEN_AS
    rows = list(product(bearers, GIVEN_AS, GIVEN_AS, ARGUMENTS))
    told, foretold = {}, {}

    first = {"Authorization": f"Bearer {SERVERS}"} if served.has_token else {}
    with served.server.connect() as connection, served.server.connect(**first) as opening:
        opening.open_session()
        connection._session = opening._session
        for bearer, header, argument, parameter in rows:
            headers = {} if bearer == "nothing" else {"Authorization": f"Bearer {served.tokens[bearer]}"}
            headers |= {} if header == "nothing" else {"X-Agent-Token": served.tokens[header]}
            token = {} if argument == "nothing" else {parameter: served.tokens[argument]}
            arguments = {"project_key": PROJECT, "agent_name": "BlueLake", "status": "busy", **token}
            row = (bearer, header, argument, parameter)
            told[row] = call(connection, way, headers, arguments)
            foretold[row] = expected(served, bearer, header, argument)

    assert len(told) == len(bearers) * 4 * 4 * 2
    assert {row: (told[row], foretold[row]) for row in rows if told[row] != foretold[row]} == {}


def test_two_arguments_that_differ_are_refused_whichever_is_right(served: ServedAgents) -> None:
    first = {"Authorization": f"Bearer {SERVERS}"} if served.has_token else {}
    act = {"project_key": PROJECT, "agent_name": "BlueLake", "status": "busy"}
    pairs = [("blue", "wrong"), ("wrong", "blue"), ("blue", "red"), ("red", "blue"), ("blue", "blue")]

    with served.server.connect(**first) as connection:
        outcomes = [
            connection.rpc(
                "set_status", {**act, "registration_token": served.tokens[one], "sender_token": served.tokens[other]}
            ).error_type
            for one, other in pairs
        ]

    assert outcomes == ["PERMISSION_DENIED"] * 4 + ["OK"]


@pytest.mark.parametrize("path", ["read_resource", "whois", "list_agents", "ensure_project", "fetch_inbox"])
def test_reading_and_looking_up_refuse_a_wrong_half_too(served: ServedAgents, path: str) -> None:
    arguments = {
        "read_resource": {"uri": f"resource://agents/{PROJECT.replace('/', '%2F')}"},
        "whois": {"project_key": PROJECT, "agent_name": "BlueLake"},
        "list_agents": {"project_key": PROJECT},
        "ensure_project": {"human_key": PROJECT},
        "fetch_inbox": {"project_key": PROJECT, "agent_name": "BlueLake"},
    }[path]
    good, bad = {"X-Agent-Token": served.tokens["blue"]}, {"X-Agent-Token": WRONG}
    first = {"Authorization": f"Bearer {SERVERS}"} if served.has_token else {}
    wrong_bearer = {"Authorization": f"Bearer {WRONG}"}

    with served.server.connect() as connection:
        right = connection.rpc(path, arguments, **first, **good)
        beside = connection.rpc(path, arguments, **wrong_bearer, **good)
        alone = connection.rpc(path, arguments, **first, **bad)

    assert (right.status, beside.status, alone.status) == (200, 401 if served.has_token else 403, 403)
