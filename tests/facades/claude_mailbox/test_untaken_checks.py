"""A client that does not take the answer which its mail is in."""

from __future__ import annotations

import socket
import struct

from tests.facades.claude_mailbox.mailbox_server import MailboxServer
from tests.served import pause

MESSAGES = 12
BODY = "x" * 900_000
"""All of them are more than the kernels of both ends take."""
_RESET = struct.pack("ii", 1, 0)
_LOOKS = 1_000


def _ask(server: MailboxServer, name: str) -> socket.socket:
    """A connection that keeps little, and does not read."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    raw.connect(("127.0.0.1", server.ports[0]))
    head = f"POST /v1/check-inbox HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Mailbox: {name}\r\nContent-Length: 0\r\n\r\n"
    raw.sendall(head.encode())
    return raw


def test_what_was_in_an_answer_that_was_cut_waits_again_in_its_order(server: MailboxServer) -> None:
    for number in range(MESSAGES):
        server.send("ann", "slow", f"{number:02d}{BODY}")
    raw = _ask(server, "slow")
    try:
        for _ in range(_LOOKS):
            if server.pending("slow") == 0:
                break
            pause()
        is_taken = server.pending("slow") == 0 and server.check("slow") == []
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    finally:
        raw.close()
    for _ in range(_LOOKS):
        if server.pending("slow") == MESSAGES:
            break
        pause()

    assert is_taken
    assert [one["body"][:2] for one in server.check("slow")] == [f"{number:02d}" for number in range(MESSAGES)]
