"""What a client gets whose request and whose end of the session meet."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from mcp_agent_mail.server.sessions.answers import AnswerInSession
from tests.server.hosted import hosted, toy_app
from tests.server.served_mail import Served, serving
from tests.server.test_mcp import HANDSHAKE, JSON_HEADERS, handshake_call, post

START, BODY = "http.response.start", "http.response.body"
FAULT = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Error handling POST request"}}'


HELLO = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


class Transport:
    is_terminated = False


def message(status: int, body: bytes) -> tuple[Message, Message]:
    return {"type": START, "status": status, "headers": []}, {"type": BODY, "body": body}


async def given(*sent: Message, ends: bool, raises: bool = False) -> tuple[AnswerInSession, Sequence[Message]]:
    """By an SDK that sends so."""
    transport, passed = Transport(), list[Message]()

    async def send(one: Message) -> None:
        passed.append(one)

    async def sdk(_scope: Scope, _receive: Receive, send: Send) -> None:
        transport.is_terminated = ends
        for one in sent:
            await send(one)
        if raises:
            raise RuntimeError("closed")

    answer = AnswerInSession(transport, send)  # type: ignore[arg-type]  # as far as it matters
    await answer.given(sdk, {}, send)  # type: ignore[arg-type]  # nothing is received
    return answer, passed


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("sent", [message(200, b"{}"), message(500, b"terminated before"), message(202, b"")])
async def test_an_answer_goes_as_it_is(sent: tuple[Message, Message], *, ends: bool) -> None:
    answer, passed = await given(*sent, ends=ends)

    assert (list(passed), answer.is_ended, answer.status) == (list(sent), False, sent[0]["status"])
    assert answer.is_taken is (sent[0]["status"] == 202)


async def test_behind_a_whole_answer_nothing_is_sent_and_nothing_raised() -> None:
    answer, passed = await given(*message(202, b""), *message(500, FAULT), ends=True, raises=True)

    assert [one.get("status") for one in passed] == [202, None]
    assert (answer.is_taken, answer.is_ended) == (True, False)


@pytest.mark.parametrize("sent", [(), message(500, FAULT)])
async def test_what_met_the_end_was_not_answered(sent: tuple[Message, ...]) -> None:
    answer, passed = await given(*sent, ends=True, raises=True)

    assert (answer.is_ended, list(passed)) == (True, [])


async def test_an_event_stream_goes_on_piece_by_piece() -> None:
    start: Message = {"type": START, "status": 200, "headers": []}
    pieces: list[Message] = [{"type": BODY, "body": b"a", "more_body": True}, {"type": BODY, "body": b"b"}]

    _, passed = await given(start, *pieces, ends=False)

    assert list(passed) == [start, *pieces]


async def test_a_fault_of_a_session_that_goes_on_is_one() -> None:
    with pytest.raises(RuntimeError):
        await given(ends=False, raises=True)
    _, passed = await given(*message(500, FAULT), ends=False)

    assert passed[0]["status"] == 500


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as opened:
        yield opened


async def test_a_request_that_met_the_end_is_told_that_the_session_ended() -> None:
    app = toy_app(has_fast_path=False)
    endpoint = app._endpoint
    async with hosted(app) as url:
        opened = await post(f"{url}/mcp", handshake_call, "initialize", HELLO)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        (transport,) = endpoint._sessions().values()

        async def meets_the_end(*_: Any) -> None:
            await transport.terminate()
            raise RuntimeError("closed")

        endpoint._stateful.handle_request = meets_the_end  # type: ignore[assignment,method-assign]  # at the moment it is about
        answer = await post(f"{url}/mcp", handshake_call, "tools/list", {}, **session)

    assert (answer.status_code, answer.json()["error"]["message"]) == (404, "The client ended this session.")


async def test_an_end_beside_notifications_and_lists_closes_no_connection(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[httpx.Response] = []
    with caplog.at_level(logging.ERROR, "uvicorn.error"):
        for number in range(30):
            body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
            opened = await served.client.post("/mcp", json=body, headers=JSON_HEADERS)
            session = {**JSON_HEADERS, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
            asked: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            if number % 2:
                asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            seen += await asyncio.gather(
                served.client.post("/mcp", content=json.dumps(asked), headers=session),
                served.client.delete("/mcp", headers=session),
            )

    assert {one.status_code for one in seen} <= {200, 202, 404, 500}
    assert not any(b"Error handling" in one.content for one in seen)
    assert [record for record in caplog.records if record.name == "uvicorn.error"] == []
