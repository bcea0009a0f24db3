"""Which door a request is for, what lets it in there, and what a door is handed: over real sockets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_agent_mail.core.concurrency.hearing import SentPromise, current_hearing
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.ids import ISSUED_TOKEN_PREFIX, token_hash
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.tools import ToolTable, current_credentials
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.issued_tokens import NewIssuedToken
from mcp_agent_mail.facades.agentmail.door import PART
from mcp_agent_mail.facades.asgi import AsgiParts, DoorRequest, PlainAnswer, Receive, Send
from mcp_agent_mail.server.dispatch import Calls
from mcp_agent_mail.server.door_ports import WantedPort, opened_ports
from mcp_agent_mail.server.doors import NO_DOORS, OPENINGS, Opening, open_doors
from mcp_agent_mail.server.edge.rates import Rate, RateClass, Rates
from mcp_agent_mail.store.database import Store
from tests.facades.all_doors import open_all_doors
from tests.server.hosted import hosted, toy_app, toy_edge
from tests.server.whole_app import open_services, settings_of

TOKEN = "a-token-of-the-whole-server"
OPERATOR_TOKEN = "the-operators-own-token"


class _Echo:
    """Says what it was handed, and as whom."""

    open_paths = frozenset({"/health"})

    def speaks_mcp(self, _path: str) -> bool:
        return False

    def __init__(self, parts: AsgiParts) -> None:
        self._parts = parts
        self.opened_times = 0
        self.heard: list[str] = []

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        self.opened_times += 1
        yield

    async def answer(self, request: DoorRequest, receive: Receive, send: Send) -> None:
        async def work(body: bytes) -> PlainAnswer:
            if body == b"refuse":
                current_hearing().unless_heard(lambda: self.heard.append("lost"))
                return PlainAnswer(value={}, status=403)
            if body == b"clash":
                raise Conflict("It is taken.", hint="Take another.")
            if body == b"crash":
                raise ValueError(body)
            current_hearing().once_sent(SentPromise(sent=lambda: self.heard.append("sent")))
            current_hearing().unless_heard(lambda: self.heard.append("lost"))
            said = current_credentials()
            if body == b"role":
                return PlainAnswer(value={"as": said.role.word, "handed": request.credentials.role.word})
            value = {"path": request.path, "as": said.door_name, "body": body.decode(), "query": dict(request.query)}
            return PlainAnswer(value=value, headers=((b"x-door", b"yes"),))

        await self._parts.answer_plain(request.named("bob"), receive, send, work)


def _settings(directory: Path) -> Settings:
    return settings_of(directory)


@asynccontextmanager
async def _served(directory: Path, *, token: str | None = None, **edge: Any) -> AsyncIterator[tuple[str, str, _Echo]]:
    """The URL of a server, that of the door's own port, and the door."""
    made: list[_Echo] = []

    def make(_settings: object, _services: object, _calls: object, parts: AsgiParts) -> _Echo:
        made.append(_Echo(parts))
        return made[0]

    settings = _settings(directory)
    openings = {Door.POSTAL: Opening(is_on=lambda _: True, make=make, part="/agents/")}
    wanted = [WantedPort(door=Door.POSTAL, port=0, setting="POSTAL_PORT")]
    async with open_services(settings) as (services, store):
        with opened_ports("127.0.0.1", wanted) as ports:
            doors = open_doors(settings, services, Calls(ToolTable([]), ResourceTable([])), ports.doors, openings)
            app = toy_app(
                toy_edge(server_token=token, operator_token=OPERATOR_TOKEN, tokens=services.token_book, **edge),
                doors=doors,
            )
            for role in Role:
                await _issue(store, role)
            (own,) = ports.urls
            async with hosted(app, beside=ports.sockets) as url:
                yield url, own, made[0]


