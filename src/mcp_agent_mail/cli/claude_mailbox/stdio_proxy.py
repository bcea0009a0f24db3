"""`claude-mailbox mcp-stdio`: MCP for clients that start their servers. Tools are listed by this process itself, calls
go to the server's door one by one; without a server each says so, and the next one may find it.
"""

from __future__ import annotations

import json
import os
import sys

from mcp_agent_mail.cli.claude_mailbox.arguments import parse_flags
from mcp_agent_mail.cli.claude_mailbox.door import CLAIM, MailboxClient, Taken, checked, quoted
from mcp_agent_mail.cli.claude_mailbox.refusals import CommandRefused
from mcp_agent_mail.cli.stdio.messages import (
    INVALID_PARAMS,
    NO_METHOD,
    LineRefusal,
    error_of,
    read_lines,
    read_request,
    result_of,
    spoken_version,
)
from mcp_agent_mail.clients.hook.descriptors import write_all, write_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    # Any: JSON-RPC.
    Json = Any

_STATELESS = "2026-07-28"
_TAKES = "check_inbox"
_TOO_MANY = 429
_STDOUT = 1
_TOOLS = os.path.join(os.path.dirname(__file__), "tools.json")


def serve_stdio(arguments: Sequence[str]) -> int:
    """Until the end of the input: 0. `--name` is the mailbox of calls that name none."""
    given = parse_flags("mcp-stdio", arguments, valued=("name",))
    proxy = LineProxy(MailboxClient(given), given.find("name"))
    for line in read_lines(sys.stdin.buffer):
        answer = proxy.answer(line)
        if answer is not None:
            try:
                write_all(_STDOUT, json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            except OSError as failed:
                proxy.settle(is_heard=False)
                if isinstance(failed, BrokenPipeError):
                    raise
                raise CommandRefused(f"claude-mailbox: standard output: {failed.strerror}.") from None
            proxy.settle(is_heard=True)
    return 0


class LineProxy:
    """Answers one message after the other."""

    def __init__(self, door: MailboxClient, name: str | None) -> None:
        self._door = door
        self._name = name
        self._taken: Taken | None = None

    def settle(self, *, is_heard: bool) -> None:
        """Say what became of the mail in the last answer. A repeat does nothing."""
        taken, self._taken = self._taken, None
        if taken is not None and not taken.settle(is_heard=is_heard) and is_heard:
            write_words(2, "claude-mailbox: the server could not be told that mail was read: it may come again.\n")

    # Any: a JSON-RPC message.
    def answer(self, line: bytes | None) -> Json:
        """What a line of `read_lines` is answered with; None for a notification."""
        try:
            asked = read_request(line)
        except LineRefusal as refused:
            return error_of(None, refused.code, str(refused))
        return None if asked is None else self._answer(asked.number, asked.method, asked.params)

    def _answer(self, number: str | int, method: str, params: dict[str, Json]) -> Json:
        own = _OWN.get(method)
        if own is not None:
            return result_of(number, own(params))
        if method != "tools/call":
            return error_of(number, NO_METHOD, f"Method not found: {method:.100}")
        if not isinstance(params.get("name"), str):
            return error_of(number, INVALID_PARAMS, "tools/call needs the name of a tool")
        try:
            return self._call(number, params)
        except CommandRefused as failed:
            text = str(failed).removeprefix("claude-mailbox: ")
            return result_of(number, {"content": [{"type": "text", "text": text}], "isError": True})

    def _call(self, number: str | int, params: dict[str, Json]) -> Json:
        if params["name"] == _TAKES and (result := self._checked(params.get("arguments") or {})) is not None:
            return result_of(number, result)
        return self._passed_on(number, params)

    def _checked(self, arguments: Json) -> Json | None:
        """All mail, which is read once the line with it was written. None for a call that the server refuses: it has
        the words.
        """
        name = arguments.get("name") if isinstance(arguments, dict) and arguments.keys() <= {"name"} else 0
        if name is not None and not isinstance(name, str):
            return None
        query, own = (f"?name={quoted(name)}", None) if name else ("", self._name)
        status, answer = self._door.exchange("POST", f"/v1/check-inbox{query}", name=own, headers=CLAIM)
        if 400 <= status < 500 and status != _TOO_MANY:
            return None
        if status != 200:
            said = answer.get("error") if isinstance(answer, dict) else None
            raise CommandRefused(said if isinstance(said, str) else "What answers there is no mailbox server.")
        self._taken = checked(self._door, answer)
        messages = self._taken.messages
        text = json.dumps(messages, ensure_ascii=False)
        return {
            "content": [{"type": "text", "text": text}],
            "structuredContent": {"result": messages},
            "isError": False,
        }

    def _passed_on(self, number: str | int, params: dict[str, Json]) -> Json:
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
            return {"jsonrpc": "2.0", "id": number, "error": answer["error"]}
        result = answer.get("result") if isinstance(answer, dict) else None
        if not isinstance(result, dict):
            raise CommandRefused("What answers there is no mailbox server.")
        return result_of(number, {key: part for key, part in result.items() if key != "resultType"})


def listed_tools() -> Json:
    """As the server lists them: a test holds both equal."""
    with open(_TOOLS, encoding="utf-8") as file:
        return json.load(file)


def _listed(_: dict[str, Json]) -> Json:
    return {"tools": listed_tools()}


def _hello(params: dict[str, Json]) -> Json:
    from mcp_agent_mail import __version__

    return {
        "protocolVersion": spoken_version(params),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "claude-mailbox", "version": __version__},
    }


_OWN: Mapping[str, Callable[[dict[str, Json]], Json]] = {
    "initialize": _hello,
    "ping": lambda _: {},
    "tools/list": _listed,
}
"""What needs no server."""
