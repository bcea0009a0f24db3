"""Something that answers at a server's address, with whatever bytes a test gives it."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_LENGTH = re.compile(rb"(?i)content-length: (\d+)")


@dataclass
class Answering:
    """`requests` are those that were heard so far, whole."""

    port: int
    requests: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def heads(self) -> list[list[str]]:
        return [request.partition(b"\r\n\r\n")[0].decode().split("\r\n") for request in self.requests]

    @property
    def bodies(self) -> list[object]:
        return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in self.requests]


def answer(status: int, value: object) -> bytes:
    """`value` as JSON, or bytes as they are."""
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return b"HTTP/1.0 %d x\r\n\r\n%s" % (status, content)


@contextmanager
def answering(said: bytes | None) -> Iterator[Answering]:
    """The same to everybody; None is a server that takes every connection and says nothing."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        heard = Answering(port=listener.getsockname()[1])
        serving = threading.Thread(target=_serve, args=(listener, said, heard, taken))
        serving.start()
        try:
            yield heard
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            serving.join()
            for connection in taken:
                connection.close()


def _serve(listener: socket.socket, said: bytes | None, heard: Answering, taken: list[socket.socket]) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            taken.append(connection)
            heard.requests.append(_request(connection))
            if said is not None:
                with suppress(OSError):
                    connection.sendall(said)
                connection.close()


def _request(connection: socket.socket) -> bytes:
    request = b""
    while piece := connection.recv(65_536):
        request += piece
        head, end, body = request.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not request.startswith(b"POST"):
            break
        if end and len(body) >= int(length[1] if length else 0):
            break
    return request
