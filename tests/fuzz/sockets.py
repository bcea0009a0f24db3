"""Inputs sent to a whole server over real connections: no 5xx but 503, nothing over a second, and it lives on.

Those of REST are made of the OpenAPI document that the server itself gives.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from mcp_agent_mail.server.transport.http_refusals import UNKNOWN_CODING
from tests.auth.asking import MODERN, Answer, Asker
from tests.auth.servers import NAMED, PROJECT, Server, open_server
from tests.fuzz.making import Maker
from tests.fuzz.pure import MOST_FAULTS, MOST_S, Found

HANGS_AFTER_S = 60.0
_WAITS = {"timeout_s": 0, "wait_seconds": 0}
"""So long a call may be asked to wait, which is then no fault."""
_PLAIN = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "get", "G\0T")
_PATHS = (
    *("/mcp", "/api/", "/metrics", "/rpc/send_message", "/rest/v1/inbox", "/guard/check", "/attachments/", "*", "//"),
    *("/health/readiness", "/.well-known/oauth-protected-resource", "http://localhost/mcp", "/rest/v1/openapi.json"),
)
_FIELDS = (
    *("Host: localhost", "Host: evil", "Content-Length: 2", "Content-Length: 99999999999", "Content-Length: -1"),
    *("Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Connection: close", "Connection: upgrade"),
    *("Expect: 100-continue", "Upgrade: websocket", "Content-Type: application/json", "Authorization: Bearer x"),
    *("Origin: http://localhost", "Mcp-Session-Id: x", "Range: bytes=0-", "Accept-Encoding: br", "TE: trailers"),
)
_BODIES = (b"{}", b'{"a":1}', b"[]", b"2\r\n{}\r\n0\r\n\r\n", b"0\r\n\r\n", b"", b"ffffffffffffffff\r\n", b"\xff\xfe")

Send = Callable[[Maker], Awaitable[int]]
"""Sends one input; the worst status that was answered."""


class Sockets:
    """One server and what is sent to it; `openapi` is its own description of REST."""

    def __init__(self, server: Server, asker: Asker, openapi: Mapping[str, Any]) -> None:
        self._server = server
        self._asker = asker
        self._paths = openapi["paths"]
        self._specs = server.services.tools.specs()
        self.kinds: Mapping[str, Send] = {
            "raw HTTP": self._raw,
            "tools over /rpc": self._rpc,
            "messages to MCP": self._mcp,
            "REST by OpenAPI": self._rest,
            "the guard's routes": self._guard,
        }

    async def _raw(self, maker: Maker) -> int:
        head = f"{maker.pick(_METHODS)} {maker.pick(_PATHS)}{maker.text(3)} HTTP/1.{maker.pick('0119')}\r\n"
        fields = [maker.pick(_FIELDS) if maker.is_so(0.8) else maker.text(5) for _ in range(maker.random.randrange(7))]
        host = ["Host: localhost"] if maker.is_so(0.8) else []
        sent = (head + "".join(f"{field}\r\n" for field in [*host, *fields]) + "\r\n").encode("utf-8", "replace")
        sent += maker.pick(_BODIES)
        return await self._say(maker.damaged(sent) if maker.is_so(0.5) else sent)

    async def _say(self, sent: bytes) -> int:
        """The server has all that ever comes, and hears that no more does."""
        reader, writer = await asyncio.open_connection("127.0.0.1", int(self._server.url.rpartition(":")[2]))
        heard = b""
        with suppress(ConnectionError):
            writer.write(sent)
            writer.write_eof()
            heard = await reader.read()
        writer.close()
        # That is what RFC 9112 says of a coding that nobody here reads: it is the request's fault, not ours.
        heard = heard.replace(b"HTTP/1.1 501 ", b"HTTP/1.1 400 ") if UNKNOWN_CODING.detail.encode() in heard else heard
        statuses = [int(line.split(b" ")[1]) for line in heard.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
        return max(statuses, default=0)

    async def _rpc(self, maker: Maker) -> int:
        spec = maker.pick(self._specs)
        answer = await self._send("POST", f"/rpc/{spec.name}", self._arguments(maker, spec.schema))
        return answer.status

    def _arguments(self, maker: Maker, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Such as the schema asks for, but for one now and then."""
        properties = schema["properties"]
        given = {name: _fitting(maker, name, properties[name]) for name in schema.get("required", ())}
        for name in properties:
            if maker.is_so(0.2):
                given[name] = _fitting(maker, name, properties[name])
        if given and maker.is_so(0.5):
            given[maker.pick(list(given))] = maker.json_value(2)
        return {**given, **{name: value for name, value in _WAITS.items() if name in properties}}

    async def _mcp(self, maker: Maker) -> int:
        spec = maker.pick(self._specs)
        method = maker.pick(("tools/call", "tools/list", "resources/read", "prompts/get", "completion/complete", "x"))
        if maker.is_so(0.1):
            method = maker.text(3)
        params: dict[str, Any] = {"name": spec.name, "arguments": self._arguments(maker, spec.schema)}
        params |= {"uri": f"resource://{maker.text(4)}", maker.text(1): maker.json_value(2)}
        message = {"jsonrpc": "2.0", "id": maker.json_value(1), "method": method, "params": params}
        headers = dict(_PLAIN)
        if maker.is_so(0.5):
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": quote(method), "Mcp-Name": spec.name}
        if maker.is_so(0.7):
            return (await self._asker.ask("POST", "/mcp", headers, message)).status
        return (await self._asker.send("POST", "/mcp", headers, maker.written(message))).status

    async def _rest(self, maker: Maker) -> int:
        path = maker.pick(list(self._paths))
        method = maker.pick(list(self._paths[path]))
        described = self._paths[path][method]
        asked = path.replace("{id}", quote(maker.text(2) or "1", safe="") if maker.is_so(0.5) else "1")
        body = None
        if method == "post":
            schema = described["requestBody"]["content"]["application/json"]["schema"]
            body = self._arguments(maker, schema)
        elif not asked.endswith("/events"):
            in_query = {one["name"]: one["schema"] for one in described.get("parameters", ()) if one["in"] == "query"}
            required = [one["name"] for one in described.get("parameters", ()) if one.get("required")]
            schema = {"properties": in_query, "required": [name for name in required if name in in_query]}
            given = self._arguments(maker, schema)
            asked += "?" + urlencode({name: _as_text(value) for name, value in given.items()}, errors="replace")
        return (await self._send(method.upper(), asked, body)).status

    async def _guard(self, maker: Maker) -> int:
        body: dict[str, Any] = {
            "project": maker.pick((PROJECT, maker.text(3))),
            "agent": maker.pick((NAMED, None, maker.text(3))),
            "paths": [maker.text(5, ("src", "/", "%2e")) or "a" for _ in range(maker.random.randrange(6))],
            "events": [maker.json_value(2), {"kind": "commit", "project": PROJECT, "detail": maker.json_value(3)}],
        }
        if maker.is_so(0.5):
            body[maker.pick(list(body))] = maker.json_value(3)
        return (await self._send("POST", maker.pick(("/guard/check", "/guard/events")), body)).status

    async def _send(self, method: str, path: str, body: Any) -> Answer:
        return await self._asker.ask(method, path, {}, body)


