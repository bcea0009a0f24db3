"""What answers at the server's address may be anything: every command says so in a line, and never with a traceback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mcp_agent_mail.cli.app import run
from mcp_agent_mail.cli.exit_codes import ExitCode
from tests.cli.help_pages import COMMANDS

STRANGE = (
    (200, b"null"),
    (200, b"[[1]]"),
    (200, b"{}"),
    (200, b'"words"'),
    (200, b"[" * 100_000),
    (
        200,
        b'{"result": 5, "messages": {"a": 1}, "agents": "x", "deliveries": [], "status": 3, "archive": [], "store": 0}',
    ),
    (200, json.dumps({"result": [None, 3, {"id": "\x1b[2J"}]}).encode()),
    (500, b'{"error": []}'),
)

ASKING = (
    ("status",),
    ("mail", "inbox"),
    ("mail", "held"),
    ("mail", "read", "1"),
    ("mail", "thread", "1"),
    ("mail", "status", "1"),
    ("mail", "reply", "1", "body"),
    ("mail", "ack", "1"),
    ("mail", "threads"),
    ("mail", "topic", "word"),
    ("mail", "summary", "word"),
    ("mail", "purge", "--yes"),
    ("acks", "pending"),
    ("acks", "overdue"),
    ("acks", "remind"),
    ("products", "ensure", "shop"),
    ("products", "link", "shop"),
    ("products", "show", "shop"),
    ("products", "search", "shop", "word"),
    ("products", "inbox", "shop", "BlueLake"),
    ("products", "summary", "shop", "word"),
    ("agents", "status", "BlueLake", "busy"),
    ("agents", "windows"),
    ("agents", "rename-window", "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11", "left"),
    ("agents", "expire-window", "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"),
    ("contacts", "policy", "BlueLake", "open"),
    ("projects", "ensure"),
    ("token", "create"),
    ("token", "list"),
    ("token", "revoke", "1"),
    ("robot", "status"),
    ("robot", "whoami"),
    ("robot", "inbox"),
    ("robot", "thread", "word"),
    ("robot", "search", "word"),
    ("robot", "reservations"),
    ("top", "--once"),
    ("mail", "withdraw", "1"),
    ("mail", "search", "word"),
    ("mail", "attachment", "ab" * 32, "-o", "never-written"),
    ("mail", "send", "body", "--to", "BlueLake", "--subject", "s"),
    ("agents", "list"),
    ("agents", "show", "BlueLake"),
    ("agents", "retire", "BlueLake"),
    ("agents", "unretire", "BlueLake"),
    ("projects", "list"),
    ("projects", "show", "shop"),
    ("projects", "archive", "shop"),
    ("projects", "unarchive", "shop"),
    ("projects", "invite", "shop"),
    ("projects", "codes", "shop"),
    ("projects", "revoke-code", "shop", "1"),
    ("reservations", "list"),
    ("reservations", "active"),
    ("reservations", "soon"),
    ("reservations", "release", "1"),
    ("contacts", "list", "BlueLake"),
    ("contacts", "requests"),
    ("contacts", "approve", "BlueLake", "GreenField"),
    ("contacts", "deny", "BlueLake", "GreenField"),
    ("archive", "log"),
    ("archive", "stats"),
    ("archive", "path"),
    ("archive", "checkout", "2026-01"),
    ("guard", "install"),
    ("guard", "log"),
    ("token", "reissue", "BlueLake"),
    ("run", "slot", "--", "true"),
    ("wait", "BlueLake", "--timeout", "1"),
    ("facade", "status"),
    ("facade", "names"),
    ("facade", "link", "bob", "postal"),
    ("facade", "unlink", "bob", "postal"),
)
"""Every command that asks a server, as a person gives it."""
_FAST = 4
_NO_QUESTION = {"serve", "service", "config", "demo", "env", "doctor", "history"}
_NONE_BY_ITSELF: dict[tuple[str, ...], str] = {
    ("projects", "mark-identity"): "writes into the code repository alone",
    ("projects", "discovery-init"): "writes into the code repository alone",
    ("projects", "adopt"): "works on the store of this machine",
    ("archive", "renew"): "works on the store of this machine",
    ("archive", "gc"): "works on the store of this machine",
    ("archive", "save"): "reads the archives of this machine",
    ("archive", "list"): "reads a file of this machine",
    ("archive", "restore"): "makes a store on this machine",
    ("archive", "export"): "reads an archive of this machine",
    ("guard", "uninstall"): "works on the code repository alone",
    ("guard", "status"): "looks at the code repository alone",
    ("facade", "postal"): "starts a server",
    ("web",): "opens a browser",
    ("share", "export"): "reads the store of this machine",
    ("share", "verify"): "reads a folder of this machine",
    ("share", "preview"): "serves a folder of this machine",
    ("share", "keygen"): "writes a file of this machine",
    **dict.fromkeys(
        [("import", system) for system in ("postal", "agentmail", "claude-mailbox", "mcp-agent-mail")],
        "needs a store to read; asks through cli/gateway/imports.py, which its tests cover",
    ),
    ("init",): "writes a file of this machine",
    ("reset",): "works on the store of this machine",
    ("migrate",): "works on the store of this machine",
    ("completion",): "prints a script",
    ("debug", "report"): "tells of strange answers too, as its own tests show",
    ("docs", "insert"): "works on files of this machine",
    ("setup",): "asks through clients/setup/mcp_call.py, which its tests cover",
    ("hook",): "asks through core/running_server.py, which its tests cover",
    ("guard", "check"): "reads through the guard's own reader, which tests/guard covers",
}


class _Stranger(BaseHTTPRequestHandler):
    answer = b""
    status = 200

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Not into the test's output."""


