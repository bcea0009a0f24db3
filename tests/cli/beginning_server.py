"""A server that begins to serve the store of a shell only when it is asked: as one does that has just been started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.cli.scripted_server import Scripted

OPERATORS = "amo_of-this-store"


@contextmanager
def beginning(shell_context: CliContext, answers: dict[str, Scripted]) -> Iterator[tuple[str, list[str | None]]]:
    """Its address, and the proofs that came with each request. It answers by path."""
    root, proofs = shell_context.storage_root, list[str | None]()
    with ExitStack() as held:

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if not proofs:
                    root.mkdir(parents=True, exist_ok=True, mode=0o700)
                    lock = held.enter_context(StoreLock(root, shell_context.settings.database_path))
                    lock.announce(url)
                    (root / "operator.token").write_text(OPERATORS)
                proofs.append(self.headers.get("Authorization"))
                given = answers[self.path]
                self.send_response(given.status)
                self.end_headers()
                self.wfile.write(given.body or b"")

            # The base class's name.
            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Not into the test's output."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        url = f"http://127.0.0.1:{server.server_port}"
        serving = Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        try:
            yield url, proofs
        finally:
            server.shutdown()
            serving.join()
            server.server_close()
