"""An answer to a client that takes nothing: streamed, little of it is written; else all of it. And when it is sent."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvloop

from mcp_agent_mail.core.concurrency.hearing import SentPromise, current_hearing
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.server.transport.answers import begin_stream
from tests.server.hosted import hosted, toy_app
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
    protocol, transport, limiter = connected(streaming(told))
    transport.stalls = protocol
    protocol.data_received(REQUEST)
    running = set(protocol.tasks)
    for piece in range(1, PIECES + 1):
        await _all_that_can_run()
        assert (len(told), transport.untaken // PIECE, limiter.untaken_bytes) == (piece, 1, 0)
        transport.untaken = 0
        protocol.resume_writing()
    await asyncio.wait(running, timeout=ENDS_WITHIN_S)

    assert told[-1] == "ended"


async def test_what_is_not_streamed_is_written_as_a_whole() -> None:
    told: list[str] = []
    protocol, transport, limiter = connected(streaming(told, streams=False))
    transport.stalls, transport.untaken = protocol, HIGH_WATER
    protocol.data_received(REQUEST)
    await asyncio.wait(set(protocol.tasks), timeout=ENDS_WITHIN_S)

    assert told[-1] == "ended"
    assert limiter.untaken_bytes == transport.untaken > PIECES * PIECE


@pytest.mark.parametrize("is_cut_off", [False, True])
async def test_a_stream_whose_client_goes_away_ends(*, is_cut_off: bool) -> None:
    told: list[str] = []
    protocol, transport, _ = connected(streaming(told))
    transport.stalls = protocol
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


LOOPS = pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
LARGE = 3_000_000
MEDIUM = 12_000
"""More than the client's kernel takes and less than both take together."""
KERNEL_BYTES = 8_192
CALL = b"POST /rpc/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n%s\r\n{}"


class Told:
    """What answers promised, and what came of it: `made`, `sent`, `read`, `unread` and `cut` name the calls."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.sent: list[str] = []
        self.read: list[str] = []
        self.unread: list[str] = []
        self.cut: list[str] = []
        self.began = asyncio.Event()
        self.left = asyncio.Event()

    def specs(self) -> tuple[ToolSpec, ...]:
        def promise(name: str) -> None:
            self.made.append(name)
            current_hearing().once_sent(
                SentPromise(
                    sent=lambda: self.sent.append(name),
                    read=lambda: self.read.append(name),
                    unread=lambda: self.unread.append(name),
                    cut=lambda: self.cut.append(name),
                )
            )

        async def large() -> Json:
            """Answer at length."""
            promise("large")
            return {"text": "x" * LARGE}

        async def medium() -> Json:
            """Answer with some text."""
            promise("medium")
            return {"text": "x" * MEDIUM}

        async def small() -> Json:
            """Answer."""
            promise("small")
            return {}

        async def late() -> Json:
            """Answer when the client has left."""
            promise("late")
            self.began.set()
            with current_hearing().watched(self.left.set):
                await self.left.wait()
            return {}

        async def broken() -> Json:
            """Promise, then fail."""
            promise("broken")
            raise Conflict("It is taken.", hint="Take another.")

        return tuple(tool(each, cluster="toys", title=each.__name__) for each in (large, medium, small, late, broken))


async def calling(url: str, *names: bytes, more: bytes = b"") -> socket.socket:
    """A connection that keeps little and has sent these calls in one piece."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    raw.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(raw, ("127.0.0.1", int(url.rpartition(":")[2])))
    await loop.sock_sendall(raw, b"".join(CALL % (name, more) for name in names))
    return raw


async def read(raw: socket.socket, least_bytes: int) -> bytes:
    heard = bytearray()
    async with asyncio.timeout(ENDS_WITHIN_S):
        while len(heard) < least_bytes:
            piece = await asyncio.get_running_loop().sock_recv(raw, min(65_536, least_bytes - len(heard)))
            if not piece:
                break
            heard += piece
    return bytes(heard)


async def read_through(raw: socket.socket, end: bytes) -> bytes:
    heard = b""
    while not heard.endswith(end):
        heard += await read(raw, 1)
    return heard


async def read_body(raw: socket.socket) -> None:
    """The next answer to its end."""
    head = await read_through(raw, b"\r\n\r\n")
    await read(raw, int(head.partition(b"content-length: ")[2].partition(b"\r")[0]))


async def look_round(url: str) -> None:
    """Some whole exchanges with the server."""
    for _ in range(3):
        other = await calling(url, b"echo", more=b"Connection: close\r\n")
        while await read(other, 65_536):
            pass
        other.close()


def served(new_loop: Any, scenario: Callable[[str, Told], Awaitable[None]]) -> Told:
    """What was told when the scenario has ended."""
    told = Told()

    async def live() -> None:
        app = toy_app(more_tools=told.specs())
        async with hosted(app, kernel_keeps_bytes=KERNEL_BYTES) as url:
            await scenario(url, told)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(live())
    return told


@LOOPS
@pytest.mark.parametrize("more", [b"", b"Connection: close\r\n"])
def test_an_answer_is_sent_once_its_last_byte_is_written_to_the_socket(new_loop: Any, more: bytes) -> None:
    seen = []

    async def scenario(url: str, told: Told) -> None:
        raw = await calling(url, b"large", more=more)
        head = await read_through(raw, b"\r\n\r\n")
        await look_round(url)
        seen.append((b" 200 " in head, [*told.sent]))
        await read(raw, LARGE + len(b'{"text":""}'))
        await look_round(url)
        seen.append((True, [*told.sent]))
        raw.close()

    told = served(new_loop, scenario)

    assert seen == [(True, []), (True, ["large"])]
    assert told.unread == []


