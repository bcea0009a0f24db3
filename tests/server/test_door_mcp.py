"""A door's MCP endpoint, over real sockets: its own tools in its own words, whoever calls, in whichever session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Annotated, Any

import httpx
import pytest

from mcp_agent_mail.core.concurrency.hearing import SentPromise, current_hearing
from mcp_agent_mail.core.errors import AgentMailError, Conflict
from mcp_agent_mail.core.params import Text
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Json, ToolSpec, ToolTable, current_credentials, tool
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.facades.asgi import AsgiParts, DoorRequest, Receive, Send
from mcp_agent_mail.facades.tool_door import DoorAnswer, DoorTools
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.server.dispatch import Calls
from mcp_agent_mail.server.doors import Doors, ServerParts
from tests.mcp_way import HAS_FAST_PATH
from tests.server.edge.asked_edge import SERVER
from tests.server.hosted import hosted, toy_app, toy_edge
from tests.server.test_mcp import ERAS, HANDSHAKE, handshake_call, post

HELLO = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
ASKS = {"_meta": {"progressToken": "p-1"}}


@dataclass
class Toy:
    """What the toy door's tools wait for and were told."""

    url: str = ""
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    waits: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    heard: list[str] = field(default_factory=list)
    told: asyncio.Event = field(default_factory=asyncio.Event)
    usage: Usage = field(default_factory=lambda: Usage(clock=lambda: 0))  # type: ignore[arg-type,return-value]

    def at(self, name: str) -> str:
        return f"{self.url}/agents/{name}/mcp"

    def _lost(self) -> None:
        self.heard.append("lost")
        self.told.set()

    def tools(self) -> list[ToolSpec]:
        async def take() -> Json:
            """Take something."""
            current_hearing().unless_heard(self._lost)
            current_hearing().once_sent(SentPromise(sent=lambda: self.heard.append("sent")))
            with current_hearing().watched(self.left.set):
                self.waits.set()
                await self.go_on.wait()
            return {"taken": True}

        async def stay() -> Json:
            """End as if nothing had happened, though the call was cancelled."""
            current_hearing().unless_heard(self._lost)
            current_hearing().once_sent(SentPromise(sent=lambda: self.heard.append("sent")))
            self.waits.set()
            with suppress(asyncio.CancelledError):
                await self.go_on.wait()
            return "stayed"

        async def say(text: Annotated[str, Text()]) -> Json:
            """Say it."""
            if text == "clash":
                raise Conflict("It is taken.", hint="Take another.")
            if text == "crash":
                raise ValueError(text)
            return f"{current_credentials().door_name}: {text}"

        return [
            tool(take, cluster="toys", title="Take"),
            tool(stay, cluster="toys", title="Stay"),
            tool(say, cluster="toys", title="Say"),
        ]


def _shown(_spec: ToolSpec, result: Json) -> DoorAnswer:
    return DoorAnswer(text=result) if isinstance(result, str) else DoorAnswer(text="object", structured=result)


def _refused(name: str, error: AgentMailError) -> DoorAnswer:
    return DoorAnswer(text=f"{name}! {error.message}")


class _Door:
    open_paths: frozenset[str] = frozenset()

    def speaks_mcp(self, _path: str) -> bool:
        return True

    def __init__(self, toy: Toy, parts: AsgiParts) -> None:
        self._mcp = parts.mcp(
            DoorTools(
                server_name="toys",
                tools=toy.tools(),
                show_result=_shown,
                show_error=_refused,
                aliases={"speak": "say"},
                progress_every_s=0.01,
            )
        )

    def opened(self) -> AbstractAsyncContextManager[None]:
        return self._mcp.opened()

    async def answer(self, request: DoorRequest, receive: Receive, send: Send) -> None:
        await self._mcp.answer(request.named(request.path.split("/")[2]), receive, send)


@pytest.fixture
async def toy() -> AsyncIterator[Toy]:
    made = Toy()
    calls = Calls(ToolTable([]), ResourceTable([]), usage=made.usage)
    door = _Door(made, ServerParts(calls, has_fast_path=HAS_FAST_PATH))
    doors = Doors(by_part={"/agents/": door}, apps={Door.POSTAL: door})
    async with hosted(toy_app(doors=doors)) as made.url:
        yield made


