"""One request over a connection that is kept, and what came of it in the words of the table."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tests.auth.table import DENIED, THROUGH, UNAUTHORIZED, UNKNOWN, UNPROVEN, WRONG_METHOD

MODERN = "2026-07-28"
_JSON = "application/json"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ANSWERED_WITHIN_S = 60
_ROLES = re.compile(r"needs the role (\w+); the token that was shown gives (\w+)\.")


@dataclass(frozen=True, slots=True)
class Answer:
    """`value` is the JSON that came, None for anything else, and for a stream."""

    status: int
    headers: Mapping[str, str]
    value: Any


class Asker:
    """A client of one server, which asks one thing after the other."""

    def __init__(self, url: str) -> None:
        self._port = int(url.rpartition(":")[2])
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def _close(self) -> None:
        if self._streams is not None:
            _, writer = self._streams
            self._streams = None
            writer.close()

    async def ask(self, method: str, path: str, headers: Mapping[str, str], body: Any = None) -> Answer:
        """`body` is sent as JSON unless it is None."""
        if body is None:
            return await self.send(method, path, headers, b"")
        said = {"Content-Type": _JSON, "Accept": f"{_JSON}, text/event-stream", **headers}
        return await self.send(method, path, said, json.dumps(body).encode())

    async def send(self, method: str, path: str, headers: Mapping[str, str], content: bytes) -> Answer:
        """Whatever is asked, with the bytes as they are."""
        said = {"Host": "localhost", "Content-Length": str(len(content)), **headers}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in said.items())]
        async with asyncio.timeout(ANSWERED_WITHIN_S):
            return await self._exchange("\r\n".join([*lines, "", ""]).encode("latin-1") + content, method)

    async def call_over_mcp(self, tool: str, headers: Mapping[str, str], arguments: Any) -> Answer:
        return await self.over_mcp("tools/call", tool, headers, {"name": tool, "arguments": arguments})

    async def over_mcp(self, asked: str, name: str, headers: Mapping[str, str], params: Mapping[str, Any]) -> Answer:
        said = {"MCP-Protocol-Version": MODERN, "Mcp-Method": asked, "Mcp-Name": name, **headers}
        message = {"jsonrpc": "2.0", "id": 1, "method": asked, "params": {**params, "_meta": _META}}
        return await self.ask("POST", "/mcp", said, message)

    async def _exchange(self, sent: bytes, method: str) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(sent)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        told = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        status, kind = int(head[0].split(" ")[1]), told.get("content-type", "")
        has_body = method != "HEAD" and status not in (204, 304)
        if has_body and "content-length" not in told:
            await self._close()  # A stream: it would not end.
            return Answer(status, told, None)
        content = await reader.readexactly(int(told["content-length"])) if has_body else b""
        if told.get("connection") == "close":
            await self._close()
        return Answer(status, told, json.loads(content) if kind.startswith(_JSON) and content else None)


def outcome(answer: Answer) -> str:
    """In the words of the table; anything else than its words, a failure of the server's above all, fails a cell."""
    value = answer.value if isinstance(answer.value, dict) else {}
    detail = str(value.get("detail", ""))
    if answer.status == 401 and detail:
        return UNAUTHORIZED if "www-authenticate" in answer.headers else "401 without a challenge"
    if answer.status >= 500:
        return f"failed: {answer.status} {value}"
    if answer.status == 405:
        return WRONG_METHOD
    if answer.status == 403 and (roles := _ROLES.search(detail)) is not None:
        return f"{roles[2]}, needs {roles[1]}"
    return _told_by_error(_error_of(value))


def error_type(answer: Answer) -> str:
    """Of a tool's own refusal; what else the table has words for."""
    told = outcome(answer)
    kind = _error_of(answer.value if isinstance(answer.value, dict) else {}).get("type")
    return str(kind) if told == THROUGH and kind in (UNPROVEN, DENIED) else told


def _error_of(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Outside of MCP, of a tool's result, and of a JSON-RPC error."""
    result = value.get("result")
    content = result.get("structuredContent") if isinstance(result, dict) else None
    for holder in (content, value, _data_of(value.get("error"))):
        error = holder.get("error") if isinstance(holder, dict) else None
        if isinstance(error, dict) and "type" in error:
            return error
    return {}


def _data_of(error: Any) -> Any:
    return error.get("data") if isinstance(error, dict) else None


def _told_by_error(error: Mapping[str, Any]) -> str:
    kind, data = error.get("type"), error.get("data") or {}
    if kind == "INTERNAL":
        return f"failed: {error}"
    if kind == DENIED and "needed" in data:
        return f"{data['held']}, needs {data['needed']}"
    if kind == "NOT_FOUND" and str(error.get("message", "")).startswith("Unknown tool"):
        return UNKNOWN
    return THROUGH
