"""Start-up is bounded by what is imported: asserted as module names, since times differ from machine to machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command_line import modules_after

SERVERS_OWN = {"fastmcp", "mcp", "starlette", "uvicorn", "uvloop", "mcp_agent_mail.server.serve"}
HEAVY = SERVERS_OWN | {
    "pydantic",
    "sqlmodel",
    "sqlalchemy",
    "git",
    "rich",
    "asyncio",
    "aiosqlite",
    "filelock",
    "http.client",
}

COMMANDS = (
    ("serve", "--help"),
    ("status", "--help"),
    ("demo", "--help"),
    ("mail", "--help"),
    ("mail", "inbox", "--help"),
    ("mail", "read", "--help"),
    ("mail", "thread", "--help"),
    ("mail", "search", "--help"),
    ("mail", "send", "--help"),
    ("agents", "list", "--help"),
    ("projects", "list", "--help"),
    ("top", "--help"),
    ("robot", "--help"),
    ("robot", "inbox", "--help"),
    ("debug", "report", "--help"),
    ("run", "--help"),
    ("env", "--help"),
    ("guard", "check", "--help"),
    ("guard", "log", "--help"),
    ("hook", "--help"),
    ("token", "reissue", "--help"),
    ("doctor", "verify", "--help"),
    ("config", "show", "--help"),
    ("config", "set-port", "--help"),
    ("init", "--help"),
    ("reset", "--help"),
    ("completion", "bash"),
    ("completion", "bash", "--", ""),
    ("completion", "bash", "--", "mail", "search", "--order", ""),
    ("completion", "zsh", "--", "doctor", ""),
)


def test_root_help_imports_no_command(tmp_path: Path) -> None:
    modules = modules_after("--help", home=tmp_path)

    ours = {name for name in modules if name.startswith("mcp_agent_mail.") and ".cli" not in name}
    assert modules & HEAVY == set()
    modules_of_core = {"errors", "escaping", "lazy", "lazy.dataclass", "lazy.pattern"}
    assert ours == {"mcp_agent_mail.core", *(f"mcp_agent_mail.core.{name}" for name in modules_of_core)}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_that_only_tells_of_itself_imports_nothing_heavy(tmp_path: Path, command: tuple[str, ...]) -> None:
    modules = modules_after(*command, home=tmp_path)

    assert modules & HEAVY == set()


def test_status_imports_nothing_heavy_when_nothing_runs(tmp_path: Path) -> None:
    modules = modules_after("status", home=tmp_path)

    assert modules & HEAVY == {"http.client"}


def test_a_text_and_a_number_are_converted_without_pydantic(tmp_path: Path) -> None:
    modules = modules_after("mail", "inbox", "BlueLake", "--limit", "3", home=tmp_path)

    assert "mcp_agent_mail.cli.gateway.http" in modules
    assert "pydantic" not in modules


def test_no_full_collection_walks_what_the_server_imports(tmp_path: Path) -> None:
    script = """
import gc, sys
from mcp_agent_mail.cli.app import run
code = run(["serve", "--port", sys.argv[1]])
print(code, gc.get_stats()[2]["collections"], "mcp_agent_mail.bootstrap" in sys.modules)
"""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = subprocess.run(
            [sys.executable, "-c", script, str(taken.getsockname()[1])],
            env={**os.environ, "STORAGE_ROOT": str(tmp_path / "store"), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )

    assert ended.stdout.split() == ["71", "0", "True"]


def test_a_server_starts_without_what_no_first_request_needs() -> None:
    late = (
        "mcp_agent_mail.features.archiving.renew",
        "mcp_agent_mail.domain.archive_format.parse.files",
        "mcp_agent_mail.guard.hooks.install",
    )
    script = "import sys, mcp_agent_mail.server.serve, mcp_agent_mail.server.assembly; print(*sys.modules)"

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    loaded = set(ended.stdout.split())
    assert "mcp_agent_mail.bootstrap" in loaded
    assert not loaded.intersection(late)
