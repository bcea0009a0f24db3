"""Mail by each door to a native agent that chooses who writes to it: what its sender is told, and when it shows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.facades.correspondents import AGENTMAIL, Server, begin, correspondents

CLAUDE_MAILBOX = "import sys; from mcp_agent_mail.cli.claude_mailbox.entry import main; sys.exit(main())"
TO = "RedStone"
WHY = f"{TO} takes no mail; nothing was sent."


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """By which `sender` writes to TO. What it is told when the mail is held, when it is refused, and else."""

    sender: str
    send: Callable[[Server], Any]
    held: Any
    refused: Any
    sent: Any


def _leads_to_what_there_is(said: object) -> None:
    """To no tool that the door lacks."""
    assert "list_contacts" not in repr(said)


def _postal(server: Server) -> Any:
    """Of held mail too it tells no more than the id."""
    answer = server.post("/agents/pat/mcp/", {"tool": "send_to_agent", "args": {"name": TO, "msg": "hi"}})
    _leads_to_what_there_is(answer.value)
    return type(answer.value) if answer.status == 200 else (answer.status, answer.error_type, answer.error["message"])


def _mailbox(server: Server) -> Any:
    answer = server.post("/v1/send", {"to": TO, "body": "hi"}, {"X-Mailbox": "cleo-1a2b"}, port=server.mailbox_port)
    _leads_to_what_there_is(answer.value)
    if answer.status != 200:
        return (answer.status, answer.value["error"].startswith(WHY))
    return {key: answer.value[key] for key in answer.value if key in ("to", "held")}


def _run(server: Server, program: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=server.project,
        env={**server.served.environment(), **settings},
    )
    _leads_to_what_there_is(done.stderr)
    return done


def _command(server: Server) -> Any:
    url = f"http://127.0.0.1:{server.mailbox_port}"
    done = _run(
        server, CLAUDE_MAILBOX, "send", "--from", "cory-2b3c", "--to", TO, "--body", "hi", CLAUDE_MAILBOX_URL=url
    )
    is_why = done.stderr.startswith(f"claude-mailbox: {WHY}")
    return (done.returncode, done.stdout, "refused" if is_why else done.stderr)


def _window(server: Server) -> Any:
    done = _run(server, AGENTMAIL, "send", TO, "hi", AGENTMAIL_NAME="amy")
    is_why = done.stderr.startswith(f"error: {WHY}")
    return (done.returncode, done.stdout != "", "refused" if is_why else done.stderr)


WAYS: Mapping[str, Way] = {
    "postal": Way(sender="pat", send=_postal, held=str, refused=(400, "CONTACT_BLOCKED", WHY), sent=str),
    "claude-mailbox": Way(
        sender="cleo-1a2b", send=_mailbox, held={"to": TO, "held": True}, refused=(403, True), sent={"to": TO}
    ),
    "claude-mailbox's command": Way(
        sender="cory-2b3c",
        send=_command,
        held=(0, f"Sent to {TO}\n", f"It is held until {TO} approves it.\n"),
        refused=(1, "", "refused"),
        sent=(0, f"Sent to {TO}\n", ""),
    ),
    "agentmail": Way(
        sender="amy",
        send=_window,
        held=(0, True, f"It is held until {TO} approves it.\n"),
        refused=(1, False, "refused"),
        sent=(0, True, ""),
    ),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("held").resolve()
    with begin(root) as served:
        server = Server(served, str(root / "work"))
        correspondents(server)
        yield server


def _set_policy(server: Server, policy: str) -> None:
    server.call("set_contact_policy", agent_name=TO, policy=policy)


def _mail_from(server: Server, sender: str) -> list[str]:
    """What TO sees, its oldest first; what asks for its consent apart."""
    inbox = server.call("fetch_inbox", agent_name=TO, include_bodies=True, limit=1_000)
    mine = [one["body_md"] for one in reversed(inbox) if one["from"] == sender]
    return [body for body in mine if "would like to write to you" not in body]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_its_sender_is_told_and_it_shows_once_it_is_approved(server: Server, way: Way) -> None:
    _set_policy(server, "contacts_only")

    told = way.send(server)
    before = _mail_from(server, way.sender)
    server.call("respond_contact", to_agent=TO, from_agent=way.sender, accept=True)

    assert told == way.held
    assert before == []
    assert _mail_from(server, way.sender) == ["hi"]
    assert way.send(server) == way.sent


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_who_takes_no_mail_is_told_of_as_an_error(server: Server, way: Way) -> None:
    _set_policy(server, "block_all")
    before = _mail_from(server, way.sender)

    assert way.send(server) == way.refused
    assert _mail_from(server, way.sender) == before
