"""`claude-mailbox mcp-stdio`: MCP for clients that start their servers. Tools are listed by this process itself, calls
go to the server's door one by one; without a server each says so, and the next one may find it.
"""

from __future__ import annotations

import json
import os
import sys

from mcp_agent_mail.cli.claude_mailbox.arguments import parse_flags
from mcp_agent_mail.cli.claude_mailbox.door import MailboxClient
from mcp_agent_mail.cli.claude_mailbox.refusals import CommandRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    # Any: JSON-RPC.
    Json = Any

_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_STATELESS = "2026-07-28"
MAX_LINE = 4 << 20
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602
_TOOLS = os.path.join(os.path.dirname(__file__), "tools.json")


def serve_stdio(arguments: Sequence[str]) -> int:
    """Until the end of the input: 0. `--name` is the mailbox of calls that name none."""
    given = parse_flags("mcp-stdio", arguments, valued=("name",))
    proxy = LineProxy(MailboxClient(given), given.find("name"))
    while line := sys.stdin.buffer.readline(MAX_LINE + 1):
        if line.strip():
            answer = proxy.answer(line)
            if answer is not None:
                sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
                sys.stdout.buffer.flush()
    return 0


class LineProxy:
    """Answers one message after the other."""

    def __init__(self, door: MailboxClient, name: str | None) -> None:
        self._door = door
        self._name = name

    # Any: a JSON-RPC message.
    def answer(self, line: bytes) -> Json:
        """What a line is answered with; None for a notification."""
        try:
            message: Json = json.loads(line)
        except (ValueError, RecursionError) as broken:
            return _error(None, _PARSE_ERROR, f"Parse error: {broken!s:.200}")
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            if isinstance(message, dict) and "method" not in message and "id" in message:
                return None  # An answer: nothing was asked.
            return _error(None, _INVALID_REQUEST, "Invalid Request")
        if "id" not in message:
            return None
        return self._answer(message["id"], message["method"], message.get("params") or {})

    def _answer(self, message_id: Json, method: str, params: Json) -> Json:
        own = _OWN.get(method)
        if own is not None:
            return _result(message_id, own(params))
        if method != "tools/call":
            return _error(message_id, _NO_METHOD, f"Method not found: {method:.100}")
        if not isinstance(params, dict) or not isinstance(params.get("name"), str):
            return _error(message_id, _INVALID_PARAMS, "tools/call needs the name of a tool")
        try:
            return self._call(message_id, params)
        except CommandRefused as failed:
            text = str(failed).removeprefix("claude-mailbox: ")
            return _result(message_id, {"content": [{"type": "text", "text": text}], "isError": True})

    def _call(self, message_id: Json, params: Json) -> Json:
        meta = {
            "io.modelcontextprotocol/protocolVersion": _STATELESS,
            "io.modelcontextprotocol/clientInfo": {"name": "claude-mailbox", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        tool = params["name"]
        called = {"name": tool, "arguments": params.get("arguments") or {}, "_meta": meta}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _STATELESS,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool if tool.isascii() and tool.isprintable() else "unknown",
        }
        value = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
        answer = self._door.ask("POST", "/mcp", name=self._name, value=value, headers=headers)
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            return {"jsonrpc": "2.0", "id": message_id, "error": answer["error"]}
        result = answer.get("result") if isinstance(answer, dict) else None
        if not isinstance(result, dict):
            raise CommandRefused("What answers there is no mailbox server.")
        return _result(message_id, {key: part for key, part in result.items() if key != "resultType"})


def listed_tools() -> Json:
    """As the server lists them: a test holds both equal."""
    with open(_TOOLS, encoding="utf-8") as file:
        return json.load(file)


def _listed(_: Json) -> Json:
    return {"tools": listed_tools()}


def _hello(params: Json) -> Json:
    from mcp_agent_mail import __version__

    wanted = params.get("protocolVersion") if isinstance(params, dict) else None
    return {
        "protocolVersion": wanted if wanted in _VERSIONS else _VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "claude-mailbox", "version": __version__},
    }


def _result(message_id: Json, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def _error(message_id: Json, code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": message}}


_OWN: Mapping[str, Callable[[Json], Json]] = {
    "initialize": _hello,
    "ping": lambda _: {},
    "tools/list": _listed,
}
"""What needs no server."""
