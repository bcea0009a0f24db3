"""What the kernel knows of what a client has got; where it cannot say, nothing is taken for read."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest

from mcp_agent_mail.core.concurrency.hearing import SentPromise
from mcp_agent_mail.server.transport.client_kernel import has_acknowledged, has_taken_all
from tests.server.transport.test_protocol import connected


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Ours and the client's, over TCP."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
        with ours, theirs:
            yield ours, theirs


def test_what_the_clients_kernel_has_is_acknowledged(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    ours.sendall(b"mail")
    assert theirs.recv(4) == b"mail"
    theirs.sendall(b"go on")  # It carries the acknowledgement.
    assert ours.recv(5) == b"go on"

    assert (has_acknowledged(ours), has_taken_all(ours)) == (True, True)


def test_a_client_that_resets_has_acknowledged_nothing(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    ours.sendall(b"mail")
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    theirs.close()
    with pytest.raises(ConnectionResetError):
        ours.recv(1)

    assert has_acknowledged(ours) is False


async def test_where_the_kernel_cannot_be_asked_nothing_is_read_and_the_next_request_is_heard() -> None:
    told: list[str] = []
    protocol, transport, _ = connected()
    ours, theirs = socket.socketpair()  # Of no TCP: asked for its state, the kernel refuses.
    with ours, theirs:
        transport.socket = ours
        promise = SentPromise(lambda: told.append("sent"), lambda: told.append("read"), lambda: told.append("unread"))
        protocol._outlet.tell_sent([promise])

        acknowledged = has_acknowledged(ours)
        protocol.on_message_begin()

    assert (acknowledged, has_acknowledged(None), has_taken_all(None)) == (False, True, False)
    assert told == ["sent"]
    assert transport.ended_by is None
