"""A server of ours with the door open, and its users' ways in: MCP of both eras, and curl's plain JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.server.assembly import build_http_app
from mcp_agent_mail.server.door_ports import opened_ports, wanted_ports
from tests.facades.postal.transcript import Transcript
from tests.server.hosted import hosted
from tests.server.whole_app import OPERATOR, open_services, settings_of

ACCEPT = "application/json, text/event-stream"
PROTOCOL = "2025-03-26"
MODERN = "2026-07-28"
_WITHIN_S = 60


@dataclass
class Session:
    """What a client of the handshake era keeps: the session's id, and which agent's path it calls at."""

    server: PostalServer
    agent: str
    headers: dict[str, str]
    ids: int = 0

    async def call(self, tool: str, /, *, meta: Mapping[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
        """The result of a call, be it an error."""
        answer = await self.request("tools/call", tool_call(tool, arguments, meta))
        result: dict[str, Any] = answer.json()["result"]
        return result

    async def text(self, tool: str, /, **arguments: Any) -> str:
        """The one text of a call that must succeed."""
        result = await self.call(tool, **arguments)
        assert result["isError"] is False, result
        (content,) = result["content"]
        return str(content["text"])

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """The one text of a call that must fail."""
        result = await self.call(tool, **arguments)
        assert result["isError"] is True, result
        (content,) = result["content"]
        return str(content["text"])

    async def message(self) -> Any:
        """The oldest message of the mailbox."""
        return json.loads(await self.text("check_mail"))

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> httpx.Response:
        self.ids += 1
        return await self.server.post(self.agent, rpc(method, params, self.ids), **self.headers)


@dataclass
class PostalServer:
    url: str
    client: httpx.AsyncClient
    services: Services
    own_url: str | None = None
    """Of the port that the door has to itself."""
    transcript: Transcript = field(default_factory=Transcript)

    async def post(self, agent: str, body: Any, /, *, slash: str = "/", **headers: str) -> httpx.Response:
        """`body` at the path of an agent, as JSON unless it is bytes."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Content-Type": "application/json", "Accept": ACCEPT, **headers}
        return await self.ask("POST", f"/agents/{agent}/mcp{slash}", content, given)

    async def ask(
        self, method: str, path: str, content: bytes = b"", headers: Mapping[str, str] | None = None, *, base: str = ""
    ) -> httpx.Response:
        """Any request, at the server's own port unless `base` is another."""
        answer = await self.client.request(method, f"{base or self.url}{path}", content=content, headers=headers)
        self.transcript.record(answer.request, answer)
        return answer

    async def plain(self, agent: str, tool: str, /, **arguments: Any) -> httpx.Response:
        """A call in the form that the specification's curl lines have."""
        return await self.post(agent, {"tool": tool, "args": arguments}, Accept="*/*")

    async def open(self, agent: str, *, protocol: str = PROTOCOL, slash: str = "/") -> Session:
        hello = {"protocolVersion": protocol, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
        answer = await self.post(agent, rpc("initialize", hello, 0), slash=slash)
        assert answer.status_code == 200, answer.text
        headers = {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": protocol}
        session = Session(self, agent, headers)
        await self.post(agent, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers)
        return session

    async def modern(self, agent: str, method: str, params: Mapping[str, Any] | None = None) -> httpx.Response:
        """One call of the era without sessions."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        given = {"_meta": meta, **(params or {})}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if "name" in given:
            headers["Mcp-Name"] = given["name"]
        return await self.post(agent, rpc(method, given, 1), **headers)

    async def waiting(self, count: int) -> None:
        """Until so many calls wait for mail."""
        async with asyncio.timeout(_WITHIN_S):
            while self.services.delivery.waiters.figures().waits != count:  # noqa: ASYNC110  # nobody tells of it
                await asyncio.sleep(0.01)


def rpc(method: str, params: Mapping[str, Any] | None, number: int | str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params is not None else {})}


def tool_call(tool: str, arguments: Mapping[str, Any], meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}


@asynccontextmanager
async def open_postal(directory: Path, **settings: str) -> AsyncIterator[PostalServer]:
    """A server over a store in `directory`. It looks at empty mailboxes without waiting, unless the settings say
    otherwise.
    """
    loaded = settings_of(directory, **{"POSTAL_ENABLED": "true", "POSTAL_MAX_WAIT_SECONDS": "0", **settings})
    async with open_services(loaded) as (services, _):
        with opened_ports(loaded.facades_host, wanted_ports(loaded)) as ports:
            app = build_http_app(loaded, services, operator_token=OPERATOR, door_ports=ports.doors)
            async with (
                hosted(app, beside=ports.sockets) as url,
                httpx.AsyncClient(timeout=_WITHIN_S) as client,
            ):
                yield PostalServer(url, client, services, own_url=next(iter(ports.urls), None))