async def _issue(store: Store, role: Role) -> None:
    hashed = token_hash(f"{ISSUED_TOKEN_PREFIX}{role.word}")
    new = NewIssuedToken(token_hash=hashed, role=role, agent_id=None, note="", expires_ts=None)
    await store.write(lambda tx: tx.issued_tokens.add(new, tx.now))


@pytest.mark.parametrize("at_own_port", [True, False])
async def test_whatever_role_a_token_gives_its_bearer_is_a_writer_at_a_door_and_a_reader_does_not_come_in(
    tmp_path: Path, at_own_port: bool
) -> None:
    async with _served(tmp_path) as (url, own, _), httpx.AsyncClient() as client:
        target = f"{own}/any/send" if at_own_port else f"{url}/agents/bob/mcp"
        found = {}
        for role in Role:
            headers = {"authorization": f"Bearer {ISSUED_TOKEN_PREFIX}{role.word}"}
            answer = await client.post(target, content=b"role", headers=headers)
            found[role] = answer.json() if answer.status_code == 200 else answer.status_code

    a_writers = {"as": "writer", "handed": "writer"}
    assert found == {Role.READER: 403, Role.WRITER: a_writers, Role.OPERATOR: a_writers}


async def test_a_door_has_its_part_of_the_servers_paths_and_all_of_its_own_port(tmp_path: Path) -> None:
    async with _served(tmp_path) as (url, own, door), httpx.AsyncClient() as client:
        on_port = await client.post(f"{own}/health?a=b", content=b"x")
        below = await client.post(f"{url}/agents/bob/mcp", content=b"y")
        beside = await client.get(f"{url}/health/liveness")
        elsewhere = await client.get(f"{url}/agents")
    assert on_port.status_code == 200
    assert on_port.headers["x-door"] == "yes"
    assert on_port.json() == {"path": "/health", "as": "bob", "body": "x", "query": {"a": "b"}}
    assert below.json()["path"] == "/agents/bob/mcp"
    assert beside.json() == {"status": "alive"}
    assert elsewhere.status_code == 404
    assert door.opened_times == 1


async def test_a_door_hears_that_its_answer_was_written_and_that_a_refusal_hands_nothing_over(tmp_path: Path) -> None:
    async with _served(tmp_path) as (url, _, door), httpx.AsyncClient() as client:
        await client.post(f"{url}/agents/bob/mcp", content=b"x")
        await client.post(f"{url}/agents/bob/mcp", content=b"refuse")
    assert door.heard == ["sent", "lost"]


async def test_what_a_door_raises_is_answered_as_everywhere(tmp_path: Path) -> None:
    async with _served(tmp_path) as (url, _, _door), httpx.AsyncClient() as client:
        clash = await client.post(f"{url}/agents/bob/mcp", content=b"clash")
        crash = await client.post(f"{url}/agents/bob/mcp", content=b"crash")
        large = await client.post(f"{url}/agents/bob/mcp", content=b"x" * (4 * 1024 * 1024 + 1))
    assert (clash.status_code, clash.json()["error"]["message"]) == (409, "It is taken.")
    assert (crash.status_code, crash.json()["error"]["type"]) == (500, "INTERNAL")
    assert "crash" not in crash.text
    assert large.status_code == 413


@pytest.mark.parametrize("at_own_port", [True, False])
async def test_the_rules_of_the_servers_port_hold_at_doors(tmp_path: Path, at_own_port: bool) -> None:
    async with _served(tmp_path, token=TOKEN) as (url, own, _), httpx.AsyncClient() as client:
        target = f"{own}/any/send" if at_own_port else f"{url}/agents/bob/mcp"
        verdicts = {}
        for name, headers in {
            "none": {},
            "server": {"authorization": f"Bearer {TOKEN}"},
            "operator": {"authorization": f"Bearer {OPERATOR_TOKEN}"},
            "wrong": {"authorization": "Bearer wrong"},
            "host": {"authorization": f"Bearer {TOKEN}", "host": "evil.example"},
            "origin": {"authorization": f"Bearer {TOKEN}", "origin": "http://evil.example"},
        }.items():
            verdicts[name] = (await client.post(target, content=b"x", headers=headers)).status_code
        opened = await client.get(f"{own}/health")
        foreign = await client.get(f"{own}/health", headers={"host": "evil.example"})
    assert verdicts == {"none": 401, "server": 200, "operator": 401, "wrong": 401, "host": 403, "origin": 403}
    assert (opened.status_code, foreign.status_code) == (200, 403)


