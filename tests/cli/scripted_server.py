"""A web server that answers what it is told to: for what no server of ours answers, or not when a test wants it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    # Plain JSON.
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """One answer. Without a body the connection is closed instead."""

    body: bytes | None
    status: int = 200
    closes: bool = False
    """After the answer, as a server that is restarted does."""
    headers: Mapping[str, str] = field(default_factory=dict)


# Plain JSON.
def answer(value: Any, *, status: int = 200, closes: bool = False) -> Scripted:
    return Scripted(body=json.dumps(value).encode(), status=status, closes=closes)


def events(*messages: Any) -> Scripted:
    """A stream that breaks off behind these."""
    body = "".join(f"event: message\r\ndata: {json.dumps(message)}\r\n\r\n" for message in messages)
    return Scripted(body=body.encode(), closes=True, headers={"Content-Type": "text/event-stream"})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    connections = 0

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        super().process_request(request, client_address)


SILENCE = Scripted(body=None)


class ScriptedServer:
    """`with ScriptedServer(first, second) as server`: a request takes the next answer, the last one again and again.
    With `late_s` it comes so late, unless the server ends first; paths of `at_once` have answers of their own.
    """

    def __init__(self, *answers: Scripted, late_s: float = 0, at_once: Mapping[str, Scripted] | None = None) -> None:
        ended = self._ended = threading.Event()
        own = at_once or {}
        left = list(answers)
        asked = self.asked = list[Asked]()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked.append(Asked(method=self.command, path=self.path, headers=headers, body=body))
                given = own.get(self.path)
                if given is None:
                    ended.wait(late_s)
                    given = left.pop(0) if len(left) > 1 else left[0]
                self.close_connection = given.closes or given.body is None
                if given.body is not None:
                    self.send_response(given.status)
                    self.send_header("Content-Length", str(len(given.body)))
                    for name, value in given.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(given.body)

            do_GET = do_DELETE = do_POST  # noqa: N815  # the base class's form

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
                """Not into the test's output."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._serving = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def connections(self) -> int:
        """How often somebody connected."""
        return self._server.connections

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._serving.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._server.shutdown()
        self._serving.join()
        self._server.server_close()
