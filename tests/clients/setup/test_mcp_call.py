from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.mcp_call import list_tools
from mcp_agent_mail.clients.setup.read_back import NotReadBack, ReadEntry
from tests.clients.setup.conftest import Ground
from tests.served import Served


def entry(url: str, **headers: str) -> ReadEntry:
    return ReadEntry(url=url, headers=headers, unset=())


@contextmanager
def stranger(status: int, body: bytes) -> Iterator[str]:
    """Something else that listens."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the library's name
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.server_port}/mcp"
        finally:
            listener.shutdown()
            thread.join()


def test_our_tools_are_listed(ground: Ground) -> None:
    assert list_tools(entry(ground.settings.url)) > 20


def test_a_server_with_a_token_wants_the_one_of_the_surroundings(tmp_path: Path) -> None:
    with Served(tmp_path / "store", HOME=str(tmp_path), HTTP_BEARER_TOKEN="t0ken" * 8) as server:
        url = f"http://127.0.0.1:{server.port}/mcp"

        assert list_tools(entry(url, Authorization=f"Bearer {'t0ken' * 8}")) > 20
        with pytest.raises(NotReadBack, match=r"HTTP 401: it needs a token\. Set AGENT_MAIL_TOKEN"):
            list_tools(entry(url, Authorization="Bearer "))
        with pytest.raises(NotReadBack, match=r"HTTP 401: AGENT_MAIL_TOKEN is not valid there\..* AGENT_MAIL_URL"):
            list_tools(entry(url, Authorization=f"Bearer {'other' * 8}"))


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"<html>", "no MCP server of ours"),
        (200, b'{"result": {"tools": [{"name": "other"}]}}', "offers no register_agent"),
        (200, b'data: {"result": 7}', "no MCP server of ours"),
        (200, b"event: message\n\n", "no MCP server of ours"),
        (200, b"[" * 100_000, "no MCP server of ours"),
        (500, b"\xff", "HTTP 500"),
    ],
)
def test_another_server_there_is_said(status: int, body: bytes, said: str) -> None:
    with stranger(status, body) as url, pytest.raises(NotReadBack, match=said):
        list_tools(entry(url))


def test_nobody_there_is_said() -> None:
    with pytest.raises(NotReadBack, match="does not answer"):
        list_tools(entry("http://127.0.0.1:1/mcp"))


@pytest.mark.parametrize("url", ["http://127.0.0.1:abc/mcp", "http://[::1/mcp", "http://127.0.0.1:99999/mcp"])
def test_what_is_no_address_is_said(url: str) -> None:
    with pytest.raises(NotReadBack, match="is no address"):
        list_tools(entry(url))


def test_a_header_that_cannot_be_sent_is_said(ground: Ground) -> None:
    with pytest.raises(NotReadBack):
        list_tools(entry(ground.settings.url, Authorization="a\nb"))
