"""A server that never comes to an end, and never stops either: it answers in pieces, each before a read gives up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"


@contextmanager
def dripping(first: bytes, piece: bytes, *, pieces: int, every_s: float = 0.02, last: bytes = b"") -> Iterator[str]:
    """Its address. Each connection gets `first`, so many pieces, and `last`; so a test that fails ends too."""
    ended = threading.Event()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(first)
            for _ in range(pieces):
                if ended.wait(every_s):
                    return
                connection.sendall(piece)
            connection.sendall(last)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):  # What is closed with a request unread takes its answer along.
                pass

    def serve() -> None:
        answering = []
        with suppress(OSError):
            while not ended.is_set():
                connection, _ = listener.accept()
                one = threading.Thread(target=answer, args=(connection,))
                one.start()
                answering.append(one)
        for one in answering:
            one.join()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            ended.set()
            listener.shutdown(socket.SHUT_RDWR)
            serving.join()
