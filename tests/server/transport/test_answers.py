"""An answer to a client that takes nothing: streamed, little of it is written; else all of it is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_agent_mail.server.transport.answers import begin_stream
from tests.server.transport.test_protocol import ENDS_WITHIN_S, HIGH_WATER, PIECE, REQUEST, connected

PIECES = 4


def streaming(told: list[str], *, streams: bool = True) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001  # ASGI's
        if streams:
            begin_stream(scope)
        length = (b"content-length", b"%d" % (PIECES * PIECE))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        for _ in range(PIECES):
            await send({"type": "http.response.body", "body": b"a" * PIECE, "more_body": True})
            told.append("written")
        await send({"type": "http.response.body", "body": b""})
        told.append("ended")

    return app


async def _all_that_can_run() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_stream_waits_for_its_client_piece_by_piece() -> None:
    told: list[str] = []
    protocol, transport, room = connected(streaming(told))
    transport.deaf = protocol
    protocol.data_received(REQUEST)
    running = set(protocol.tasks)
    for piece in range(1, PIECES + 1):
        await _all_that_can_run()
        assert (len(told), transport.untaken // PIECE, room.untaken_bytes) == (piece, 1, 0)
        transport.untaken = 0
        protocol.resume_writing()
    await asyncio.wait(running, timeout=ENDS_WITHIN_S)

    assert told[-1] == "ended"


async def test_what_is_not_streamed_is_written_as_a_whole() -> None:
    told: list[str] = []
    protocol, transport, room = connected(streaming(told, streams=False))
    transport.deaf, transport.untaken = protocol, HIGH_WATER
    protocol.data_received(REQUEST)
    await asyncio.wait(set(protocol.tasks), timeout=ENDS_WITHIN_S)

    assert told[-1] == "ended"
    assert room.untaken_bytes == transport.untaken > PIECES * PIECE


@pytest.mark.parametrize("is_cut_off", [False, True])
async def test_a_stream_whose_client_goes_away_ends(*, is_cut_off: bool) -> None:
    told: list[str] = []
    protocol, transport, _ = connected(streaming(told))
    transport.deaf = protocol
    protocol.data_received(REQUEST)
    running = set(protocol.tasks)
    await _all_that_can_run()
    if is_cut_off:
        protocol.abort()
    protocol.connection_lost(None)
    await asyncio.wait(running, timeout=ENDS_WITHIN_S)

    assert told[-1] == "ended"
    assert transport.untaken // PIECE == 1


async def test_a_request_after_a_stream_is_answered_as_a_whole() -> None:
    told: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await streaming(told, streams=scope["path"] == "/long")(scope, receive, send)

    protocol, _, _ = connected(app)
    protocol.data_received(REQUEST.replace(b"/ ", b"/long ") + REQUEST)
    while protocol.tasks:
        await asyncio.wait(set(protocol.tasks), timeout=ENDS_WITHIN_S)

    assert told.count("ended") == 2
    assert not protocol.is_streaming
