"""HTTP/1.1 requests as bytes: the two ways to call a tool, and what an answer says.

No SDK client stands between the benchmark and the server: one measured 220 requests/s on a core of
its own where this one measures what the server can do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import orjson

PROTOCOL = "2025-11-25"
MODERN_PROTOCOL = "2026-07-28"

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_SESSION = re.compile(rb"\r\nmcp-session-id: *([^\r]+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


class Refused(Exception):
    """The server answered something that a benchmark must not count as work done."""


class Dialect(Protocol):
    """How a tool call is written for one endpoint, and whether its answer is a success."""

    def handshake(self) -> list[bytes]: ...

    def greeted(self, head: bytes) -> None: ...

    def call(self, tool: str, arguments: dict[str, Any]) -> bytes: ...

    def is_success(self, status: int, body: bytes) -> bool: ...


def _post(path: str, body: bytes, headers: str = "") -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class McpSession:
    """The handshake era: `initialize`, then `tools/call` within the session."""

    def __init__(self, path: str = "/mcp") -> None:
        self._path = path
        self._headers = ""

    def handshake(self) -> list[bytes]:
        """The two requests that open a session; the second is written after the first was answered."""
        hello = {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "benchmark", "version": "1"},
        }
        first = orjson.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        second = orjson.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return [_post(self._path, first, self._headers), _post(self._path, second, self._headers)]

    def greeted(self, head: bytes) -> None:
        if (session := _SESSION.search(head)) is None:
            raise Refused(f"initialize gave no session: {head[:200]!r}")
        self._headers = f"Mcp-Session-Id: {session[1].decode()}\r\nMCP-Protocol-Version: {PROTOCOL}\r\n"

    def call(self, tool: str, arguments: dict[str, Any]) -> bytes:
        body = orjson.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        )
        return _post(self._path, body, self._headers)

    def is_success(self, status: int, body: bytes) -> bool:
        return status == 200 and b'"result"' in body and b'"isError":true' not in body


class Resource(McpSession):
    """What is no tool, within a session: instead of a tool stands the method, `resources/read`."""

    def call(self, tool: str, arguments: dict[str, Any]) -> bytes:
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": tool, "params": arguments})
        return _post(self._path, body, self._headers)


class ModernCall:
    """The stateless era: each `tools/call` says who calls, and there is nothing to greet."""

    _META = MappingProxyType(
        {
            "io.modelcontextprotocol/protocolVersion": MODERN_PROTOCOL,
            "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    )

    def __init__(self, path: str = "/mcp") -> None:
        self._path = path

    def handshake(self) -> list[bytes]:
        return []

    def greeted(self, head: bytes) -> None:
        """There is nothing to greet."""

    def call(self, tool: str, arguments: dict[str, Any]) -> bytes:
        params = {"name": tool, "arguments": arguments, "_meta": dict(self._META)}
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        headers = f"MCP-Protocol-Version: {MODERN_PROTOCOL}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        return _post(self._path, body, headers)

    def is_success(self, status: int, body: bytes) -> bool:
        return status == 200 and b'"result"' in body and b'"isError":true' not in body


class Rpc:
    """`POST /rpc/{tool}`: the arguments as the body, the plain result as the answer."""

    def handshake(self) -> list[bytes]:
        return []

    def greeted(self, head: bytes) -> None:
        """There is nothing to greet."""

    def call(self, tool: str, arguments: dict[str, Any]) -> bytes:
        return _post(f"/rpc/{tool}", orjson.dumps(arguments))

    def is_success(self, status: int, body: bytes) -> bool:  # noqa: ARG002  # the protocol has the body
        return status == 200


@dataclass(slots=True)
class Answer:
    head: bytes
    status: int
    body: bytes


class AnswerReader:
    """Puts the bytes of a keep-alive connection together to answers, one at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Answer | None:
        """One whole answer, or None while bytes are missing. There is no pipelining, so never two."""
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self._buffer[:end])
        if _CHUNKED.search(head):
            raise Refused(f"a chunked answer, which JSON responses never are: {head!r}")
        length = _LENGTH.search(head)
        total = end + 4 + (int(length[1]) if length else 0)
        if len(self._buffer) < total:
            return None
        body = bytes(self._buffer[end + 4 : total])
        del self._buffer[:total]
        return Answer(head, int(head[9:12]), body)