def _fitting(maker: Maker, name: str, schema: Mapping[str, Any]) -> Any:
    """Of the schema's type, within its bounds or a little beyond."""
    if "project" in name or name == "human_key":
        return maker.pick((PROJECT, PROJECT, maker.text(4)))
    if "enum" in schema:
        return maker.pick((*schema["enum"], maker.text(2)))
    match schema.get("type"):
        case "integer" | "number":
            least, most = schema.get("minimum", -1), schema.get("maximum", 1_000)
            fitting: Any = maker.pick((least, most, least - 1, most + 1, 1, 2**63))
        case "boolean":
            fitting = maker.is_so(0.5)
        case "array":
            fitting = [_fitting(maker, "", schema.get("items", {})) for _ in range(maker.random.randrange(3))]
        case "object":
            fitting = maker.json_value(2)
        case _:
            fitting = maker.pick((NAMED, maker.text(6), "2026-01-01T00:00:00Z"))
    return fitting


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


async def send_inputs(directory: Path, seed: int, inputs: int, *, only: str | None = None, at: int = 0) -> Found:
    """So many of each kind from number `at` on, or of one kind, to a server over a store in `directory`."""
    found = Found()
    async with open_server(directory, AGENT_AUTH="open") as server, Asker(server.url) as asker:
        openapi = (await asker.ask("GET", "/rest/v1/openapi.json", {})).value
        sockets = Sockets(server, asker, openapi)
        for kind in sockets.kinds if only is None else (only,):
            for number in range(at, at + inputs):
                await _send_one(sockets.kinds[kind], kind, seed, number, found)
                if len(found.faults) >= MOST_FAULTS:
                    return found
        assert (await asker.ask("GET", "/health/readiness", {})).status == 200
    return found


async def _send_one(send: Send, kind: str, seed: int, number: int, found: Found) -> None:
    """What took long is sent once more: on a busy machine the first time says little."""
    again = f"--seed {seed} --target {kind!r} --number {number}"
    found.inputs += 1
    took_s = await _timed(send, f"{seed}/{kind}/{number}", again, found)
    if took_s > MOST_S:
        took_s = await _timed(send, f"{seed}/{kind}/{number}", again, found)
    found.slowest_s = max(found.slowest_s, took_s)
    if took_s > MOST_S:
        found.faults.append(f"{again}: {took_s:.1f} s")


async def _timed(send: Send, seed: str, again: str, found: Found) -> float:
    """How many seconds it took; a status that may not be is a fault."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(HANGS_AFTER_S):
            status = await send(Maker(seed))
    except TimeoutError:
        status = 0
    if status >= 500 and status != 503:
        found.faults.append(f"{again}: {status}")
    return time.perf_counter() - started
