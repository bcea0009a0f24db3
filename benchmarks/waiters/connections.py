"""Those who wait, one connection each: a call in either era of MCP, also by a door, or a stream of events."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Any

from benchmarks.wire import AnswerReader, Dialect, McpSession, ModernCall, Refused

GIVE_UP_S = 120.0
WAIT_S = 50
"""The longest that a call may wait."""
_CURSOR = re.compile(rb'next_cursor\\?": ?(\d+)')
_SOME_MAIL = re.compile(rb'messages\\?": ?\[\{|from_agent\\?":')
_EVENT = b"event: delivered\n"
_READ_BYTES = 65_536


class Kind(StrEnum):
    SESSION = "session"
    MODERN = "modern"
    STREAM = "stream"
    DOOR_SESSION = "session by a door"
    DOOR_MODERN = "modern by a door"


_BY_DOOR = frozenset({Kind.DOOR_SESSION, Kind.DOOR_MODERN})


class Got(Enum):
    NOTHING_YET = auto()
    MAIL = auto()
    TIME_IS_OVER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a waiter waits: for an agent's mail at our server, or, without a project, at the floor."""

    port: int
    project: str | None
    agent: str
    kind: Kind


class CallWaiter:
    """One call at a time, each with the cursor that the last one gave."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.socket: socket.socket | None = None
        has_session = place.kind in (Kind.SESSION, Kind.DOOR_SESSION)
        path = f"/agents/{place.agent}/mcp" if place.kind in _BY_DOOR else "/mcp"
        self._dialect: Dialect = McpSession(path) if has_session else ModernCall(path)
        self._reader = AnswerReader()
        self._cursor: int | None = None

    def open(self) -> None:
        """Open a session. In the other era nothing is done before the first call: who connects asks something soon."""
        if self.socket is None and self._dialect.handshake():
            self.socket = _connected(self.place.port)
            self._greet(self.socket)

    def ask(self) -> socket.socket:
        """Begin to wait."""
        self.open()
        if self.socket is None:
            self.socket = _connected(self.place.port)
        tool, arguments = self._call()
        self.socket.sendall(self._dialect.call(tool, arguments))
        return self.socket

    def took(self, data: bytes) -> Got:
        """What came. Raises Refused for an error."""
        answer = self._reader.feed(data)
        if answer is None:
            return Got.NOTHING_YET
        if not self._dialect.is_success(answer.status, answer.body):
            raise Refused(f"{self.place.agent} was to get mail: {answer.status} {answer.body[:400]!r}")
        found = _CURSOR.search(answer.body)
        self._cursor = int(found[1]) if found else None
        return Got.MAIL if _SOME_MAIL.search(answer.body) else Got.TIME_IS_OVER

    def is_end(self, data: bytes) -> bool:
        """Whether this was the end of an answer, whatever it said."""
        return self._reader.feed(data) is not None

    def _call(self) -> tuple[str, dict[str, Any]]:
        if self.place.kind in _BY_DOOR:
            return "check_mail", {}
        if self.place.project is None:
            return "wait", {}
        cursor = {} if self._cursor is None else {"after_cursor": self._cursor}
        who = {"project_key": self.place.project, "agent_name": self.place.agent}
        return "wait_for_messages", {**who, "timeout_s": WAIT_S, **cursor}

    def _greet(self, connection: socket.socket) -> None:
        for position in range(len(self._dialect.handshake())):
            connection.sendall(self._dialect.handshake()[position])
            while (answer := self._reader.feed(_read(connection))) is None:
                pass
            if position == 0:
                self._dialect.greeted(answer.head)


class StreamReader:
    """A stream of events, once for all."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.socket: socket.socket | None = None
        self._buffer = bytearray()

    def open(self) -> None:
        """There is nothing to open before the stream."""

    def ask(self) -> socket.socket:
        """Open the stream, unless it is open: then it goes on by itself."""
        if self.socket is None:
            self.socket = _connected(self.place.port)
            target = f"/rest/v1/events?project_key={self.place.project}&agent_name={self.place.agent}"
            self.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            while b"id: " not in self._buffer or not self._buffer.endswith(b"\n\n\r\n"):
                self._buffer += _read(self.socket)
            if not self._buffer.startswith(b"HTTP/1.1 200 "):
                raise Refused(f"no stream: {bytes(self._buffer[:400])!r}")
            self._buffer.clear()
        return self.socket

    def took(self, data: bytes) -> Got:
        """Whether this was the end of an event of mail that was delivered. Comments are passed over."""
        self._buffer += data
        begin = self._buffer.find(_EVENT)
        if begin < 0 or (end := self._buffer.find(b"\n\n", begin)) < 0:
            return Got.NOTHING_YET
        del self._buffer[: end + 2]
        return Got.MAIL

    def is_end(self, data: bytes) -> bool:
        """Whether the stream was ended in order: with the chunk that has nothing in it."""
        self._buffer += data
        return self._buffer.endswith(b"0\r\n\r\n")


Waiter = CallWaiter | StreamReader


def waiter_at(place: Place) -> Waiter:
    return StreamReader(place) if place.kind is Kind.STREAM else CallWaiter(place)


def _connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=GIVE_UP_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _read(connection: socket.socket) -> bytes:
    data = connection.recv(_READ_BYTES)
    if not data:
        raise Refused("the server closed a connection before anybody waited")
    return data
