"""One connection without a socket: what it takes of a client that was refused, and of one that takes nothing."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from mcp_agent_mail.server.transport.protocol import LINGER_BYTES, MAX_TARGET_BYTES, BoundedHttp
from mcp_agent_mail.server.transport.room import Room

PIECE = 1024 * 1024


class FakeTransport(asyncio.Transport):
    """Of a client that takes nothing of what is written; `untaken` bytes of it lie here."""

    def __init__(self) -> None:
        super().__init__()
        self.untaken = 0
        self.written = b""
        self.ended_by: str | None = None

    def write(self, data: Any) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return self.untaken

    def is_closing(self) -> bool:
        return self.ended_by is not None

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        self.ended_by = self.ended_by or "close"

    def abort(self) -> None:
        self.ended_by = "abort"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Never asked."""


def connected() -> tuple[BoundedHttp, FakeTransport]:
    protocol = BoundedHttp(Config(app, log_config=None), ServerState(), {}, room=Room(lambda: 1_000.0))
    transport = FakeTransport()
    protocol.connection_made(transport)
    return protocol, transport


async def test_of_a_refused_client_so_much_is_dropped_and_no_more() -> None:
    protocol, transport = connected()
    protocol.data_received(b"GET /" + b"a" * (MAX_TARGET_BYTES + 1))
    for _ in range(LINGER_BYTES // PIECE):
        protocol.data_received(b"a" * PIECE)
    within = transport.ended_by
    protocol.data_received(b"a")

    assert transport.written.startswith(b"HTTP/1.1 414 ")
    assert (within, transport.ended_by) == (None, "abort")


async def test_a_connection_that_makes_room_does_not_wait_for_its_answer_to_be_taken() -> None:
    taking, transport = connected()
    deaf, deafs = connected()
    deafs.untaken = 1
    taking.close_idle()
    deaf.close_idle()

    assert (transport.ended_by, deafs.ended_by) == ("close", "abort")
