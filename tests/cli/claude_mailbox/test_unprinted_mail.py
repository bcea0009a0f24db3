"""Mail that a command takes is read once it was printed: what cannot be printed, or whose command dies, comes again."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.claude_mailbox.door import CLAIM
from tests.cli.claude_mailbox.mailbox_program import PROGRAM, MailboxProgram
from tests.facades.claude_mailbox.mailbox_server import MailboxServer, open_mailboxes

BODIES = ["first ✓", "second"]
COMMANDS = ["check", "hook", "watch", "mcp-stdio"]
CHECK = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "check_inbox", "arguments": {}},
}


@pytest.fixture(autouse=True)
def emptied(request: pytest.FixtureRequest) -> None:
    """The tests with a server that others have too begin with nothing in the mailbox."""
    if "server" in request.fixturenames:
        request.getfixturevalue("server").check("bob")


def arguments(command: str) -> list[str]:
    return {
        "check": ["check", "--name", "bob"],
        "hook": ["check", "--hook", "--name", "bob"],
        "watch": ["watch", "--name", "bob"],
        "mcp-stdio": ["mcp-stdio", "--name", "bob"],
    }[command]


def send(server: MailboxServer, bodies: list[str]) -> None:
    for body in bodies:
        server.send("alice", "bob", body)


def pending(server: MailboxServer) -> int:
    return server.pending("bob")


def checked_after_a_start(tmp_path: Path) -> list[str]:
    """What the next server gives, at the ports that its log names last."""
    with open_mailboxes(tmp_path / "store") as server:
        return [one["body"] for one in MailboxServer(server.served, server.ports[-2:]).check("bob")]


def run(program: MailboxProgram, command: str, redirected: str) -> tuple[int, bytes]:
    """Through a shell, as scripts and clients redirect. The code, and what it said on standard error."""
    words = " ".join(f"'{word}'" for word in [*PROGRAM, *arguments(command)])
    done = subprocess.run(
        ["sh", "-c", f"{words} {redirected}"],
        input=json.dumps(CHECK).encode() + b"\n",
        capture_output=True,
        check=False,
        env=program.environment(),
        cwd=program.home,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("redirected", [">/dev/full", ">&-"])
def test_what_cannot_be_printed_waits_again(
    server: MailboxServer, program: MailboxProgram, command: str, redirected: str
) -> None:
    send(server, BODIES)

    code, said = run(program, command, redirected)

    assert pending(server) == len(BODIES)
    assert code == (0 if command == "hook" else 1)
    assert (said == b"") == (command == "hook")
    assert said.count(b"\n") <= 1


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_that_nobody_reads_gives_it_back(server: MailboxServer, program: MailboxProgram, command: str) -> None:
    send(server, BODIES)
    reading, writing = os.pipe()
    os.close(reading)

    process = program.started(*arguments(command), stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    _, said = process.communicate(json.dumps(CHECK).encode() + b"\n")

    assert pending(server) == len(BODIES)
    assert (process.returncode, said) == (0 if command == "hook" else 141, b"")


@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_printed_is_read_and_comes_no_more(
    server: MailboxServer, program: MailboxProgram, command: str
) -> None:
    bodies = BODIES[:1] if command == "watch" else BODIES
    send(server, bodies)

    first = program.run(*arguments(command), said=json.dumps(CHECK).encode() + b"\n")
    second = program.run(*arguments(command), said=json.dumps(CHECK).encode() + b"\n")

    assert (first.code, first.err, second.err) == (0, "", "")
    assert [body in first.out for body in bodies] == [True] * len(bodies)
    assert [body in second.out for body in bodies] == [False] * len(bodies)
    assert pending(server) == 0


@pytest.mark.parametrize("command", ["check", "hook", "watch"])
def test_what_a_command_was_killed_with_comes_again(tmp_path: Path, command: str) -> None:
    with open_mailboxes(tmp_path / "store") as server:
        body = "x" * 200_000  # More than a pipe holds: it is printing when it dies.
        send(server, [body])
        process = MailboxProgram(tmp_path, server.url).started(*arguments(command), stdout=subprocess.PIPE)
        while pending(server):
            assert process.poll() is None
        process.kill()
        process.communicate()

    assert checked_after_a_start(tmp_path) == [body]


def test_where_the_server_is_gone_meanwhile_it_comes_again_and_the_command_says_so(tmp_path: Path) -> None:
    with open_mailboxes(tmp_path / "store") as server:
        body = "x" * 200_000
        send(server, [body])
        program = MailboxProgram(tmp_path, server.url)
        process = program.started("check", "--name", "bob", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while pending(server):
            assert process.poll() is None
    printed, said = process.communicate()

    again = checked_after_a_start(tmp_path)

    assert printed.decode() == f"[alice] {body}\n\n"
    assert said == b"claude-mailbox: the server could not be told that this was printed: it may come again.\n"
    assert process.returncode == 0
    assert again == [body]


def test_a_plain_request_is_answered_as_ever_and_one_for_tickets_with_them(server: MailboxServer) -> None:
    name = "plain"
    server.send("alice", name, "1")
    plain = server.ask("POST", "/v1/check-inbox", name=name)
    empty = server.ask("POST", "/v1/check-inbox", name=name, headers=CLAIM)
    server.send("alice", name, "2")
    server.send("alice", name, "3")
    claimed = server.ask("POST", "/v1/check-inbox", name=name, headers=CLAIM)
    back = server.ask("POST", "/v1/settle", body={"tickets": claimed.value["tickets"], "heard": False})
    watched = server.ask("GET", "/v1/watch", name=name, headers=CLAIM)
    settled = [server.ask("POST", "/v1/settle", body={"tickets": watched.value["tickets"]}).value for _ in range(2)]
    rest = server.ask("POST", "/v1/check-inbox", name=name)

    assert isinstance(plain.value, list)
    assert empty.value == {"messages": [], "tickets": []}
    assert [one["body"] for one in claimed.value["messages"]] == ["2", "3"]
    assert len(claimed.value["tickets"]) == 1
    assert back.value == {"settled": 1}
    assert watched.value["message"] == claimed.value["messages"][0]
    assert settled == [{"settled": 1}, {"settled": 0}]
    assert [one["body"] for one in rest.value] == ["3"]


@pytest.mark.parametrize("body", [{}, {"tickets": []}, {"tickets": ["x"] * 9}, {"tickets": ["x"], "heard": 1}])
def test_tickets_are_a_list_of_a_few(server: MailboxServer, body: Any) -> None:
    refused = server.ask("POST", "/v1/settle", body=body)

    assert refused.status == 400
    assert refused.value["error"].startswith("tickets must be a list of 1 to 8 tickets")
