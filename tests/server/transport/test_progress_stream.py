"""Which calls are answered as an event stream, and how an answer becomes its last event."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Message

from mcp_agent_mail.server.transport.hearing import RequestHearing
from mcp_agent_mail.server.transport.progress_stream import ProgressStream, progress_token

TAKES = {b"accept": b"application/json, text/event-stream;q=0.9"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "_meta": {"progressToken": 7}}}
NEVER_S = 3_600.0
BODY = b'{"jsonrpc":"2.0","id":1,"result":{}}'


def token(message: Any, headers: dict[bytes, bytes] = TAKES) -> object:
    return progress_token(headers, message)


def test_a_call_with_a_token_whose_client_takes_event_streams_wants_one() -> None:
    assert token(CALL) == 7
    assert token({**CALL, "params": {"_meta": {"progressToken": "seven"}}}) == "seven"


@pytest.mark.parametrize(
    "message",
    [
        {**CALL, "method": "tools/list"},
        {**CALL, "params": {"name": "t", "arguments": {"progressToken": 7}}},
        {**CALL, "params": {"_meta": {"progressToken": True}}},
        {**CALL, "params": {"_meta": {"progressToken": 1 << 64}}},
        {**CALL, "params": {"_meta": {"progressToken": [7]}}},
        {**CALL, "params": ["progressToken"]},
        {key: value for key, value in CALL.items() if key != "id"},
    ],
    ids=["another method", "an argument", "a boolean", "a large number", "a list", "no object", "a notification"],
)
def test_nothing_else_does(message: Any) -> None:
    assert token(message) is None


def test_neither_does_a_client_that_names_no_event_stream() -> None:
    assert token(CALL, {b"accept": b"*/*"}) is None
    assert token(CALL, {}) is None


class Wire:
    """Keeps what is sent, and tells when so many messages were."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.undone: list[str] = []
        self._more = asyncio.Event()
        self.hearing = RequestHearing(self._receive, self._send)

    async def _receive(self) -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def _send(self, message: Message) -> None:
        self.sent.append(message)
        self._more.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.sent) < count:
                self._more.clear()
                await self._more.wait()

    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def start(status: int = 200) -> Message:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"9"), (b"mcp-session-id", b"s")]
    return {"type": "http.response.start", "status": status, "headers": headers}


async def test_an_answer_that_comes_at_once_is_the_one_event_and_keeps_its_other_headers() -> None:
    wire = Wire()

    async with ProgressStream(wire.hearing, 7, every_s=NEVER_S).opened() as send:
        await send(start())
        await send({"type": "http.response.body", "body": BODY[:10], "more_body": True})
        await send({"type": "http.response.body", "body": BODY[10:]})

    began, event = wire.sent
    assert (began["status"], dict(began["headers"])) == (
        200,
        {
            b"content-type": b"text/event-stream",
            b"cache-control": b"no-cache, no-transform",
            b"mcp-session-id": b"s",
        },
    )
    assert event["body"] == b"event: message\ndata: " + BODY + b"\n\n"
    assert not event.get("more_body", False)


async def test_a_refusal_before_any_event_stays_what_it_is() -> None:
    wire = Wire()

    async with ProgressStream(wire.hearing, 7, every_s=NEVER_S).opened() as send:
        await send(start(406))
        await send({"type": "http.response.body", "body": b"{}"})

    assert [message.get("status") for message in wire.sent] == [406, None]
    assert wire.body() == b"{}"


async def test_a_refusal_after_events_is_the_last_one_and_what_was_promised_is_taken_back() -> None:
    wire = Wire()
    wire.hearing.unless_heard(lambda: wire.undone.append("undone"))

    async with ProgressStream(wire.hearing, 7, every_s=0.001).opened() as send:
        await wire.until(3)
        await send(start(500))
        await send({"type": "http.response.body", "body": b'{"error":1}'})

    assert [message.get("status") for message in wire.sent if "status" in message] == [200]
    assert wire.body().endswith(b'\n\nevent: message\ndata: {"error":1}\n\n')
    assert wire.undone == ["undone"]


async def test_nothing_is_told_once_the_answer_has_come() -> None:
    wire = Wire()

    async with ProgressStream(wire.hearing, 7, every_s=0.001).opened() as send:
        await wire.until(3)
        await send(start())
        count = len(wire.sent)
        await send({"type": "http.response.body", "body": BODY})

    assert len(wire.sent) == count + 1
    assert wire.body().endswith(b"data: " + BODY + b"\n\n")
