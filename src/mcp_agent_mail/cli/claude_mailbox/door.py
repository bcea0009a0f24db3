"""The server's door, as the command asks it: over the socket of `core/running_server`. It starts none."""

from __future__ import annotations

import os

from mcp_agent_mail.cli.claude_mailbox.refusals import CommandRefused, NoMailboxServer
from mcp_agent_mail.clients.hook.environment import SettingSources
from mcp_agent_mail.core import running_server as wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcp_agent_mail.cli.claude_mailbox.arguments import GivenFlags

    # Any: JSON of the server.
    Json = Any

DEFAULT_PORT = 47_822
ANSWER_WITHIN_S = 30.0
HOOK_WITHIN_S = 2.0
"""A client waits for its hook at every prompt."""
SETTLE_WITHIN_S = 5.0
CLAIM = {"X-Mailbox-Claim": "1"}
"""Asks for tickets: what is given is read once we say so, by `settle`. A server that knows none gives it as read."""
MAX_ANSWER_BYTES = 128 << 20
_UNAVAILABLE = 503
_NO_TOKEN = 401
_SCHEMES = ("http://", "https://")


def base_url(sources: SettingSources, given: GivenFlags) -> str:
    """`--url`, CLAUDE_MAILBOX_URL, else the first of CLAUDE_MAILBOX_PORTS on this machine. Raises CommandRefused."""
    url = given.find("url") or sources.text("CLAUDE_MAILBOX_URL")
    if not url:
        port = sources.text("CLAUDE_MAILBOX_PORTS").partition(",")[0].strip()
        return f"http://127.0.0.1:{port if port.isascii() and port.isdigit() and port != '0' else DEFAULT_PORT}"
    if not url.startswith(_SCHEMES):
        raise CommandRefused(f"claude-mailbox: {url!r:.100} is no URL: it begins with http://.")
    return url.rstrip("/")


def storage_root(environ: Mapping[str, str]) -> str:
    """Where a server that is started here has its store."""
    sources = SettingSources(environ)
    found = sources.find("STORAGE_ROOT")
    return (found and sources.path(*found)) or f"{sources.home}/.mcp_agent_mail"


def closed_door(environ: Mapping[str, str]) -> str | None:
    """What to do where the store's server runs and no mailbox was found; None where none runs."""
    from pathlib import Path

    from mcp_agent_mail.core.store_owner import read_owner

    owner = read_owner(Path(storage_root(environ)))
    if owner is None or owner.url is None:
        return None
    return (
        f"The server of this store runs at {owner.url} (process {owner.pid}). If it has no mailboxes, set "
        "CLAUDE_MAILBOX_ENABLED=true in its settings and start it anew; if it has them elsewhere, say so by "
        "CLAUDE_MAILBOX_URL."
    )


class MailboxClient:
    """Asks in the name of `name`, if there is one."""

    def __init__(self, given: GivenFlags, *, within_s: float = ANSWER_WITHIN_S) -> None:
        sources = SettingSources(os.environ)
        self.url = base_url(sources, given)
        self._token = sources.text("AGENT_MAIL_TOKEN")
        self._within_s = within_s

    def ask(
        self,
        method: str,
        path: str,
        *,
        name: str | None = None,
        value: Json = None,
        more_s: float = 0.0,
        headers: dict[str, str] | None = None,
    ) -> Json:
        """The answer. It may take `more_s` seconds longer than an answer does. Raises NoMailboxServer;
        CommandRefused, with the server's words.
        """
        status, answer = self.exchange(method, path, name=name, value=value, more_s=more_s, headers=headers)
        if status == 200:
            return answer
        said = _said(answer)
        if status == _UNAVAILABLE:
            raise NoMailboxServer(f"claude-mailbox: {said or 'the server is busy.'}")
        if said is None:
            raise NoMailboxServer(f"claude-mailbox: what answers at {self.url} is no mailbox server (HTTP {status}).")
        token = " Set AGENT_MAIL_TOKEN to it for this command." if status == _NO_TOKEN else ""
        raise CommandRefused(f"claude-mailbox: {said}{token}")

    def exchange(
        self,
        method: str,
        path: str,
        *,
        name: str | None = None,
        value: Json = None,
        more_s: float = 0.0,
        headers: dict[str, str] | None = None,
        within_s: float | None = None,
    ) -> tuple[int, Json]:
        """As `ask`, with the status, whatever it is."""
        sent = dict(headers or {})
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        if name is not None:
            sent["X-Mailbox"] = _header(name)
        server = wire.RunningServer(self.url, sent)
        patience = wire.Deadline((self._within_s if within_s is None else min(within_s, self._within_s)) + more_s)
        try:
            return server.exchange(method, path, value, patience, at_most=MAX_ANSWER_BYTES)
        except wire.NoAnswer as unanswered:
            way = closed_door(os.environ) or "Start it with claude-mailbox serve."
            raise NoMailboxServer(f"claude-mailbox: no server answers at {self.url}: {unanswered}. {way}") from None


class Taken:
    """Messages that are this process's until it `settle`s them; without tickets they are read already."""

    __slots__ = ("_door", "messages", "tickets")

    def __init__(self, door: MailboxClient, messages: list[Json], tickets: Json) -> None:
        self._door = door
        self.messages = messages
        self.tickets = [str(one) for one in tickets or ()]

    def settle(self, *, is_heard: bool) -> bool:
        """Say whether they were printed. False where the server could not be told: then it gives them again, later."""
        if not self.tickets:
            return True
        value = {"tickets": self.tickets, "heard": is_heard}
        for _ in range(2):
            try:
                status, answer = self._door.exchange("POST", "/v1/settle", value=value, within_s=SETTLE_WITHIN_S)
            except CommandRefused:
                continue
            if status == 200:
                return isinstance(answer, dict) and answer.get("settled") == len(self.tickets)
        return False


def checked(door: MailboxClient, answer: Json) -> Taken:
    """What a check was answered with: a bare list by a server that knows no tickets. Raises CommandRefused."""
    if isinstance(answer, list):
        return Taken(door, answer, None)
    if not isinstance(answer, dict) or not isinstance(answer.get("messages"), list):
        raise CommandRefused(f"claude-mailbox: what answers at {door.url} is no mailbox server.")
    return Taken(door, answer["messages"], answer.get("tickets"))


def quoted(text: str) -> str:
    """As it stands in the query of a URL."""
    return "".join(
        chr(one) if chr(one).isalnum() and one < 128 else f"%{one:02X}" for one in text.encode("utf-8", "replace")
    )


def _header(name: str) -> str:
    """Raises CommandRefused for a name that no header can hold."""
    try:
        name.encode("latin-1")
    except UnicodeEncodeError:
        raise CommandRefused(
            f"claude-mailbox: {name!r:.100} has characters that the header X-Mailbox cannot hold. Use the MCP tools."
        ) from None
    if any(ord(one) < 32 or ord(one) == 127 for one in name):
        raise CommandRefused("claude-mailbox: Invalid mailbox name. It has control characters.")
    return name


def _said(answer: Json) -> str | None:
    """A refusal's words, of the door or of what stands before it."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, dict):
        error = " ".join(str(error.get(part) or "") for part in ("message", "hint")).strip()
    if error is None and isinstance(answer, dict):
        error = answer.get("detail")
    return error if isinstance(error, str) and error else None
