"""A receiver of webhooks on a port of its own: it notes what comes, and answers what it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

WITHIN_S = 20.0


@dataclass(frozen=True)
class Heard:
    line: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """`answers` are the next answers' bytes, one for each call, then `always`; None: it never answers."""

    port: int = 0
    answers: list[bytes | None] = field(default_factory=list)
    always: bytes | None = b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"
    heard: list[Heard] = field(default_factory=list)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mail?key=1"

    async def until(self, count: int) -> list[Heard]:
        """Once so many calls have come."""
        async with asyncio.timeout(WITHIN_S), self._changed:
            await self._changed.wait_for(lambda: len(self.heard) >= count)
        return self.heard

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers["content-length"]))
            async with self._changed:
                self.heard.append(Heard(head[0], headers, body))
                self._changed.notify_all()
            answer = self.answers.pop(0) if self.answers else self.always
            if answer is None:
                await reader.read()
            else:
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def answering(status: int, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} X", "Content-Length: 0", *headers, "", ""]).encode()


@asynccontextmanager
async def receiving(**options: Any) -> AsyncIterator[Receiver]:
    receiver = Receiver(**options)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
