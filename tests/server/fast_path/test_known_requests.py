"""What is answered past FastMCP is answered as FastMCP and the SDK answer it: requests of every kind, put to both."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from mcp_agent_mail.server.fast_path.known_requests import known_request
from tests.server.hosted import hosted, toy_app
from tests.server.test_mcp import HANDSHAKE, JSON_HEADERS, handshake_call, modern_call

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}},
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("tools/call", {"name": "echo", "arguments": {"text": "a\u2028ü😀", "times": 2}}),
    ("tools/call", {"name": "count", "arguments": {"limit": 20}}),
    ("tools/call", {"name": "count"}),
    ("tools/call", {"name": "count", "arguments": {}}),
    ("tools/call", {"name": "clash", "arguments": {}}),
    ("tools/call", {"name": "crash", "arguments": {"text": "a secret"}}),
    ("tools/call", {"name": "echo", "arguments": {"text": 1, "unknown": [None, 1.5, {"a": "b"}]}}),
    ("tools/call", {"name": "rule", "arguments": {}}),
    ("tools/call", {"name": "no such", "arguments": {}}),
    ("resources/read", {"uri": "resource://toys"}),
    ("resources/read", {"uri": "resource://toy/ball?limit=3"}),
    ("resources/read", {"uri": "resource://toy/ball?limit=x"}),
    ("resources/read", {"uri": "resource://nothing"}),
    ("resources/read", {"uri": "resource://broken"}),
    ("resources/read", {"uri": "other://toys"}),
    ("ping", {}),
]
UNUSUAL: list[Any] = [None, True, 0, -1, 1.5, 1 << 70, "", "x", "\u0000", [], [1], {}, {"a": None}]
KEYS = ("jsonrpc", "id", "method", "params", "name", "arguments", "uri", "_meta", "progressToken", "task", "x")
MUTANTS = 150


@dataclass
class Both:
    """The same application twice, with a session in each."""

    fast: str
    slow: str
    sessions: tuple[str, str]

    async def ask(self, body: Any, headers: dict[str, str], *, in_session: bool) -> tuple[Any, Any]:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        answers = []
        async with httpx.AsyncClient(timeout=60) as client:
            for url, session in zip((self.fast, self.slow), self.sessions, strict=True):
                named = {"Mcp-Session-Id": session} if in_session else {}
                answer = await client.post(f"{url}/mcp", content=content, headers={**JSON_HEADERS, **headers, **named})
                has_session = answer.headers.get("mcp-session-id") == session
                answers.append((answer.status_code, answer.headers.get("content-type"), has_session, _value(answer)))
        return answers[0], answers[1]


def _value(answer: httpx.Response) -> Any:
    """Its JSON, but for the request ids that each server counts for itself."""
    if not answer.content:
        return None
    value = answer.json()
    _without_request_ids(value)
    return value


def _without_request_ids(value: Any) -> None:
    if isinstance(value, dict):
        value.pop("request_id", None)
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _without_request_ids(one)


@pytest.fixture
async def both() -> AsyncIterator[Both]:
    async with hosted(toy_app(has_fast_path=True)) as fast, hosted(toy_app(has_fast_path=False)) as slow:
        sessions = []
        async with httpx.AsyncClient(timeout=60) as client:
            for url in (fast, slow):
                hello = await client.post(f"{url}/mcp", json=INITIALIZE, headers=JSON_HEADERS)
                sessions.append(hello.headers["mcp-session-id"])
        yield Both(fast=fast, slow=slow, sessions=(sessions[0], sessions[1]))


@pytest.mark.parametrize("in_session", [True, False], ids=["session", "no session"])
@pytest.mark.parametrize(("method", "params"), CALLS)
@pytest.mark.parametrize("era", [handshake_call, modern_call], ids=["handshake", "modern"])
async def test_a_usual_request_has_the_same_answer(
    both: Both, era: Any, method: str, params: dict[str, Any], in_session: bool
) -> None:
    body, headers = era(method, params)

    fast, slow = await both.ask(body, headers, in_session=in_session)

    assert fast == slow
    assert json.dumps(fast) == json.dumps(slow)  # In the same order, too.


@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/json;q=1", "APPLICATION/JSON", "text/*", "", ","])
@pytest.mark.parametrize("era", [handshake_call, modern_call], ids=["handshake", "modern"])
async def test_what_a_client_takes_decides_the_same(both: Both, era: Any, accept: str) -> None:
    body, headers = era("tools/call", {"name": "count", "arguments": {}})

    fast, slow = await both.ask(body, {**headers, "Accept": accept}, in_session=era is handshake_call)

    assert fast == slow


@pytest.mark.parametrize(
    "kind", ["Application/JSON", "application/json; charset=utf-8", "application/json, text/plain"]
)
@pytest.mark.parametrize("era", [handshake_call, modern_call], ids=["handshake", "modern"])
async def test_what_a_body_is_said_to_be_decides_the_same(both: Both, era: Any, kind: str) -> None:
    body, headers = era("tools/call", {"name": "count", "arguments": {}})

    fast, slow = await both.ask(body, {**headers, "Content-Type": kind}, in_session=era is handshake_call)

    assert fast == slow


@pytest.mark.parametrize(
    "changed",
    [
        {"Mcp-Name": "echo"},
        {"Mcp-Name": "=?base64?Y291bnQ=?="},
        {"Mcp-Method": "ping"},
        {"Mcp-Name": ""},
        {"Mcp-Param-X": "1"},
    ],
)
async def test_headers_that_differ_from_the_envelope_are_refused_the_same(both: Both, changed: dict[str, str]) -> None:
    body, headers = modern_call("tools/call", {"name": "count", "arguments": {}})

    fast, slow = await both.ask(body, {**headers, **changed}, in_session=False)

    assert fast == slow


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","name":"echo"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools\\/call","params":{"name":"count"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\\ud800"}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"limit":NaN}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"limit":1e999}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"limit":123456789012345678901}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count"}} ',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count"}}x',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"caf\xff"}}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"count"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
    ],
)
async def test_bytes_that_parsers_differ_about_are_read_the_same(both: Both, body: bytes) -> None:
    fast, slow = await both.ask(body, {}, in_session=True)

    assert fast == slow


@pytest.mark.parametrize(
    "changed",
    [
        {"params": ["count"]},
        {"params": "x"},
        {"method": 5},
        {"jsonrpc": "1.0"},
        {"id": None},
        {"id": 1.5},
        {"id": True},
    ],
)
@pytest.mark.parametrize("era", [handshake_call, modern_call], ids=["handshake", "modern"])
async def test_a_wrong_envelope_is_refused_the_same_in_either_era(
    both: Both, era: Any, changed: dict[str, Any]
) -> None:
    body, headers = era("tools/call", {"name": "count", "arguments": {}})
    body = {**body, **changed}

    fast, slow = await both.ask(body, headers, in_session=era is handshake_call)

    status, _, _, answer = fast
    repeated = None if "id" in changed else body["id"]
    assert fast == slow
    assert (status, answer["id"], answer["error"]["code"]) == (400, repeated, -32600)
    assert "Send {" in answer["error"]["message"]


def _mutant(chance: random.Random, value: Any) -> Any:
    """`value` with something unusual at one place of it."""
    changed = copy.deepcopy(value)
    place = changed
    while True:
        key = chance.choice([*place, chance.choice(KEYS)])
        if isinstance(place.get(key), dict) and place[key] and chance.random() < 0.7:
            place = place[key]
        elif chance.random() < 0.3:
            place.pop(key, None)
            return changed
        else:
            place[key] = chance.choice(UNUSUAL)
            return changed


@pytest.mark.parametrize("era", [handshake_call, modern_call], ids=["handshake", "modern"])
async def test_requests_with_something_unusual_in_them_have_the_same_answers(both: Both, era: Any) -> None:
    chance = random.Random(14)
    for number in range(MUTANTS):
        method, params = chance.choice(CALLS)
        body, headers = era(method, params)
        body = _mutant(chance, _mutant(chance, body) if chance.random() < 0.3 else body)

        fast, slow = await both.ask(body, headers, in_session=era is handshake_call and chance.random() < 0.7)

        assert fast == slow, (number, body)


def _known(
    era: Any, method: str, params: dict[str, Any], *, changed: dict[str, Any] | None = None, **more: str
) -> bool:
    body, headers = era(method, params)
    body |= changed or {}
    sent = {name.lower().encode(): value.encode() for name, value in {**JSON_HEADERS, **headers, **more}.items()}
    is_modern = era is modern_call
    return known_request(sent, body, is_modern=is_modern) is not None


@pytest.mark.parametrize("accept", ["application/json", "*/*", "application/*", "text/html, application/json;q=0.5"])
@pytest.mark.parametrize("era", [handshake_call, modern_call], ids=["handshake", "modern"])
def test_usual_requests_are_known_whatever_client_sends_them(era: Any, accept: str) -> None:
    """Otherwise all is answered as it should be, and slowly."""
    assert _known(era, "tools/call", {"name": "x", "arguments": {"a": None}}, Accept=accept)
    assert _known(era, "tools/call", {"name": "x"}, Accept=accept)
    assert _known(era, "resources/read", {"uri": "resource://toys"}, Accept=accept)
    assert _known(era, "ping", {}, Accept=accept) == (era is handshake_call)


@pytest.mark.parametrize("method", ["tools/list", "initialize", "notifications/cancelled", "prompts/get", "x"])
def test_other_methods_are_not(method: str) -> None:
    assert not _known(handshake_call, method, {})


def test_meta_of_a_client_is_no_reason_and_another_key_is() -> None:
    assert _known(handshake_call, "tools/call", {"name": "x", "_meta": {"progressToken": 1, "a/b": {}}})
    assert _known(handshake_call, "resources/read", {"uri": "resource://x", "_meta": {}})
    assert not _known(handshake_call, "tools/call", {"name": "x", "task": {"ttl": 1}})


@pytest.mark.parametrize(
    ("changed", "is_known"),
    [
        ({"id": 1 << 53}, True),
        ({"id": -(1 << 53)}, True),
        ({"id": (1 << 53) + 1}, False),
        ({"id": -(1 << 53) - 1}, False),
        ({"id": "x"}, True),
        ({"id": True}, False),
        ({"x": 1}, False),
        ({"result": {}}, False),
    ],
)
def test_an_id_that_every_parser_reads_and_the_keys_of_a_request_are_usual(
    changed: dict[str, Any], is_known: bool
) -> None:
    assert _known(handshake_call, "tools/call", {"name": "x"}, changed=changed) == is_known
