"""Sockets of a server in the test's own loop that say what the kernel has taken of each answer, and take no more than
they are told to: the truth of what has left the process, which the product has no part in.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Taken:
    """Of one connection: all that the kernel took of the server, and how much more it will take; None: whatever."""

    data: bytearray = field(default_factory=bytearray)
    room: int | None = None


class Witness:
    """Knows connections by the port of their client."""

    def __init__(self) -> None:
        self._by_port: dict[int, Taken] = {}

    def begin(self, port: int) -> Taken:
        self._by_port[port] = taken = Taken()
        return taken

    def forget(self) -> None:
        self._by_port.clear()

    def watch(self, listener: socket.socket) -> socket.socket:
        """The same listener; what it accepts is watched."""
        return _Listener(self, listener.detach())

    def find(self, port: int) -> Taken | None:
        return self._by_port.get(port)


class _Listener(socket.socket):
    def __init__(self, witness: Witness, fileno: int) -> None:
        super().__init__(fileno=fileno)
        self.setblocking(False)
        self._witness = witness

    def accept(self) -> tuple[socket.socket, Any]:  # Any: typeshed's own
        connection, address = super().accept()
        return _Watched(self._witness, address[1], connection.detach()), address


class _Watched(socket.socket):
    def __init__(self, witness: Witness, port: int, fileno: int) -> None:
        super().__init__(fileno=fileno)
        self._witness = witness
        self._port = port

    def send(self, data: Any, flags: int = 0) -> int:
        taken = self._witness.find(self._port)
        if taken is None:
            return super().send(data, flags)
        if taken.room is not None:
            if not taken.room:
                raise BlockingIOError
            data = memoryview(data)[: taken.room]
        number = super().send(data, flags)
        taken.data += memoryview(data)[:number]
        if taken.room is not None:
            taken.room -= number
        return number