@pytest.fixture
def stranger() -> Iterator[type[_Stranger]]:
    handler = type("Handler", (_Stranger,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    handler.url = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]  # a class made here
    yield handler
    server.shutdown()
    serving.join()
    server.server_close()


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(command, marks=[] if number < _FAST else pytest.mark.slow, id=" ".join(command))
        for number, command in enumerate(ASKING)
    ],
)
def test_a_strange_answer_is_told_in_two_lines_and_an_exit_code(
    arguments: tuple[str, ...],
    stranger: type[_Stranger],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in {"HOME": tmp_path, "AGENT_MAIL_URL": stranger.url, "AGENT_NAME": "BlueLake"}.items():  # type: ignore[attr-defined]
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("AGENT_MAIL_PROJECT", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for stranger.status, stranger.answer in STRANGE:
        code = run(arguments)

        said = capsys.readouterr()
        assert code in (0, 1, 69, 70, 75), (stranger.answer[:60], said.err)
        assert "Traceback" not in said.err
        assert len(said.err.strip().splitlines()) <= 3, said.err
        assert "\x1b" not in said.out + said.err


@pytest.mark.parametrize("answer", [[{"id": 7, "slug": "shop-1"}], [{"id": -1, "slug": "shop-1"}], [{"id": "x"}]])
def test_a_list_without_end_is_told_as_misread(
    answer: object,
    stranger: type[_Stranger],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AGENT_MAIL_URL", stranger.url)  # type: ignore[attr-defined]  # as above
    stranger.answer = json.dumps(answer).encode()

    assert run(("archive", "stats")) == ExitCode.SOFTWARE
    assert "could not make sense of what it was told" in capsys.readouterr().err


@pytest.mark.parametrize("slug", ["ELSEWHERE", "..", "", "a/../..", "a\0b"])
@pytest.mark.parametrize("command", ["log", "stats"])
def test_a_slug_that_leads_elsewhere_opens_nothing(
    command: str,
    slug: str,
    stranger: type[_Stranger],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AGENT_MAIL_URL", stranger.url)  # type: ignore[attr-defined]  # as above
    found = {"id": 1, "slug": slug.replace("ELSEWHERE", str(tmp_path / "elsewhere")), "human_key": "/code/app"}
    stranger.answer = json.dumps(found).encode()

    assert run(("archive", command, "--project", "/code/app")) == ExitCode.SOFTWARE
    assert "is no slug" in capsys.readouterr().err


def test_every_command_is_asked_or_asks_nobody() -> None:
    groups = {command[:1] for command in COMMANDS if len(command) == 2}
    leaves = [command for command in COMMANDS if command and command not in groups]
    asked = {tuple(part for part in command[:2]) for command in ASKING} | {command[:1] for command in ASKING}

    missing = [
        command
        for command in leaves
        if command not in asked and command[0] not in _NO_QUESTION and command not in _NONE_BY_ITSELF
    ]

    assert missing == []