@pytest.mark.parametrize("why", ["role", "path", "size", "size of a probe"])
async def test_what_a_door_does_not_answer_costs_whoever_pays_all_the_same(tmp_path: Path, why: str) -> None:
    role = Role.READER if why == "role" else Role.WRITER
    rates = Rates({RateClass.OTHERS: Rate(per_minute=1)})
    async with _served(tmp_path, token=TOKEN, role=role, rates=rates) as (_, own, _door), httpx.AsyncClient() as client:
        target = {"path": "/v1/list", "size of a probe": "/health"}.get(why, "/any/send")
        body = b"x" * (4 * 1024 * 1024 + 1) if "size" in why else b"x"
        shown = {"authorization": f"Bearer {TOKEN}"}
        answers = [await client.post(f"{own}{target}", content=body, headers=shown) for _ in range(2)]
    refusal = {"role": 403, "path": 404}.get(why, 413)
    assert [answer.status_code for answer in answers] == [refusal, 429]


@pytest.mark.parametrize(
    ("path", "door", "setting"),
    [
        ("/agents/alice/mcp", "postal", "POSTAL_ENABLED=true"),
        ("/agentmail/send", "agentmail", "AGENTMAIL_ENABLED=true"),
        ("/v1/list", "claude-mailbox", "CLAUDE_MAILBOX_PORTS"),
    ],
)
async def test_a_path_of_a_door_that_is_closed_is_refused_with_its_setting(path: str, door: str, setting: str) -> None:
    async with hosted(toy_app(toy_edge(server_token=TOKEN))) as address, httpx.AsyncClient() as client:
        url = f"{address}{path}"
        refused = await client.post(url, json={}, headers={"authorization": f"Bearer {TOKEN}"})
        stranger = await client.post(url, json={})

    error = refused.json()["error"]
    assert (refused.status_code, error["type"], error["data"]["door"]) == (404, "NOT_FOUND", door)
    assert setting in error["hint"]
    assert stranger.status_code == 401
    assert setting not in stranger.text


async def test_without_doors_there_is_none(tmp_path: Path) -> None:
    settings = _settings(tmp_path)
    async with open_services(settings) as (services, _):
        openings = {Door.POSTAL: Opening(is_on=lambda _: False, make=_never)}
        assert open_doors(settings, services, None, {}, openings) is NO_DOORS  # type: ignore[arg-type]  # no calls


async def test_a_path_at_another_port_than_its_doors_is_told_where_that_is_open(tmp_path: Path) -> None:
    async with (
        open_all_doors(tmp_path, CLAUDE_MAILBOX_PORTS="37849,47822") as doors,
        httpx.AsyncClient() as client,
    ):
        ports = {door: url.rpartition(":")[2] for door, url in doors.own.items()}
        answers = {
            (asked, at): await client.post(f"{doors.at(at)}{path}", json={})
            for path, asked, places in (
                ("/agents/alice/mcp", Door.POSTAL, (Door.CLAUDE_MAILBOX,)),
                ("/v1/send", Door.CLAUDE_MAILBOX, (None, Door.POSTAL)),
                ("/agentmail/send", Door.AGENTMAIL, (Door.POSTAL, Door.CLAUDE_MAILBOX)),
            )
            for at in places
        }

    assert {answer.status_code for answer in answers.values()} == {404}
    hints = {places: answer.json()["error"]["hint"] for places, answer in answers.items()}
    assert hints[Door.AGENTMAIL, Door.POSTAL] == "This server has it open at /agentmail/ of the server's own port."
    assert hints[Door.AGENTMAIL, Door.CLAUDE_MAILBOX] == hints[Door.AGENTMAIL, Door.POSTAL]
    postal = f"/agents/ of the server's own port and port {ports[Door.POSTAL]} of 127.0.0.1."
    assert hints[Door.POSTAL, Door.CLAUDE_MAILBOX] == f"This server has it open at {postal}"
    for at in (None, Door.POSTAL):
        assert f"port {ports[Door.CLAUDE_MAILBOX]} of 127.0.0.1" in hints[Door.CLAUDE_MAILBOX, at]
        assert "CLAUDE_MAILBOX_ENABLED" not in hints[Door.CLAUDE_MAILBOX, at]


