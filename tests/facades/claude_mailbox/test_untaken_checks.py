"""A client that does not take the answer which its mail is in."""

from __future__ import annotations

import socket
import struct

import pytest

from tests.facades.claude_mailbox.mailbox_server import MailboxServer
from tests.served import pause

MESSAGES = 3
LARGE = "x" * 900_000
"""One is what a check holds, and more than the client's kernel takes."""
_RESET = struct.pack("ii", 1, 0)
_LOOKS = 1_000


def _ask(server: MailboxServer, name: str, more: str = "") -> socket.socket:
    """A connection that keeps little, and does not read."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    raw.connect(("127.0.0.1", server.ports[0]))
    head = f"POST /v1/check-inbox HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Mailbox: {name}\r\nContent-Length: 0\r\n"
    raw.sendall(f"{head}{more}\r\n".encode())
    return raw


def _wait_until_pending(server: MailboxServer, count: int) -> bool:
    for _ in range(_LOOKS):
        if server.pending("slow") == count:
            return True
        pause()
    return False


@pytest.mark.parametrize("more", ["", "Connection: close\r\n"], ids=["kept", "closed"])
def test_what_was_in_an_answer_that_was_cut_waits_again_in_its_order(server: MailboxServer, more: str) -> None:
    for number in range(MESSAGES):
        server.send("ann", "slow", f"{number:02d}{LARGE}")
    raw = _ask(server, "slow", more)
    try:
        is_taken = _wait_until_pending(server, MESSAGES - 1)
        raw.recv(1, socket.MSG_PEEK)  # It was written.
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    finally:
        raw.close()
    is_back = _wait_until_pending(server, MESSAGES)
    got = [one["body"][:2] for _ in range(MESSAGES) for one in server.check("slow")]

    assert (is_taken, is_back) == (True, True)
    assert got == [f"{number:02d}" for number in range(MESSAGES)]


def test_a_client_that_reads_the_answer_and_ends_has_had_its_mail(server: MailboxServer) -> None:
    server.send("ann", "quick", "1")
    raw = _ask(server, "quick")
    try:
        head = b""
        while not head.endswith(b"]"):
            head += raw.recv(65_536)
    finally:
        raw.close()

    assert b'"1"' in head
    assert server.check("quick") == []
