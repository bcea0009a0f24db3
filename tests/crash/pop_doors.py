"""The doors that give mail away, as `pop_kills` asks them: who sends, and what one look takes."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.crash.launched import LaunchedServer
from tests.served import Connection, git

TAKER = "bob"
_JSON = {"Content-Type": "application/json"}
_MAILBOX_AT = re.compile(rb"claude-mailbox at http://[^ ]+:(\d+)")


@dataclass(frozen=True)
class Look:
    """The bodies that one look gave. `settle` says that they were had, at a door that is told so."""

    bodies: Sequence[str] = ()
    settle: Callable[[], None] | None = None


class PopDoor(Protocol):
    """Its methods raise OSError or HTTPException where the server is gone. `knows_ids`: what is sent again under its
    body as its id is one message.
    """

    @property
    def name(self) -> str: ...

    @property
    def knows_ids(self) -> bool: ...

    @property
    def settings(self) -> Mapping[str, str]: ...

    def connect(self, server: LaunchedServer) -> Connection: ...

    def send(self, connection: Connection, sender: str, body: str) -> None: ...

    def look(self, connection: Connection) -> Look: ...


@dataclass(frozen=True)
class PostalDoor:
    """One message a look."""

    name: str = "postal"
    knows_ids: bool = True

    @property
    def settings(self) -> Mapping[str, str]:
        return {"POSTAL_ENABLED": "true"}

    def connect(self, server: LaunchedServer) -> Connection:
        return server.connect()

    def send(self, connection: Connection, sender: str, body: str) -> None:
        assert self._call(connection, sender, "send_to_agent", name=TAKER, msg=body, msg_id=body) == body

    def look(self, connection: Connection) -> Look:
        message = self._call(connection, TAKER, "check_mail")
        return Look() if message is None else Look([message["content"]])

    # Plain JSON, as the door gives it.
    def _call(self, connection: Connection, agent: str, tool: str, **args: str) -> Any:
        return _post(connection, f"/agents/{agent}/mcp/", {"tool": tool, "args": args})


@dataclass(frozen=True)
class MailboxDoor:
    """All that waits a look."""

    name: str = "claude-mailbox"
    knows_ids: bool = False

    @property
    def settings(self) -> Mapping[str, str]:
        return {"CLAUDE_MAILBOX_ENABLED": "true", "CLAUDE_MAILBOX_PORTS": "0"}

    def connect(self, server: LaunchedServer) -> Connection:
        """To the port of the newest start."""
        return Connection(int(_MAILBOX_AT.findall(server.log.read_bytes())[-1]))

    def send(self, connection: Connection, sender: str, body: str) -> None:
        _post(connection, "/v1/send", {"to": TAKER, "body": body}, {"X-Mailbox": sender})

    def look(self, connection: Connection) -> Look:
        checked = _post(connection, "/v1/check-inbox", {}, {"X-Mailbox": TAKER})
        return Look([one["body"] for one in checked])


@dataclass(frozen=True)
class MailboxCommandDoor(MailboxDoor):
    """All that waits a look, as `claude-mailbox check` asks: it settles what it has printed."""

    name: str = "claude-mailbox by ticket"

    def look(self, connection: Connection) -> Look:
        checked = _post(connection, "/v1/check-inbox", {}, {"X-Mailbox": TAKER, "X-Mailbox-Claim": "1"})
        tickets = checked["tickets"]
        return Look(
            [one["body"] for one in checked["messages"]],
            (lambda: self._settle(connection, tickets)) if tickets else None,
        )

    def _settle(self, connection: Connection, tickets: Sequence[str]) -> None:
        assert _post(connection, "/v1/settle", {"tickets": tickets}) == {"settled": len(tickets)}


@dataclass(frozen=True)
class WindowDoor:
    """One message a look, as `agentmail receive` asks: it settles what it has printed."""

    project: Path
    name: str = "agentmail"
    knows_ids: bool = False

    def __post_init__(self) -> None:
        self.project.mkdir(parents=True, exist_ok=True)
        git(self.project, "init", "-q")

    @property
    def settings(self) -> Mapping[str, str]:
        return {"AGENTMAIL_ENABLED": "true"}

    def connect(self, server: LaunchedServer) -> Connection:
        return server.connect()

    def send(self, connection: Connection, sender: str, body: str) -> None:
        self._ask(connection, "send", sender, to=TAKER, body=body, window=True)

    def look(self, connection: Connection) -> Look:
        message = self._ask(connection, "pop", TAKER)["message"]
        if message is None:
            return Look()
        ticket = message["ticket"]
        return Look([message["body"]], lambda: self._settle(connection, ticket))

    def _settle(self, connection: Connection, ticket: str) -> None:
        assert self._ask(connection, "settle", TAKER, ticket=ticket, heard=True) == {"done": True}

    # Plain JSON, as the door gives it.
    def _ask(self, connection: Connection, question: str, name: str, **more: Any) -> Any:
        return _post(connection, f"/agentmail/{question}", {"project": str(self.project), "name": name, **more})


# Plain JSON.
def _post(connection: Connection, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Any:
    answer = connection.request("POST", path, json.dumps(body).encode(), {**_JSON, **(headers or {})})
    if answer.status != http.client.OK:
        raise ConnectionError(f"{answer.status} {answer.value!r:.200}")
    return answer.value