@LOOPS
@pytest.mark.parametrize("more", [b"", b"Connection: close\r\n"])
@pytest.mark.parametrize("took_bytes", [0, 1, 5_000, 500_000])
def test_an_answer_that_is_cut_is_never_sent(new_loop: Any, more: bytes, took_bytes: int) -> None:
    async def scenario(url: str, _: Told) -> None:
        raw = await calling(url, b"large", more=more)
        await read(raw, took_bytes)
        await look_round(url)
        raw.close()
        await look_round(url)

    told = served(new_loop, scenario)

    assert (told.sent, told.unread, told.cut) == ([], [], ["large"])


@LOOPS
def test_an_answer_to_a_client_that_has_left_is_never_sent(new_loop: Any) -> None:
    async def scenario(url: str, told: Told) -> None:
        raw = await calling(url, b"late")
        await told.began.wait()
        raw.close()
        await told.left.wait()
        await look_round(url)

    told = served(new_loop, scenario)

    assert (told.sent, told.unread, told.cut) == ([], [], ["late"])


@LOOPS
def test_of_calls_sent_ahead_those_are_sent_whose_answers_were_taken(new_loop: Any) -> None:
    async def scenario(url: str, _: Told) -> None:
        raw = await calling(url, b"small", b"small", b"large", b"small")
        await read(raw, 50_000)
        await look_round(url)
        raw.close()
        await look_round(url)

    told = served(new_loop, scenario)

    assert told.sent == ["small", "small"]
    assert told.cut == told.made[2:]


@LOOPS
def test_after_an_answer_that_was_taken_slowly_the_next_one_is_sent_too(new_loop: Any) -> None:
    async def scenario(url: str, _: Told) -> None:
        raw = await calling(url, b"large", b"large", b"small")
        for length in (LARGE + len(b'{"text":""}'),) * 2:
            await read_through(raw, b"\r\n\r\n")
            await read(raw, length)
        await read_through(raw, b"{}")
        await look_round(url)
        raw.close()

    told = served(new_loop, scenario)

    assert told.sent == ["large", "large", "small"]


@LOOPS
def test_a_refusal_is_not_what_was_promised(new_loop: Any) -> None:
    async def scenario(url: str, _: Told) -> None:
        raw = await calling(url, b"broken", more=b"Connection: close\r\n")
        while await read(raw, 65_536):
            pass
        raw.close()

    told = served(new_loop, scenario)

    assert told.sent == []


@LOOPS
@pytest.mark.parametrize(("is_read", "unread"), [(False, ["small"]), (True, [])])
def test_a_client_that_leaves_with_an_answer_unread_is_told(new_loop: Any, unread: list[str], *, is_read: bool) -> None:
    async def scenario(url: str, _: Told) -> None:
        raw = await calling(url, b"small")
        await read(raw, 1)
        if is_read:
            await read_through(raw, b"{}")
        raw.close()
        await look_round(url)

    told = served(new_loop, scenario)

    assert (told.sent, told.unread) == (["small"], unread)


def reset(raw: socket.socket) -> None:
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()


@LOOPS
def test_who_asks_again_while_its_kernel_has_not_got_the_answer_has_not_read_it(new_loop: Any) -> None:
    seen = []

    async def scenario(url: str, told: Told) -> None:
        raw = await calling(url, b"medium")
        await look_round(url)
        await asyncio.get_running_loop().sock_sendall(raw, CALL % (b"echo", b""))
        await look_round(url)
        seen.append(([*told.sent], [*told.read]))
        for _ in range(2):
            await read_body(raw)
        await asyncio.get_running_loop().sock_sendall(raw, CALL % (b"echo", b""))
        await read_body(raw)
        raw.close()

    told = served(new_loop, scenario)

    assert seen == [(["medium"], [])]
    assert (told.read, told.unread) == (["medium"], [])


@LOOPS
@pytest.mark.parametrize("again", [b"G", CALL % (b"echo", b""), CALL % (b"small", b"")], ids=["byte", "call", "mail"])
def test_who_asks_again_and_then_resets_the_connection_has_not_read_the_last_answers(
    new_loop: Any, again: bytes
) -> None:
    seen = []

    async def scenario(url: str, told: Told) -> None:
        raw = await calling(url, b"small")
        await look_round(url)
        await asyncio.get_running_loop().sock_sendall(raw, again)
        await look_round(url)
        seen.append([*told.read])
        reset(raw)
        await look_round(url)

    told = served(new_loop, scenario)

    assert seen == [["small"]]
    assert told.unread == told.sent


@LOOPS
def test_an_answer_that_was_followed_by_one_that_was_read_too_stays_read_after_a_reset(new_loop: Any) -> None:
    async def scenario(url: str, _: Told) -> None:
        raw = await calling(url, b"small")
        await read_body(raw)
        for name in (b"medium", b"small"):
            await asyncio.get_running_loop().sock_sendall(raw, CALL % (name, b""))
            await read_body(raw)
        reset(raw)
        await look_round(url)

    told = served(new_loop, scenario)

    assert (told.sent, told.unread) == (["small", "medium", "small"], ["medium", "small"])
