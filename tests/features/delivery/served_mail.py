"""Mail behind the whole HTTP application on a real socket, in the test's own loop: what evidence stands on."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.server.assembly import build_http_app
from tests.server.hosted import hosted
from tests.server.test_mcp import HANDSHAKE, JSON_HEADERS, modern_call
from tests.server.whole_app import OPERATOR, open_services, settings_of

BLUE, RED, GREEN = "BlueLake", "RedStone", "GreenField"
READ_WITHIN_S = 60
KERNEL_BYTES = 8_192
"""Of an answer: so that one can be cut, or not be taken."""


@dataclass
class McpSession:
    """A session of the handshake era, or, without an id, calls of the stateless one."""

    client: httpx.AsyncClient
    project: str
    session_id: str | None
    headers: Mapping[str, str] = field(default_factory=dict)
    ids: Any = field(default_factory=lambda: itertools.count(1))

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        if self.session_id is None:
            body, headers = modern_call(method, params)
        else:
            body = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
            headers = {"MCP-Protocol-Version": HANDSHAKE, "Mcp-Session-Id": self.session_id}
        return (await self.client.post("/mcp", json=body, headers={**JSON_HEADERS, **headers, **self.headers})).json()

    async def tool(self, name: str, /, **arguments: Any) -> Any:
        answer = await self.ask("tools/call", {"name": name, "arguments": {"project_key": self.project, **arguments}})
        return answer["result"]

    async def read(self, uri: str) -> Any:
        return (await self.ask("resources/read", {"uri": uri}))["result"]

    async def inbox(self, agent: str = RED, /, **arguments: Any) -> Any:
        return await self.tool("fetch_inbox", agent_name=agent, **arguments)

    async def acts(self, agent: str = RED) -> None:
        """A call that reads no mail."""
        await self.tool("fetch_inbox", agent_name=agent, limit=0)


@dataclass
class ServedMail:
    services: Services
    client: httpx.AsyncClient
    project: str
    tokens: dict[str, str] = field(default_factory=dict)

    async def rpc(self, tool: str, /, headers: Mapping[str, str] | None = None, **arguments: Any) -> Any:
        given = {"project_key": self.project, **arguments}
        answer = await self.client.post(f"/rpc/{tool}", json=given, headers=dict(headers or {}))
        assert answer.status_code == 200, f"{tool}: {answer.status_code} {answer.text[:800]}"
        return answer.json()

    async def register(self, name: str) -> None:
        registered = await self.rpc("register_agent", name=name, program="tests", model="none")
        self.tokens[name] = registered["registration_token"]

    def proof(self, name: str) -> dict[str, str]:
        return {"X-Agent-Token": self.tokens[name]}

    async def send(self, to: str = RED, **arguments: Any) -> int:
        given = {"sender_name": BLUE, "to": [to], "subject": "s", "body_md": "b", **arguments}
        number = (await self.rpc("send_message", **given))["deliveries"][0]["payload"]["id"]
        assert isinstance(number, int)
        return number

    async def session(self) -> McpSession:
        hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        opened = await self.client.post("/mcp", json=message, headers=JSON_HEADERS)
        return McpSession(self.client, self.project, opened.headers["mcp-session-id"])

    def stateless(self, headers: Mapping[str, str] | None = None) -> McpSession:
        return McpSession(self.client, self.project, None, headers or {})

    async def status(self, message_id: int) -> str:
        """Of the one copy, once all that is noted is written."""
        await self.services.delivery_marks.write()
        (copy,) = (await self.rpc("message_status", message_id=message_id, agent_name=BLUE))["recipients"]
        return str(copy["status"])

    async def steps(self, message_id: int) -> list[str]:
        await self.services.delivery_marks.write()
        (copy,) = (await self.rpc("message_status", message_id=message_id, agent_name=BLUE))["recipients"]
        return list(copy["steps"])

    async def events(self) -> list[tuple[str, int]]:
        """Of the sender's feed."""
        feed = await self.rpc("fetch_inbox_events", agent_name=BLUE)
        return [(one["event"], one["message_id"]) for one in feed["events"]]

    async def connect(self, *, takes_bytes: int | None = None) -> socket.socket:
        """A connection by hand; with `takes_bytes` the kernel keeps that little for it."""
        raw = socket.socket()
        if takes_bytes is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, takes_bytes)
        raw.setblocking(False)
        port = self.client.base_url.port
        assert port is not None
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
        return raw

    async def ask_inbox(
        self, raw: socket.socket, *, twice: bool = False, connection: str = "keep-alive", **arguments: Any
    ) -> None:
        """RedStone's, with bodies; `twice`: in one piece, without waiting for the first answer."""
        given = {"project_key": self.project, "agent_name": RED, "include_bodies": True, **arguments}
        body = json.dumps(given).encode()
        head = "POST /rpc/fetch_inbox HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        head += f"Connection: {connection}\r\n"
        whole = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        await asyncio.get_running_loop().sock_sendall(raw, whole * (2 if twice else 1))

    async def look_round(self) -> None:
        """A whole exchange with the server."""
        await self.client.get("/health/liveness")


async def read_some(raw: socket.socket, least_bytes: int) -> bytes:
    """At least so much, unless it ends before."""
    heard = bytearray()
    async with asyncio.timeout(READ_WITHIN_S):
        while len(heard) < least_bytes:
            piece = await asyncio.get_running_loop().sock_recv(raw, min(65_536, least_bytes - len(heard)))
            if not piece:
                break
            heard += piece
    return bytes(heard)


async def read_head(raw: socket.socket) -> int:
    """The head of an answer: how many bytes of a body come behind it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += await read_some(raw, 1)
    return next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))


async def read_answer(raw: socket.socket) -> bytes:
    """One whole answer: its body."""
    return await read_some(raw, await read_head(raw))


@asynccontextmanager
async def open_served(directory: Path, **settings: str) -> AsyncIterator[ServedMail]:
    """BlueLake, RedStone and GreenField are agents of one project; nobody needs anybody's consent."""
    project = directory / "app"
    project.mkdir()
    loaded = settings_of(directory, CONTACT_ENFORCEMENT_ENABLED="false", **settings)
    async with open_services(loaded) as (services, _):
        app = build_http_app(loaded, services, operator_token=OPERATOR)
        async with (
            hosted(app, kernel_keeps_bytes=KERNEL_BYTES) as url,
            httpx.AsyncClient(base_url=url, timeout=60) as client,
        ):
            mail = ServedMail(services, client, str(project))
            await client.post("/rpc/ensure_project", json={"human_key": str(project)})
            for name in (BLUE, RED, GREEN):
                await mail.register(name)
            yield mail
