"""How a client calls: over `/rpc`, `/rest/v1`, an MCP session or MCP without one; by a token or at its word."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from tests.ladder.truth import Proof
from tests.ladder.wire import Answer, request_bytes
from tests.server.test_mcp import HANDSHAKE, JSON_HEADERS, modern_call

DOORS = ("rpc", "rest", "session", "stateless")
_GET = {
    "fetch_inbox": "inbox",
    "wait_for_messages": "wait",
    "fetch_inbox_events": "feed",
    "list_agents": "agents",
    "search_messages": "search",
}
_POST = {"send_message": "messages"}
_OF_MESSAGE = {
    "reply_message": "reply",
    "mark_message_read": "read",
    "acknowledge_message": "ack",
    "withdraw_message": "withdraw",
}
_ids = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Person:
    """An agent: its name in its project, and the token that proves it."""

    name: str
    project: str
    token: str

    @property
    def is_proven_by(self) -> dict[str, str]:
        return {"X-Agent-Token": self.token}


@dataclass(slots=True, eq=False)
class Door:
    """A client of one agent. `session_id` is there once a session has been opened."""

    person: Person
    kind: str
    by_token: bool
    session_id: str | None = None
    headers: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.headers = self.person.is_proven_by if self.by_token else {}

    @property
    def proof(self) -> Proof:
        if self.session_id is not None:
            return ("session", self.session_id)
        return (self.person.name, self.by_token)

    def hello(self) -> bytes:
        asked = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": asked}
        return request_bytes("POST", "/mcp", body, {**_JSON, **self.headers})

    def call(self, tool: str, arguments: dict[str, Any]) -> bytes:
        if self.kind in ("session", "stateless"):
            return self._mcp("tools/call", {"name": tool, "arguments": arguments})
        if self.kind == "rest" and (request := self._rest(tool, dict(arguments))):
            return request
        return request_bytes("POST", f"/rpc/{tool}", arguments, self.headers)

    def resource(self, uri: str) -> bytes:
        if self.kind in ("session", "stateless"):
            return self._mcp("resources/read", {"uri": uri})
        return request_bytes("POST", "/rpc/read_resource", {"uri": uri}, self.headers)

    def _rest(self, tool: str, arguments: dict[str, Any]) -> bytes | None:
        if tool in _GET:
            query = urlencode(
                {key: str(value).lower() if isinstance(value, bool) else value for key, value in arguments.items()}
            )
            return request_bytes("GET", f"/rest/v1/{_GET[tool]}?{query}", headers=self.headers)
        if tool in _POST:
            return request_bytes("POST", f"/rest/v1/{_POST[tool]}", arguments, self.headers)
        if tool in _OF_MESSAGE and "message_id" in arguments:
            number = arguments.pop("message_id")
            return request_bytes("POST", f"/rest/v1/messages/{number}/{_OF_MESSAGE[tool]}", arguments, self.headers)
        return None

    def _mcp(self, method: str, params: dict[str, Any]) -> bytes:
        if self.session_id is None:
            body, headers = modern_call(method, params)
            if name := headers.get("Mcp-Name"):
                headers["Mcp-Name"] = quote(name, safe="/:?=&")
        else:
            body = {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}
            headers = {"MCP-Protocol-Version": HANDSHAKE, "Mcp-Session-Id": self.session_id}
        return request_bytes("POST", "/mcp", body, {**_JSON, **headers, **self.headers})


_JSON = {"Accept": JSON_HEADERS["Accept"]}


def result_of(answer: Answer) -> Any:
    """What a tool gave, whichever the door; None for a refusal."""
    if answer.status != 200:
        return None
    value = answer.value
    if isinstance(value, dict) and "jsonrpc" in value:
        result = value.get("result", {})
        if "result" not in value or result.get("isError"):
            return None
        value = result.get("structuredContent", result)
    if isinstance(value, dict) and set(value) == {"result"}:
        return value["result"]
    return value
