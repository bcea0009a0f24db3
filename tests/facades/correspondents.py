"""Who writes and reads by each way into a server process: five of them, each by the wire of its own system."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.served import PROTOCOL, Answer, Connection, Served, git

DOORS = {
    "CLAIMS_ENABLED": "true",
    "POSTAL_ENABLED": "true",
    "POSTAL_MAX_WAIT_SECONDS": "1",
    "CLAUDE_MAILBOX_ENABLED": "true",
    "CLAUDE_MAILBOX_PORTS": "0",
    "AGENTMAIL_ENABLED": "true",
}
"""Every door's setting; ports are free ones."""
_MAILBOX_AT = re.compile(rb"claude-mailbox at http://[^ ]+:(\d+)")
_JSON = {"Content-Type": "application/json"}
_PROFILE = {"program": "tests", "model": "none"}
_ALL = 1_000
AGENTMAIL = "import sys; from mcp_agent_mail.cli.agentmail.entry import main; sys.exit(main())"
"""The command, run by the Python of the tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """What a reader was given: who it is from by this door's name, and its text as this door shows it."""

    sender: str
    text: str


class Taker(Protocol):
    """`take` consumes: what it gave is never given again. It may give one message or all that waits."""

    def take(self) -> list[Mail]: ...


class Correspondent(Taker, Protocol):
    """Who writes too."""

    @property
    def name(self) -> str: ...

    @property
    def way(self) -> str: ...

    def send(self, to: str, text: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Server:
    """A server process with all doors, whose doors that know no project have `project`, as all here do."""

    served: Served
    project: str

    def post(
        self, path: str, body: Any, headers: Mapping[str, str] | None = None, *, port: int | None = None
    ) -> Answer:
        with Connection(port or self.served.port) as connection:
            return connection.request("POST", path, json.dumps(body).encode(), {**_JSON, **(headers or {})})

    # Plain JSON, as the tool gives it.
    def call(self, tool: str, **arguments: Any) -> Any:
        """A native call."""
        with Connection(self.served.port) as connection:
            return connection.call(tool, **{"project_key": self.project, **arguments})

    @property
    def mailbox_port(self) -> int:
        """The one of the newest start."""
        return int(_MAILBOX_AT.findall(self.served.log.read_bytes())[-1])


def _fine(answer: Answer) -> Any:
    assert answer.status == 200, answer
    return answer.value


@dataclass(frozen=True, slots=True)
class Native:
    server: Server
    name: str
    way: str = "native"

    def send(self, to: str, text: str) -> None:
        subject = text.splitlines()[0]
        self.server.call("send_message", sender_name=self.name, to=[to], subject=subject, body_md=text)

    def take(self) -> list[Mail]:
        """All that is unread, oldest first."""
        inbox = self.server.call(
            "fetch_inbox", agent_name=self.name, unread_only=True, mark_read=True, include_bodies=True, limit=_ALL
        )
        return [Mail(sender=one["from"], text=one["body_md"]) for one in reversed(inbox)]


@dataclass(frozen=True, slots=True)
class Claims:
    server: Server
    name: str
    way: str = "claims"

    def send(self, to: str, text: str) -> None:
        self.call("send_message", from_agent=self.name, to=[to], subject=text.splitlines()[0], body_md=text)

    def take(self) -> list[Mail]:
        """All that it has not acknowledged, which it does by that."""
        checked = self.call("check_my_messages", agent_name=self.name, include_bodies=True, limit=_ALL)["result"]
        unread = [one for one in reversed(checked) if "read_at" not in one]
        for one in unread:
            self.call("acknowledge_message", agent_name=self.name, message_id=one["id"])
        return [Mail(sender=one["from"], text=one["body_md"]) for one in unread]

    # Plain JSON, as the tool gives it.
    def call(self, tool: str, **arguments: Any) -> Any:
        """A call that must succeed."""
        params = {"name": tool, "arguments": {"project_key": self.server.project, **arguments}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"Accept": "application/json", "MCP-Protocol-Version": PROTOCOL}
        result = _fine(self.server.post("/mcp?profile=claims", request, headers))["result"]
        assert not result["isError"], result
        return result["structuredContent"]


_MODERN = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True, slots=True)
class Postal:
    server: Server
    name: str
    way: str = "postal"

    def send(self, to: str, text: str, number: str | None = None) -> None:
        """`number` is an id of the sender's own."""
        _fine(self._call("send_to_agent", name=to, msg=text, msg_id=number))

    def take(self) -> list[Mail]:
        """The oldest."""
        message = _fine(self._call("check_mail"))
        return [] if message is None else [Mail(sender=message["from"], text=message["content"])]

    def come(self) -> None:
        """As whoever waits for mail over MCP: a look in the plain form makes nothing."""
        call = {"name": "check_mail", "arguments": {}, "_meta": _META}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        head = {"MCP-Protocol-Version": _MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "check_mail"}
        answer = self.server.post(
            f"/agents/{self.name}/mcp/", body, {"Accept": "application/json, text/event-stream", **head}
        )
        assert answer.status == 200, answer

    def _call(self, tool: str, **arguments: Any) -> Answer:
        return self.server.post(f"/agents/{self.name}/mcp/", {"tool": tool, "args": arguments})


