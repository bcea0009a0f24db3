"""Ways around the token: another's name, a page of another site, a request inside of another, a path, a line of log."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.attack.test_escapes_in_logs import RAW
from tests.attack.test_smuggling import PARTED
from tests.attack.test_unread_requests import ALIVE, say, status_of
from tests.auth.asking import Asker, error_type
from tests.auth.servers import NAMED, OTHER, PROJECT, SERVER_TOKEN, Server, bearer, jwt_claims, open_server
from tests.auth.table import DENIED, PATHS, REST, UNPROVEN, Need
from tests.served import Connection, Served
from tests.server.jwt.issuing import AUDIENCE, SECRET, signed
from tests.server.whole_app import OPERATOR as OPERATOR_TOKEN


@pytest.fixture
async def locked(tmp_path: Path) -> AsyncIterator[Server]:
    async with open_server(tmp_path, AGENT_AUTH="strict", HTTP_BEARER_TOKEN=SERVER_TOKEN) as server:
        yield server


def _act(name: str) -> dict[str, Any]:
    return {"project_key": PROJECT, "agent_name": name, "status": "busy"}


# --- In another's name ------------------------------------------------------------------------------------------------

SAYS_IT_IS = [
    {"X-Agent-Name": NAMED},
    {"X-Agent-Name": NAMED, "X-Agent-Project": PROJECT},
    {"X-Agent-Window": "11111111-1111-4111-8111-111111111111"},
    {"X-Mailbox": NAMED},
    {"X-Forwarded-User": NAMED, "X-Remote-User": NAMED, "Remote-User": NAMED},
    {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1", "Forwarded": "for=127.0.0.1"},
    {"Cookie": f"token={OPERATOR_TOKEN}"},
]


@pytest.mark.parametrize("says", SAYS_IT_IS, ids=str)
async def test_who_says_that_he_is_somebody_is_not(locked: Server, says: dict[str, str]) -> None:
    proof = {"X-Agent-Token": locked.tokens[OTHER]}
    async with Asker(locked.url) as asker:
        unproven = await asker.ask("POST", "/rpc/set_status", {**bearer(SERVER_TOKEN), **says}, _act(NAMED))
        another = await asker.ask("POST", "/rpc/set_status", {**bearer(SERVER_TOKEN), **proof, **says}, _act(NAMED))
        without = await asker.ask("POST", f"/rpc/set_status?agent={NAMED}&project={PROJECT}", says, _act(NAMED))

    assert [error_type(one) for one in (unproven, another, without)] == [UNPROVEN, DENIED, "401"]


@pytest.mark.parametrize("name", ["Human", "System", "human", "SYSTEM", "Hum\u200ban"])
async def test_nobody_but_the_operator_is_human_or_system(locked: Server, name: str) -> None:
    letter = {"project_key": PROJECT, "sender_name": name, "to": [NAMED], "subject": "x", "body_md": "x"}
    proof = {**bearer(SERVER_TOKEN), "X-Agent-Token": locked.tokens[OTHER]}
    async with Asker(locked.url) as asker:
        answers = [
            await asker.ask("POST", "/rpc/send_message", proof, letter),
            await asker.call_over_mcp("send_message", proof, letter),
            await asker.call_over_mcp("send_message", bearer(OPERATOR_TOKEN), letter),
        ]

    assert [one for one in answers if _is_done(one.value)] == []


def _is_done(value: Any) -> bool:
    return "error" not in value and not value.get("result", {"isError": False})["isError"]


CLAIMED = [
    f"{OTHER}@{PROJECT}",
    f"{NAMED}@/code/other",
    f"{NAMED}@{PROJECT}/",
    f"{NAMED}@{PROJECT}/../app2",
    f"{NAMED}@",
    f"@{PROJECT}",
    "*",
    f"*@{PROJECT}",
    f"{NAMED}%",
    f"{NAMED}' OR '1'='1",
    f"{NAMED}\u200b@{PROJECT}",
    [],
    {NAMED: PROJECT},
    [[f"{NAMED}@{PROJECT}"]],
    True,
]


async def test_a_jwt_proves_the_agents_that_it_names_and_no_other(tmp_path: Path) -> None:
    jwt = {"HTTP_JWT_ENABLED": "true", "HTTP_JWT_SECRET": SECRET, "HTTP_JWT_AUDIENCE": AUDIENCE}
    told = {}
    async with open_server(tmp_path, AGENT_AUTH="strict", **jwt) as server, Asker(server.url) as asker:
        for claim in [f"{NAMED}@{PROJECT}", *CLAIMED]:
            token = signed(jwt_claims(role="writer", agent=claim))
            answer = await asker.ask("POST", "/rpc/set_status", bearer(token), _act(NAMED))
            told[str(claim)] = "proven" if answer.status == 200 else error_type(answer)

    # A closing slash names the same project, by whatever way it is written.
    proven = {claim for claim, one in told.items() if one == "proven"}
    assert proven <= {f"{NAMED}@{PROJECT}", f"{NAMED}@{PROJECT}/"}
    assert f"{NAMED}@{PROJECT}" in proven
    assert {one for claim, one in told.items() if claim not in proven} <= {UNPROVEN, DENIED}


# --- A page of another site -------------------------------------------------------------------------------------------

FOREIGN = [
    {"Host": "evil.example"},
    {"Host": "evil.example:8765"},
    {"Host": "127.0.0.1.evil.example"},
    {"Host": "localhost.evil.example"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost.evil.example"},
    {"Host": "evil.example", "X-Forwarded-Host": "localhost"},
]


async def test_a_name_that_leads_here_for_a_moment_opens_nothing_even_with_the_operators_token(locked: Server) -> None:
    asked = [(route.method, path, route.body) for path, route in PATHS.items() if route.need is not Need.NOTHING]
    asked += [(said.split(" ")[0], f"/rest/v1/{said.split(' ')[1]}", None) for said in REST]
    asked += [("POST", "/rpc/list_issued_tokens", {}), ("POST", "/rpc/send_message", {})]
    async with Asker(locked.url) as asker:
        statuses = {
            (await asker.ask(method, path, {**bearer(OPERATOR_TOKEN), **foreign}, body)).status
            for foreign in FOREIGN
            for method, path, body in asked
        }

    assert statuses == {403}


# --- A request inside of another --------------------------------------------------------------------------------------


async def test_what_two_readers_take_for_two_requests_is_none(locked: Server) -> None:
    token = f"Authorization: Bearer {OPERATOR_TOKEN}\r\n".encode()
    served = {}
    for what, sent in PARTED.items():
        heard, _ = await say(locked.url, sent.replace(b"Host: localhost\r\n", b"Host: localhost\r\n" + token, 1))
        if status_of(heard) != 400 or b"HTTP/1.1 2" in heard or ALIVE in heard:
            served[what] = heard

    assert served == {}
    assert len(PARTED) > 30


# --- A path -----------------------------------------------------------------------------------------------------------

TRAVERSING = [
    "/.well-known/../metrics",
    "/.well-known/..%2fmetrics",
    "/.well-known/%2e%2e/rpc/list_issued_tokens",
    "/health/../metrics",
    "/health/liveness/../../metrics",
    "/health/liveness%2f..%2f..%2fmetrics",
    "/health/liveness/",
    "/health/liveness;/metrics",
    "/health//liveness",
    "/Health/Liveness",
    "//metrics",
    "/./metrics",
    "/attachments/../../mail.sqlite3",
    "/attachments/..%2f..%2fmail.sqlite3",
    "/attachments/%2e%2e/%2e%2e/etc/passwd",
    "/attachments/code-app/../../../operator.token",
    "/attachments//etc/passwd",
    "/rest/v1/../../metrics",
    "/rest/v1/..%2f..%2frpc%2flist_issued_tokens",
    "/rpc/../operator.token",
    "/%00/metrics",
    "/metrics%00",
    "/metrics/..",
]


async def test_no_way_to_write_a_path_leads_past_the_token_or_to_a_file(locked: Server) -> None:
    token = f"Authorization: Bearer {OPERATOR_TOKEN}\r\n".encode()
    without, with_token = {}, {}
    for path in TRAVERSING:
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n".encode()
        without[path] = (await say(locked.url, head + b"\r\n"))[0]
        with_token[path] = (await say(locked.url, head + token + b"\r\n"))[0]

    assert {path: status_of(heard) for path, heard in without.items() if status_of(heard) not in (400, 401, 404)} == {}
    assert {path for path, heard in without.items() if status_of(heard) == 404} <= set(TRAVERSING[:3])
    assert {path: heard for path, heard in with_token.items() if status_of(heard) == 200} == {}


# --- A line of log ----------------------------------------------------------------------------------------------------


def test_no_token_writes_a_line_into_the_log_or_stands_there(tmp_path: Path) -> None:
    forged = "x\r\nINFO forged: line\x1b[2J"
    jwt = {"HTTP_JWT_ENABLED": "true", "HTTP_JWT_SECRET": SECRET, "HTTP_JWT_AUDIENCE": AUDIENCE}
    talkative = {"TOOLS_LOG_ENABLED": "true", "HTTP_REQUEST_LOG_ENABLED": "true", "LOG_LEVEL": "DEBUG"}
    tokens = [
        signed(jwt_claims(sub=forged, role="operator", agent=[forged])),
        signed(jwt_claims(sub=forged, iss=forged, exp=1)),
        signed(jwt_claims(), header={"kid": forged, "typ": forged}),
        signed(jwt_claims(role=forged)),
        "amk_\x9b2J\x85INFO forged: line",
        "wrong-and-not-to-be-told",
    ]
    settings: Any = {**jwt, **talkative}
    with Served(tmp_path / "home", **settings) as server:
        for token in tokens:
            with Connection(server.port) as client:
                client.rpc("set_status", {"project_key": "/x", "agent_name": "x"}, Authorization=f"Bearer {token}")
        server.stop()
        log = server.log.read_bytes().decode("utf-8", "backslashreplace")

    assert "set_status" in log
    assert [character for character in RAW if character in log] == []
    assert [line for line in log.splitlines() if "forged" in line and line.startswith("INFO forged")] == []
    assert [token for token in tokens if token in log or json.dumps(token)[1:-1] in log] == []
