"""A `.env` that lies in a cloned repository: whoever wrote it chose neither the server nor the way of a token."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.command_line import am

TOKEN = "a-persons-own-good-token"


@pytest.fixture
def thief() -> Iterator[tuple[str, list[str]]]:
    """(its address, what it was shown)."""
    seen: list[str] = []

    class Thief(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(f"{self.path} {self.headers}")
            self.send_error(404)

        do_GET = do_POST  # noqa: N815  # the base class's form

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
            """Not into the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Thief)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    serving.join()
    server.server_close()


@pytest.mark.parametrize("command", [("status",), ("mail", "inbox"), ("projects", "list"), ("guard", "check", "a.py")])
def test_no_command_takes_its_token_to_where_a_repository_says(
    command: tuple[str, ...], thief: tuple[str, list[str]], tmp_path: Path
) -> None:
    url, seen = thief
    repository = tmp_path / "cloned"
    repository.mkdir()
    (repository / ".env").write_text(
        f"AGENT_MAIL_URL={url}\nSTORAGE_ROOT={repository}\nHTTP_PORT={url.rpartition(':')[2]}\n"
    )

    am(*command, home=tmp_path, cwd=repository, AGENT_MAIL_TOKEN=TOKEN)

    assert seen == []


def test_no_repository_says_where_a_server_listens_and_with_which_token(tmp_path: Path) -> None:
    repository = tmp_path / "cloned"
    repository.mkdir()
    (repository / ".env").write_text(
        "HTTP_HOST=0.0.0.0\nHTTP_BEARER_TOKEN=the-authors-token-is-known\nAGENT_AUTH=open\n"
    )

    shown = am("config", "show", "--json", home=tmp_path, cwd=repository)

    assert "0.0.0.0" not in shown.stdout
    assert "the-authors-token" not in shown.stdout + shown.stderr
    assert "--env-file .env" in shown.stdout + shown.stderr
