"""The command by itself: help, unknown words, and what it loads."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from mcp_agent_mail.cli.agentmail import commands
from mcp_agent_mail.cli.agentmail.entry import run
from mcp_agent_mail.cli.agentmail.refusals import Failure
from mcp_agent_mail.cli.agentmail.words import HELP, ONBOARD, USAGES
from tests.cli.agentmail.tmux_session import WITHIN_S, AgentMailHome

PACKAGES = Path(__file__).parents[3] / "src"
Captured = pytest.CaptureFixture[str]

HEAVY = {
    *("asyncio", "dataclasses", "email", "http", "inspect", "logging", "pathlib", "sqlite3", "ssl", "subprocess"),
    *("tempfile", "typing", "urllib", "datetime", "contextlib", "encodings.idna", "typer", "pydantic", "fastmcp"),
}
_PROGRAM = """
import json, sys
sys.path.append(sys.argv.pop(1))
sys.argv[0] = "agentmail"
from mcp_agent_mail.cli.agentmail.entry import main
try:
    main()
except SystemExit as ended:
    code = ended.code
print("MODULES", json.dumps([int(code or 0), sorted(sys.modules)]), file=sys.stderr)
"""


def test_without_a_command_help_is_an_error(capsys: Captured) -> None:
    assert run([]) == 1
    assert capsys.readouterr() == ("", HELP)


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_that_is_asked_for_is_none(word: str, capsys: Captured) -> None:
    assert run([word]) == 0
    assert capsys.readouterr() == (HELP, "")


def test_each_command_has_a_usage_and_stands_in_the_help(capsys: Captured) -> None:
    for name, usage in USAGES.items():
        assert run([name, "--help"]) == 0
        assert capsys.readouterr() == (f"USAGE\n  {usage}\n", "")
        assert f"\n  {name} " in HELP


def test_an_unknown_command_is_named(capsys: Captured) -> None:
    assert run(["sned"]) == 1
    assert capsys.readouterr().err.startswith("error: unknown command: sned\nusage: ")


def test_agents_are_told_of_three_commands_and_not_of_those_for_people(capfd: Captured) -> None:
    assert run(["onboard"]) == 0
    assert capfd.readouterr() == (ONBOARD, "")
    assert ONBOARD.startswith("## AgentMail\n")
    assert "\n### Commands\n" in ONBOARD
    for word in ("agentmail send ", "agentmail receive", "agentmail recipients"):
        assert word in ONBOARD
    assert "cleanup" not in ONBOARD


class _Answer(BaseHTTPRequestHandler):
    """Has mail for everybody."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"from": "you", "id": "abcdefgh", "body": "hi", "ticket": "t"}
        body = json.dumps({"id": "abcdefgh", "held": False, "message": message, "status": "ok", "done": True}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _answering() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.mark.parametrize("arguments", [("send", "you", "hi"), ("receive",), ("receive", "--hook"), ("status", "work")])
def test_a_run_loads_a_socket_and_json(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Agents wait for it: asserted by what it imports, since times differ from machine to machine."""
    home = AgentMailHome(tmp_path)
    with _answering() as url:
        environ = {"AGENTMAIL_NAME": "me", "AGENT_MAIL_URL": url}
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, str(PACKAGES), *arguments],
            cwd=home.code,
            env=home.environment(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
        )
    code, modules = json.loads(done.stderr.rpartition("MODULES ")[2])

    assert code == (2 if "--hook" in arguments else 0), done.stderr
    assert set(modules) & HEAVY == set()
    assert {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names) == {"mcp_agent_mail", "__main__"}


def test_what_a_server_refuses_with_cannot_drive_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def refuse(_: list[str]) -> int:
        raise Failure("No \x1b[2Jroom.")

    monkeypatch.setattr(commands, "send", refuse)

    assert run(["send"]) == 1
    assert capsys.readouterr().err == "error: No \\x1b[2Jroom.\n"
