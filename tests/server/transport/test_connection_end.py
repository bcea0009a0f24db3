"""How a connection without a socket ends: refused, made to leave, or idle for long."""

from __future__ import annotations

import socket

from mcp_agent_mail.core.concurrency.hearing import SentPromise
from mcp_agent_mail.server.transport.connection_end import KEPT_FOR_EVIDENCE, LINGER_BYTES
from mcp_agent_mail.server.transport.http_refusals import MAX_TARGET_BYTES
from mcp_agent_mail.server.transport.protocol import BoundedHttp
from tests.server.transport.test_protocol import PIECE, FakeTransport, connected


async def test_of_a_refused_client_so_much_is_dropped_and_no_more() -> None:
    protocol, transport, _ = connected()
    protocol.data_received(b"GET /" + b"a" * (MAX_TARGET_BYTES + 1))
    for _ in range(LINGER_BYTES // PIECE):
        protocol.data_received(b"a" * PIECE)
    within = transport.ended_by
    protocol.data_received(b"a")

    assert transport.written.startswith(b"HTTP/1.1 414 ")
    assert b"\r\nx-content-type-options: nosniff\r\n" in transport.written
    assert (within, transport.ended_by) == (None, "abort")


async def test_a_connection_that_makes_room_does_not_wait_for_its_answer_to_be_taken() -> None:
    taking, transport, _ = connected()
    deaf, deafs, _ = connected()
    deafs.untaken = 1
    taking.close_idle()
    deaf.close_idle()

    assert (transport.ended_by, deafs.ended_by) == ("close", "abort")


async def mail_sent(told: list[str]) -> tuple[BoundedHttp, FakeTransport]:
    """A connection whose last answer may be read by now, or may not."""
    protocol, transport, _ = connected()
    promise = SentPromise(lambda: told.append("sent"), lambda: told.append("read"), lambda: told.append("unread"))
    protocol._outlet.tell_sent([promise])
    return protocol, transport


async def test_an_idle_connection_is_closed() -> None:
    protocol, transport, _ = connected()

    protocol.timeout_keep_alive_handler()

    assert transport.ended_by == "close"


async def test_one_that_may_still_tell_whether_its_mail_was_read_is_kept_for_long_and_then_heard_to_its_end() -> None:
    told: list[str] = []
    protocol, transport = await mail_sent(told)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        transport.socket = ours
        kept = []
        for _ in range(KEPT_FOR_EVIDENCE + 1):
            kept.append((transport.has_said_all, transport.ended_by))
            protocol.timeout_keep_alive_handler()
        said_all = (transport.has_said_all, transport.ended_by)
        protocol.eof_received()

    assert kept == [(False, None)] * (KEPT_FOR_EVIDENCE + 1)
    assert said_all == (True, None)
    assert told == ["sent", "read"]


async def test_what_its_client_has_not_taken_when_it_ends_is_not_read() -> None:
    told: list[str] = []
    protocol, transport = await mail_sent(told)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"mail")
        transport.socket = ours
        protocol.eof_received()

    assert told == ["sent", "unread"]