_MCP_AT_DOORS = [
    pytest.param(Door.POSTAL, "/agents/alice/mcp", id="postal, at its own port"),
    pytest.param(None, "/agents/alice/mcp/", id="postal, at the server's port"),
    pytest.param(Door.CLAUDE_MAILBOX, "/mcp", id="claude-mailbox"),
]
_NO_MCP_AT_DOORS = [
    pytest.param(Door.POSTAL, "/agents/alice", id="postal"),
    pytest.param(Door.CLAUDE_MAILBOX, "/v1/send", id="claude-mailbox"),
    pytest.param(None, "/agentmail/send", id="agentmail"),
]
_TOO_LONG = {"x-long": "a" * 40_000}
"""Refused before any application sees the request."""


@pytest.mark.parametrize(("at", "path"), _MCP_AT_DOORS)
@pytest.mark.parametrize(("headers", "status"), [({}, 401), (_TOO_LONG, 431)])
async def test_where_a_door_speaks_mcp_a_refusal_is_an_error_of_it_too(
    tmp_path: Path, at: Door | None, path: str, headers: dict[str, str], status: int
) -> None:
    async with open_all_doors(tmp_path, HTTP_BEARER_TOKEN=TOKEN) as doors, httpx.AsyncClient() as client:
        answer = await client.post(f"{doors.at(at)}{path}", json={}, headers=headers)

    told = answer.json()
    assert (answer.status_code, told["jsonrpc"], told["error"]["code"]) == (status, "2.0", -32600)
    assert told["error"]["message"] == told["detail"]


@pytest.mark.parametrize(("at", "path"), _NO_MCP_AT_DOORS)
@pytest.mark.parametrize(("headers", "status"), [({}, 401), (_TOO_LONG, 431)])
async def test_where_a_door_speaks_no_mcp_a_refusal_is_a_detail_alone(
    tmp_path: Path, at: Door | None, path: str, headers: dict[str, str], status: int
) -> None:
    async with open_all_doors(tmp_path, HTTP_BEARER_TOKEN=TOKEN) as doors, httpx.AsyncClient() as client:
        answer = await client.post(f"{doors.at(at)}{path}", json={}, headers=headers)

    assert (answer.status_code, list(answer.json())) == (status, ["detail"])


def _never(*_parts: object) -> _Echo:
    raise AssertionError


def test_doors_that_are_shut_cost_a_start_nothing() -> None:
    code = "import sys, mcp_agent_mail.server.assembly; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    of_doors = ("postal", "agentmail", "claude_mailbox", "claims.tools", "importers")
    assert [
        name for name in loaded if name.startswith(tuple(f"mcp_agent_mail.facades.{one}" for one in of_doors))
    ] == []


def test_a_door_is_found_below_the_part_that_it_takes_for_its_own() -> None:
    assert {door: one.part for door, one in OPENINGS.items()} == {
        Door.POSTAL: "/agents/",
        Door.AGENTMAIL: PART,
        Door.CLAUDE_MAILBOX: None,
    }