@dataclass(frozen=True, slots=True)
class ClaudeMailbox:
    server: Server
    name: str
    way: str = "claude-mailbox"

    def send(self, to: str, text: str) -> None:
        _fine(self._post("/v1/send", {"to": to, "body": text}))

    def take(self) -> list[Mail]:
        """All that waits."""
        checked = _fine(self._post("/v1/check-inbox", {}))
        return [Mail(sender=one["from"], text=one["body"]) for one in checked]

    def _post(self, path: str, body: Any) -> Answer:
        return self.server.post(path, body, {"X-Mailbox": self.name}, port=self.server.mailbox_port)


@dataclass(frozen=True, slots=True)
class AgentMail:
    """By what its command asks the server."""

    server: Server
    name: str
    way: str = "agentmail"

    def send(self, to: str, text: str) -> None:
        self._ask("send", to=to, body=text, window=False)

    def take(self) -> list[Mail]:
        """The oldest, which the command would have printed."""
        message = self._ask("pop")["message"]
        if message is None:
            return []
        assert self._ask("settle", ticket=message["ticket"], heard=True) == {"done": True}
        return [Mail(sender=message["from"], text=message["body"])]

    def _ask(self, question: str, **more: Any) -> Any:
        body = {"project": self.server.project, "name": self.name, **more}
        return _fine(self.server.post(f"/agentmail/{question}", body))


@dataclass(frozen=True, slots=True)
class AgentMailCommand(AgentMail):
    """By the command itself, outside tmux. It does not write to itself."""

    def send(self, to: str, text: str) -> None:
        said = self._run("send", to, told=f"{text}\n")
        assert re.fullmatch(r"Message #[0-9A-Za-z]{8} sent\n", said), said

    def take(self) -> list[Mail]:
        """What it prints."""
        said = self._run("receive")
        if said == "No unread messages\n":
            return []
        printed = re.fullmatch(r"From: (.*)\nID: [0-9A-Za-z]{8}\n\n(.*)", said, re.DOTALL)
        assert printed is not None, said
        return [Mail(sender=printed[1], text=printed[2])]

    def _run(self, *words: str, told: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-c", AGENTMAIL, *words],
            input=told,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=self.server.project,
            env={**self.server.served.environment(), "AGENTMAIL_NAME": self.name},
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout


def begin(root: Path) -> Served:
    """Not started yet. Everybody works in the repository `work`."""
    (root / "work").mkdir(parents=True)
    git(root / "work", "init", "-q")
    return Served(root / "store", FACADES_PROJECT=str(root / "work"), **DOORS)  # type: ignore[arg-type]  # settings


def correspondents(server: Server, agentmail: type[AgentMail] = AgentMail) -> list[Correspondent]:
    """One for each way. Those who register are there by that, the others by their first call."""
    claims = Claims(server, "BlueLake")
    claims.call("create_agent", name_hint="BlueLake", **_PROFILE)
    server.call("register_agent", name="RedStone", **_PROFILE)
    people: list[Correspondent] = [
        Native(server, "RedStone"),
        claims,
        Postal(server, "pat"),
        ClaudeMailbox(server, "cleo-1a2b"),
        agentmail(server, "amy"),
    ]
    for person in people:
        come(person)
    return people


def come(person: Correspondent) -> None:
    """So that others may write to it."""
    if isinstance(person, Postal):
        person.come()
    else:
        person.take()