async def _open(toy: Toy, name: str) -> dict[str, str]:
    answer = await post(toy.at(name), handshake_call, "initialize", HELLO)
    return {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": HANDSHAKE}


async def _say(toy: Toy, name: str, text: str, tool: str = "say", **headers: str) -> Any:
    params = {"name": tool, "arguments": {"text": text}}
    answer = await post(toy.at(name), handshake_call, "tools/call", params, **headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


async def test_a_session_that_a_token_opened_serves_that_token_alone() -> None:
    toy = Toy()
    door = _Door(toy, ServerParts(Calls(ToolTable([]), ResourceTable([])), has_fast_path=HAS_FAST_PATH))
    edge = toy_edge(server_token=SERVER, trust_loopback=True)
    async with hosted(toy_app(edge, doors=Doors(by_part={"/agents/": door}, apps={Door.POSTAL: door}))) as toy.url:
        own: dict[str, str] = {"Authorization": f"Bearer {SERVER}"}
        opened = await post(toy.at("bob"), handshake_call, "initialize", HELLO, **own)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": HANDSHAKE}
        seen = [await post(toy.at(name), handshake_call, "ping", {}, **session) for name in ("bob", "mallory")]
        async with httpx.AsyncClient() as client:
            ended = await client.delete(toy.at("mallory"), headers=session)
        after = await post(toy.at("bob"), handshake_call, "ping", {}, **session, **own)

    assert [(one.status_code, one.headers.get("mcp-session-id")) for one in seen] == [(200, None)] * 2
    assert (ended.status_code, after.headers["mcp-session-id"]) == (200, session["Mcp-Session-Id"])


@ERAS
async def test_its_own_tools_are_listed_as_declared_and_nothing_of_ours_is(toy: Toy, era: Any) -> None:
    lists = {}
    for kind in ("tools", "resources", "prompts"):
        answer = await post(f"{toy.at('bob')}?profile=core&format=toon", era, f"{kind}/list", {})
        lists[kind] = [one["name"] for one in answer.json()["result"][kind]]

    assert lists == {"tools": ["take", "stay", "say"], "resources": [], "prompts": []}


async def test_it_says_its_own_name_and_tells_nobody_how_to_begin(toy: Toy) -> None:
    answer = await post(toy.at("bob"), handshake_call, "initialize", HELLO)

    result = answer.json()["result"]
    assert result["serverInfo"]["name"] == "toys"
    assert "instructions" not in result
    assert result["protocolVersion"] == HANDSHAKE


@ERAS
async def test_results_and_refusals_are_in_its_words_whatever_the_connection_asks_for(toy: Toy, era: Any) -> None:
    toy.go_on.set()
    asked = {"X-Tool-Profile": "core", "X-Output-Format": "toon"}
    answers = [
        (await post(toy.at("bob"), era, "tools/call", params, **asked)).json()["result"]
        for params in (
            {"name": "say", "arguments": {"text": "hi"}},
            {"name": "take", "arguments": {}},
            {"name": "say", "arguments": {"text": "clash"}},
            {"name": "nope", "arguments": {}},
            {"name": "say", "arguments": {"text": "hi", "format": "md"}},
        )
    ]

    assert [one["content"] for one in answers] == [
        [{"type": "text", "text": text}]
        for text in (
            "bob: hi",
            "object",
            "say! It is taken.",
            "nope! Unknown tool: nope",
            "say! say has no argument 'format'.",
        )
    ]
    assert [one.get("structuredContent") for one in answers] == [None, {"taken": True}, None, None, None]
    assert [one["isError"] for one in answers] == [False, False, True, True, True]


async def test_a_bug_is_masked(toy: Toy) -> None:
    result = await _say(toy, "bob", "crash")

    assert result["content"][0]["text"] == "say! The server failed while running tool say."


async def test_an_alias_is_taken_and_refused_by_the_name_that_was_used(toy: Toy) -> None:
    spoken = await _say(toy, "bob", "hi", "speak")
    refused = await _say(toy, "bob", "clash", "speak")

    assert spoken["content"][0]["text"] == "bob: hi"
    assert refused["content"][0]["text"] == "speak! It is taken."
    assert (toy.usage.of("say").calls, toy.usage.of("say").errors, toy.usage.of("speak").calls) == (2, 1, 0)


async def test_who_calls_is_said_by_each_request_not_by_the_session(toy: Toy) -> None:
    session = await _open(toy, "alice")

    said = [(await _say(toy, name, "hi", **session))["content"][0]["text"] for name in ("alice", "bob")]

    assert said == ["alice: hi", "bob: hi"]


async def test_the_end_of_one_session_is_nobody_elses_and_a_forgotten_one_is_served(toy: Toy) -> None:
    mine, other = await _open(toy, "alice"), await _open(toy, "bob")

    async with httpx.AsyncClient(timeout=60) as client:
        ended = await client.delete(toy.at("alice"), headers=mine)

    assert ended.status_code == 200
    assert (await _say(toy, "bob", "hi", **other))["content"][0]["text"] == "bob: hi"
    assert (await _open(toy, "carol"))["Mcp-Session-Id"]
    assert (await _say(toy, "bob", "hi", **{"Mcp-Session-Id": "feed"}))["content"][0]["text"] == "bob: hi"


async def test_there_is_no_event_stream_beside_those_that_answer_calls(toy: Toy) -> None:
    session = await _open(toy, "alice")

    async with httpx.AsyncClient(timeout=60) as client:
        answer = await client.get(toy.at("alice"), headers={**session, "Accept": "text/event-stream"})

    assert answer.status_code == 405


def _events(text: str) -> list[Any]:
    """The JSON of each event, all of which are messages."""
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    assert {block[0] for block in blocks} == {"event: message"}
    return [json.loads(block[1].removeprefix("data: ")) for block in blocks]


@ERAS
async def test_a_call_that_asks_for_progress_is_answered_as_an_event_stream(toy: Toy, era: Any) -> None:
    body, headers = era("tools/call", {"name": "take", "arguments": {}})
    body["params"].setdefault("_meta", {}).update(ASKS["_meta"])
    given = {**headers, "Accept": "application/json, text/event-stream"}
    text = ""

    async with (
        httpx.AsyncClient(timeout=60) as client,
        client.stream("POST", toy.at("bob"), json=body, headers=given) as answer,
    ):
        async for piece in answer.aiter_text():
            text += piece
            if text.count("\n\n") >= 2:
                toy.go_on.set()

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")
    *notes, last = _events(text)
    assert {note["method"] for note in notes} == {"notifications/progress"}
    assert {note["params"]["progressToken"] for note in notes} == {"p-1"}
    told = [note["params"]["progress"] for note in notes]
    assert told == sorted(set(told))
    assert len(told) >= 2
    assert (last["id"], last["result"]["structuredContent"]) == (1, {"taken": True})
    assert toy.heard == ["sent"]


@pytest.mark.parametrize(
    ("accept", "params"),
    [
        ("application/json", {"name": "say", "arguments": {"text": "hi"}, **ASKS}),
        ("application/json, text/event-stream", {"name": "say", "arguments": {"text": "hi"}}),
        ("application/json, text/event-stream", {"name": "say", "arguments": {"text": "hi"}, "_meta": {}}),
        ("*/*", {"name": "say", "arguments": {"text": "hi"}, **ASKS}),
    ],
    ids=["takes JSON alone", "asks for no progress", "no token", "names no stream"],
)
async def test_any_other_call_is_answered_in_json(toy: Toy, accept: str, params: dict[str, Any]) -> None:
    answer = await post(toy.at("bob"), handshake_call, "tools/call", params, Accept=accept)

    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["content"][0]["text"] == "bob: hi"


async def test_what_is_refused_before_the_call_keeps_its_status_though_it_asks_for_progress(toy: Toy) -> None:
    params = {"name": "say", "arguments": {"text": "hi"}, **ASKS}
    wrong = {"Content-Type": "text/plain", "Accept": "*/*, text/event-stream"}
    answer = await post(toy.at("bob"), handshake_call, "tools/call", params, **wrong)

    assert answer.status_code == 400


@pytest.mark.parametrize("meta", [{}, ASKS], ids=["JSON", "event stream"])
async def test_a_client_that_leaves_while_its_call_waits_has_heard_nothing(toy: Toy, meta: dict[str, Any]) -> None:
    params = {"name": "take", "arguments": {}, **meta}
    call = asyncio.create_task(post(toy.at("bob"), handshake_call, "tools/call", params))
    await toy.waits.wait()

    call.cancel()
    await toy.left.wait()
    toy.go_on.set()
    await toy.told.wait()

    assert toy.heard == ["lost"]


@pytest.mark.parametrize("meta", [{}, ASKS], ids=["JSON", "event stream"])
@pytest.mark.parametrize("name", ["take", "stay"], ids=["as it waits", "as it ends"])
async def test_a_call_that_is_cancelled_in_its_session_has_given_nothing(
    toy: Toy, meta: dict[str, Any], name: str
) -> None:
    session = await _open(toy, "bob")
    params = {"name": name, "arguments": {}, **meta}
    call = asyncio.create_task(post(toy.at("bob"), handshake_call, "tools/call", params, **session))
    await toy.waits.wait()
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}

    async with httpx.AsyncClient(timeout=60) as client:
        headers = {"Accept": "application/json, text/event-stream", **session}
        told = await client.post(toy.at("bob"), json=note, headers=headers)
    answer = await call

    assert told.status_code == 202
    (event,) = _events(answer.text)[-1:] if meta else [answer.json()]
    assert event["error"]["code"] == -32800
    assert toy.heard == ["lost"]
