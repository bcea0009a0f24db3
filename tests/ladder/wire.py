"""HTTP by hand: requests that are written as bytes, and answers that may be read to any byte of them."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from dataclasses import dataclass, field
from typing import Any

from tests.ladder.witness import Taken, Witness

READ_WITHIN_S = 30.0
_AT_ONCE = 65_536
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Answer:
    """`value` is the decoded body."""

    status: int
    value: Any
    headers: dict[str, str]


def request_bytes(method: str, target: str, body: Any = None, headers: dict[str, str] | None = None) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {target} HTTP/1.1", "Host: 127.0.0.1", *(f"{k}: {v}" for k, v in (headers or {}).items())]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + content


def find_head(data: bytes | bytearray) -> tuple[int, dict[str, str]] | None:
    """The status and the headers, once they are all there."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    first, *lines = bytes(data[:end]).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return int(first.split(" ")[1]), {name.lower(): value.strip() for name, _, value in pairs}


def length_of(data: bytes | bytearray) -> int | None:
    """Of the answer that `data` begins with; None until its head is there."""
    head = find_head(data)
    return None if head is None else data.find(b"\r\n\r\n") + 4 + int(head[1].get("content-length", "0"))


def read_answer(data: bytes | bytearray) -> Answer | None:
    """The answer that `data` begins with, if all of it is there."""
    length, head = length_of(data), find_head(data)
    if length is None or head is None or len(data) < length:
        return None
    body = bytes(data[data.find(b"\r\n\r\n") + 4 : length])
    return Answer(head[0], json.loads(body) if body else None, head[1])


@dataclass(slots=True, eq=False)
class Wire:
    """One connection. `lost`: nothing can be asked of it any more."""

    raw: socket.socket
    taken: Taken | None
    heard: int = 0
    """Bytes that were read of it, ever, as answers."""
    lost: bool = False
    ahead: bytes = b""
    """Of the next answer, which came in one piece with the last."""

    @property
    def name(self) -> str:
        return f"wire {id(self) % 9973}"

    @classmethod
    async def open(cls, port: int, witness: Witness | None = None) -> Wire:
        raw = socket.socket()
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
        return cls(raw, None if witness is None else witness.begin(raw.getsockname()[1]))

    async def ask(self, request: bytes) -> Pending:
        """Write a request; nothing of its answer is read. What cannot be written leaves the wire lost."""
        pending = Pending(self, self.heard)
        try:
            await asyncio.get_running_loop().sock_sendall(self.raw, request)
        except OSError:
            self.close()
        return pending

    async def read_next(self) -> bytes:
        """What comes next of a stream; nothing leaves the wire lost."""
        async with asyncio.timeout(READ_WITHIN_S):
            try:
                piece = await asyncio.get_running_loop().sock_recv(self.raw, _AT_ONCE)
            except OSError:
                piece = b""
        if not piece:
            self.close()
        return piece

    def read_now(self, most: int) -> bytes:
        """Of a stream, what is there without waiting."""
        try:
            return self.raw.recv(most)
        except OSError:
            return b""

    def close(self, *, resets: bool = False) -> None:
        if self.lost:
            return
        self.lost = True
        if self.taken is not None:
            self.taken.room = None
        if resets:
            self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.raw.close()


@dataclass(slots=True, eq=False)
class Pending:
    """An answer under way: `data` is what its client has read of it."""

    wire: Wire
    start: int
    data: bytearray = field(default_factory=bytearray)

    @property
    def answer(self) -> Answer | None:
        """Once its client has read all of it."""
        return read_answer(self.data)

    @property
    def answer_that_left(self) -> Answer | None:
        """Once all of it has left the server's process, whoever has read it. Where nobody watches: what was read."""
        taken = self.wire.taken
        return self.answer if taken is None else read_answer(taken.data[self.start :])

    async def read(self, bytes_at_most: int | None = None) -> Answer | None:
        """Go on reading, to the end of the answer or to so many bytes of it; the answer if it is whole. A connection
        that ends before leaves the wire lost.
        """
        async with asyncio.timeout(READ_WITHIN_S):
            while not self.wire.lost:
                length = length_of(self.data)
                until = _AT_ONCE if length is None else length
                if bytes_at_most is not None:
                    until = min(until, bytes_at_most)
                if len(self.data) >= until:
                    break
                if not await self._read_some(until - len(self.data)):
                    self.wire.close()
        if (length := length_of(self.data)) is not None and len(self.data) > length:
            self.wire.ahead = bytes(self.data[length:])
            self.wire.heard -= len(self.wire.ahead)
            del self.data[length:]
        return self.answer

    async def _read_some(self, most: int) -> bool:
        piece, self.wire.ahead = self.wire.ahead[:most], self.wire.ahead[most:]
        try:
            piece = piece or await asyncio.get_running_loop().sock_recv(self.wire.raw, most)
        except OSError:
            return False
        self.data += piece
        self.wire.heard += len(piece)
        return bool(piece)

    def is_there(self) -> bool:
        """Whether a byte of it has come; without waiting."""
        if self.wire.lost:
            return False
        try:
            return bool(self.wire.raw.recv(1, socket.MSG_PEEK))
        except OSError:
            return False
