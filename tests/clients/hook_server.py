"""A small real HTTP server that speaks the wire of hooks, with the answers that a test gives it."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

_LENGTH = re.compile(rb"(?i)content-length: (\d+)")
_TARGET = re.compile(rb"POST (\S+) ")

NOTHING: dict[str, Any] = {
    "listening_until": None,
    "unread": 0,
    "messages": [],
    "more": 0,
    "claim": None,
    "stop": None,
    "reprime": None,
}


def message(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "from": "RedStone",
        "verified": True,
        "age_s": 65,
        "importance": "normal",
        "subject": f"Subject {number}",
        "first_line": f"First line of {number}.",
        "ack_required": False,
        **more,
    }


def given(*messages: dict[str, Any], unread: int | None = None, **more: Any) -> dict[str, Any]:
    claim = "claim-1" if messages or more.get("stop") else None
    return {**NOTHING, "messages": list(messages), "claim": claim, "unread": unread or len(messages), **more}


@dataclass
class HookAnswers:
    """What it answers, by path: a value, or bytes as they are. `asked` is what it was asked, with the path."""

    port: int
    event: Any = field(default_factory=lambda: dict(NOTHING))
    told: Any = field(default_factory=lambda: {"told": 1})
    check: Any = field(default_factory=lambda: {"agent": None, "held": [], "held_count": 0, "agent_known": True})
    windows: Any = field(default_factory=dict)
    position: Any = field(default_factory=lambda: {"next_cursor": 1})
    """A list: one after the other, the last for good."""
    wait: Any = field(default_factory=lambda: {"next_cursor": 1, "messages": []})
    """At once, as of a server that is asked to wait and stops."""
    is_hung: bool = False
    only_asked: bool = False
    """As the real one: no messages without `least`, no stop and no re-prime that is not asked for."""
    asked: list[tuple[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bodies(self, end: str) -> list[Any]:
        """What came to the paths that end so."""
        return [body for path, body in self.asked if path.endswith(end)]

    def answer(self, path: str, body: Any) -> bytes:
        by_end = {
            "told": self.told,
            "check": self.check,
            "events": {"recorded": 1},
            "list_window_identities": self.windows,
            "fetch_inbox_events": self.position,
            "wait_for_messages": self.wait,
        }
        end = path.rpartition("/")[2]
        found = by_end[end] if end in by_end else self._event_for(body)
        if end == "fetch_inbox_events" and isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(found, bytes):
            return found
        status = 404 if isinstance(found, dict) and "error" in found else 200
        return b"HTTP/1.0 %d x\r\n\r\n%s" % (status, json.dumps(found).encode())

    def _event_for(self, body: Any) -> Any:
        if not self.only_asked or not isinstance(self.event, dict) or "error" in self.event:
            return self.event
        found = dict(self.event)
        if body["least"] is None:
            found["messages"] = []
        found["stop"] = found["stop"] if body["stop"] else None
        found["reprime"] = found["reprime"] if body["reprime"] else None
        found["claim"] = found["claim"] if found["messages"] or found["stop"] else None
        return found


@contextmanager
def hook_server() -> Iterator[HookAnswers]:
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answers = HookAnswers(port=listener.getsockname()[1])
        serving = threading.Thread(target=_serve, args=(listener, answers, taken))
        serving.start()
        try:
            yield answers
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            serving.join()
            for connection in taken:
                connection.close()


def _serve(listener: socket.socket, answers: HookAnswers, taken: list[socket.socket]) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            taken.append(connection)
            if answers.is_hung:
                continue
            with suppress(OSError, ValueError):  # Whoever asked may have left in the middle.
                connection.settimeout(5)
                path, body, head = _request(connection)
                answers.asked.append((path, body))
                answers.heads.append(head)
                if (path.endswith("/told") and answers.told is None) or (
                    path.endswith("/event") and answers.event is None
                ):
                    continue  # Heard, and never answered.
                connection.sendall(answers.answer(path, body))
            connection.close()


def _request(connection: socket.socket) -> tuple[str, Any, str]:
    request = b""
    while piece := connection.recv(65_536):
        request += piece
        head, end, body = request.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if end and len(body) >= int(length[1] if length else 0):
            break
    head, _, body = request.partition(b"\r\n\r\n")
    target = _TARGET.match(head)
    return (target[1].decode() if target else ""), json.loads(body or b"null"), head.decode()
