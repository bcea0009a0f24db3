"""How the command starts: what it imports, since times differ from machine to machine, and what ends it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mcp_agent_mail import __version__
from mcp_agent_mail.cli.claude_mailbox.door import DEFAULT_PORT
from mcp_agent_mail.cli.claude_mailbox.usage import HELP
from mcp_agent_mail.core.settings.rows_mailbox import MAILBOX_ROWS
from tests.cli.claude_mailbox.mailbox_program import MailboxProgram
from tests.cli.scripted_server import ScriptedServer, answer
from tests.facades.claude_mailbox.mailbox_server import MailboxServer

ROOT = Path(__file__).parents[3]
HEAVY = {
    *("asyncio", "dataclasses", "email", "http", "inspect", "logging", "pathlib", "sqlite3", "ssl", "subprocess"),
    *("tempfile", "threading", "typing", "urllib", "contextlib", "argparse", "typer", "click", "pydantic", "decouple"),
}
_PROGRAM = """
import json, sys
sys.path.append(sys.argv.pop(1))
sys.argv[0] = "claude-mailbox"
from mcp_agent_mail.cli.claude_mailbox.entry import main
try:
    main()
except SystemExit as ended:
    code = ended.code
print("MODULES", json.dumps([int(code), sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(program: MailboxProgram, *arguments: str, said: object = None) -> tuple[int, set[str]]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, str(ROOT / "src"), *arguments],
        cwd=program.home,
        env=program.environment(),
        input=b"" if said is None else json.dumps(said).encode(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    code, modules = json.loads(done.stderr.decode().partition("MODULES ")[2])
    return code, set(modules)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("check", "--hook"), 0),
        (("check", "--hook", "--name", "e-bob"), 0),
        (("session-end", "--name", "e-bob"), 0),
        (("send", "--from", "e-a", "--to", "e-b", "--body", "x"), 0),
        (("watch", "--block", "--name", "e-c", "--timeout", "0"), 3),
        (("peek", "--name", "e-b"), 0),
        (("list",), 0),
    ],
)
def test_what_is_waited_for_imports_little(
    server: MailboxServer, program: MailboxProgram, arguments: tuple[str, ...], code: int
) -> None:
    payload = {"session_id": "1a2b3c4d", "cwd": str(program.home)}

    ended, modules = loaded(program, *arguments, said=payload)

    assert ended == code
    assert modules & HEAVY == set()
    ours = {name for name in modules if name.startswith("mcp_agent_mail.") and "claude_mailbox" not in name}
    assert {name.split(".")[1] for name in ours} <= {"cli", "clients", "core"}
    assert server.ask("GET", "/health").status == 200


def test_the_script_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["scripts"]["claude-mailbox"] == "mcp_agent_mail.cli.claude_mailbox.entry:main"


def test_the_port_that_it_asks_is_the_first_of_the_settings() -> None:
    (ports,) = [row.default for row in MAILBOX_ROWS if row.name == "CLAUDE_MAILBOX_PORTS"]

    assert ports.split(",")[0] == str(DEFAULT_PORT)


def test_help_is_the_references_and_needs_no_server(alone: MailboxProgram) -> None:
    helps = [alone.run(*arguments) for arguments in (("--help",), ("-h",), ("help",), ("send", "--help"))]
    none = alone.run()

    assert {(one.code, one.out, one.err) for one in helps} == {(0, HELP, "")}
    assert (none.code, none.out, none.err) == (1, "", HELP)
    assert HELP in (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert alone.run("--version").out == f"{__version__}\n"


def test_a_reader_that_leaves_is_no_traceback(server: MailboxServer, program: MailboxProgram) -> None:
    for number in range(50):
        server.send("e-alice", "e-pipe", f"{number}" * 2_000)

    command = " ".join([f"'{word}'" for word in (sys.executable, "-m", "mcp_agent_mail.cli.claude_mailbox.entry")])
    done = subprocess.run(
        ["bash", "-c", f"{command} check --name e-pipe | head -c 10"],
        capture_output=True,
        check=False,
        env=program.environment(),
        cwd=program.home,
        timeout=60,
    )

    assert done.stderr == b""


def test_what_a_server_says_cannot_drive_a_terminal(alone: MailboxProgram) -> None:
    told = {"status": "ok", "version": "1\x1b[2J\n", "dbPath": "x"}
    no_room = answer({"error": "No \x1b[2Jroom."}, status=400, closes=True)
    with ScriptedServer(no_room) as refusing, ScriptedServer(answer(told, closes=True)) as up:
        refused = alone.run("list", "--url", refusing.url)
        running = alone.run("status", "--url", up.url)

    assert refused.err == "claude-mailbox: No \\x1b[2Jroom.\n"
    assert running.out == f"Running at {up.url} (version 1 [2J )\n"
