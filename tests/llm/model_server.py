"""A model of the tests' own: an HTTP server that speaks OpenAI's API and answers what a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ModelServer:
    """`answer` is the text of every answer, `status` its HTTP status. While `gate` is not set, no answer goes out."""

    answer: str = "{}"
    status: int = 200
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def reply(self, question: dict[str, Any]) -> dict[str, Any]:
        if self.status != 200:
            return {"error": {"message": f"Incorrect API key provided: {self.keys[-1]}", "type": "x", "code": "y"}}
        return {
            "id": f"chatcmpl-{len(self.asked)}",
            "object": "chat.completion",
            "created": 1_800_000_000,
            "model": question["model"],
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": self.answer}}
            ],
            "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 100_000, "total_tokens": 1_100_000},
        }


@contextmanager
def serve_model() -> Iterator[ModelServer]:
    model = ModelServer()
    model.gate.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model.asked.append(question)
            model.keys.append(self.headers["Authorization"])
            model.gate.wait(30)
            body = json.dumps(model.reply(question)).encode()
            try:
                self.send_response(model.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name that it overrides
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield model
        finally:
            model.gate.set()
            server.shutdown()
            thread.join()
