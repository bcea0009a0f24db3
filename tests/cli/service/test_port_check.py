from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.cli.service.port_check import ForeignPort, is_ours, is_taken, require_no_stranger
from tests.facades.claude_mailbox.mailbox_server import open_mailboxes

HERE = "127.0.0.1"


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """A program that says the same to everybody."""
    with socket.create_server((HERE, 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65_536)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n{}",
        b'HTTP/1.1 200 OK\r\n\r\n{"status": "ok"}',
        b'HTTP/1.1 404 Not Found\r\n\r\n{"status": "alive"}',
        b"HTTP/1.1 200 OK\r\n\r\n[" + b"[" * 10_000,
    ],
)
def test_another_programs_port_is_refused_and_named(answer: bytes) -> None:
    with answering(answer) as port:
        assert is_taken(HERE, port)
        with pytest.raises(ForeignPort, match=f"Port {port} is another program's"):
            require_no_stranger("0.0.0.0", [0, port])


def test_a_free_port_is_well() -> None:
    with socket.create_server((HERE, 0)) as free:
        port = int(free.getsockname()[1])

    assert not is_taken(HERE, port)
    require_no_stranger(HERE, [port])


def test_a_server_of_ours_is_known_by_its_health(tmp_path: Path) -> None:
    with open_mailboxes(tmp_path / "store") as server:
        assert is_ours(HERE, server.ports[0])
        assert is_ours(HERE, server.served.port)
        require_no_stranger(HERE, [server.served.port, *server.ports])
