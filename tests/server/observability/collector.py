"""A stand-in for an OpenTelemetry collector: takes OTLP over HTTP and keeps the spans."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

ARRIVES_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenSpan:
    """One span as it was sent; ids in hexadecimal."""

    name: str
    trace_id: str
    parent_id: str
    is_error: bool
    attributes: dict[str, str]
    service: dict[str, str]


class Collector:
    """`status` is what it answers; `spans` are what it has got so far."""

    def __init__(self, *, status: int = 200) -> None:
        self.status = status
        self.paths: list[str] = []
        self.raw = b""
        self._arrived: queue.SimpleQueue[SeenSpan] = queue.SimpleQueue()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self) -> SeenSpan:
        """The next span, waiting for it."""
        return self._arrived.get(timeout=ARRIVES_WITHIN_S)

    def rest(self) -> list[SeenSpan]:
        """All that have come and were not taken."""
        spans = []
        while not self._arrived.empty():
            spans.append(self._arrived.get_nowait())
        return spans

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.paths.append(self.path)
                collector.raw += body
                if collector.status == 200:
                    collector.keep(body)
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in the class it stands in for
                """Nothing on stderr."""

        return Handler

    def keep(self, body: bytes) -> None:
        # Not at the top: pytest reads this file also where the extras are not installed.
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = {pair.key: pair.value.string_value for pair in of_resource.resource.attributes}
            for of_scope in of_resource.scope_spans:
                for span in of_scope.spans:
                    self._arrived.put(
                        SeenSpan(
                            name=span.name,
                            trace_id=span.trace_id.hex(),
                            parent_id=span.parent_span_id.hex(),
                            is_error=span.status.code == span.status.STATUS_CODE_ERROR,
                            attributes={pair.key: pair.value.string_value for pair in span.attributes},
                            service=service,
                        )
                    )
