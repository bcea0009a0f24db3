"""A gate between hooks and the server: it passes calls on, and at the place that was agreed kills the hook, or breaks
the call as a server does that dies.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

WITHIN_S = 20.0
_LENGTH = re.compile(rb"(?i)content-length: (\d+)")
EVENT = "/rest/v1/hooks/event"
TOLD = "/rest/v1/hooks/told"
WAIT = "/wait_for_messages"
"""Never answered: a wait at an agent's word hands over what it finds, before the watcher tells it."""


class Fate(StrEnum):
    """What becomes of a hook, or of its server. `KILLED_*` are kills of the hook, `CUT_*` of its connection."""

    NONE = "none"
    KILLED_AT_ANSWER = "killed when the answer was there"
    KILLED_SOON = "killed a moment after it got the answer"
    KILLED_IN_PRINT = "killed in the print"
    KILLED_BEFORE_CONFIRM = "killed after the print"
    KILLED_AFTER_CONFIRM = "killed after it confirmed"
    CUT_BEFORE_EVENT = "no server for the event"
    CUT_AFTER_EVENT = "server gone before its answer"
    CUT_IN_ANSWER = "server gone in its answer"
    CUT_BEFORE_CONFIRM = "no server for the confirmation"
    CUT_AFTER_CONFIRM = "server gone before it answered the confirmation"


@dataclass(slots=True)
class Passage:
    """One hook on its way. `answer` is what the server gave it, `confirmed` whether its confirmation came."""

    fate: Fate = Fate.NONE
    wait_s: float = 0.0
    process: subprocess.Popen[bytes] | None = None
    has_begun: threading.Event = field(default_factory=threading.Event)
    # JSON of the server.
    answer: Any = None
    is_passed: bool = False
    is_confirmed: bool = False
    is_over: threading.Event = field(default_factory=threading.Event)
    """Its event was asked for, and answered or not."""

    def kill(self) -> None:
        assert self.has_begun.wait(WITHIN_S)
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)


class Gate:
    """`with Gate(port) as gate`: passes on to that port, which may change. One passage for each hook of a session that
    is expected, in the order in which their events come.
    """

    def __init__(self, port: int) -> None:
        self.server_port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._lock = threading.Lock()
        self._expected: dict[str, list[Passage]] = {}
        self._under_way: dict[str, list[Passage]] = {}
        self._threads: list[threading.Thread] = []
        self._is_over = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def expect(self, session: str, passages: list[Passage]) -> None:
        with self._lock:
            self._expected[session] = list(passages)
            self._under_way[session] = list(passages)

    def settle(self) -> None:
        """Until all that came is passed on."""
        for thread in self._threads:
            thread.join(WITHIN_S)
        self._threads = []

    def _accept(self) -> None:
        while not self._is_over:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(WITHIN_S)
        with connection, suppress(OSError):
            request = _whole_request(connection)
            if not request:
                return
            path = request.split(b" ", 2)[1].decode()
            body = json.loads(request.partition(b"\r\n\r\n")[2] or b"{}")
            if path.endswith(EVENT):
                passage = self._next(str(body["session"]))
                try:
                    self._pass_event(connection, request, passage)
                finally:
                    passage.is_over.set()
            elif path.endswith(TOLD):
                self._pass_told(connection, request, self._owner(str(body["session"]), body["claim"]))
            elif not path.endswith(WAIT):
                connection.sendall(self._ask(request))

    def _next(self, session: str) -> Passage:
        with self._lock:
            left = self._expected.get(session, [])
            return left.pop(0) if left else Passage()

    def _owner(self, session: str, claim: str) -> Passage:
        with self._lock:
            there = self._under_way.get(session, [])
            return next((one for one in there if one.answer and one.answer.get("claim") == claim), Passage())

    def _pass_event(self, connection: socket.socket, request: bytes, passage: Passage) -> None:
        if passage.fate is Fate.CUT_BEFORE_EVENT:
            return
        raw = self._ask(request)
        with suppress(ValueError):
            passage.answer = json.loads(raw.partition(b"\r\n\r\n")[2])
        if passage.fate is Fate.KILLED_AT_ANSWER:
            passage.kill()
        elif passage.fate is Fate.CUT_IN_ANSWER:
            connection.sendall(raw[: len(raw) * 2 // 3])
        elif passage.fate is not Fate.CUT_AFTER_EVENT:
            connection.sendall(raw)
            passage.is_passed = True
            if passage.fate is Fate.KILLED_SOON:
                threading.Event().wait(passage.wait_s)
                passage.kill()

    def _pass_told(self, connection: socket.socket, request: bytes, passage: Passage) -> None:
        if passage.fate is Fate.CUT_BEFORE_CONFIRM:
            return
        if passage.fate is Fate.KILLED_BEFORE_CONFIRM:
            passage.kill()
            return
        raw = self._ask(request)
        passage.is_confirmed = b" 200 " in raw.partition(b"\r\n")[0]
        if passage.fate is Fate.KILLED_AFTER_CONFIRM:
            passage.kill()
        elif passage.fate is not Fate.CUT_AFTER_CONFIRM:
            connection.sendall(raw)

    def _ask(self, request: bytes) -> bytes:
        """The whole answer of the server; nothing of one that is gone."""
        try:
            with socket.create_connection(("127.0.0.1", self.server_port), timeout=WITHIN_S) as server:
                server.sendall(request)
                return b"".join(iter(lambda: server.recv(65_536), b""))
        except OSError:
            return b""


def _whole_request(connection: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65_536)
        if not piece:
            return b""
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    found = _LENGTH.search(head)
    wanted = int(found[1]) if found else 0
    while len(body) < wanted:
        piece = connection.recv(65_536)
        if not piece:
            return b""
        body += piece
    return head + b"\r\n\r\n" + body
