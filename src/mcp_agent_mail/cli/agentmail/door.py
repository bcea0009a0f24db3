"""The server's door `agentmail`, as the command asks it: over the socket of `core/running_server`, and started where no
server runs.
"""

from __future__ import annotations

import os
import time

from mcp_agent_mail.cli.agentmail.environment import ENABLED
from mcp_agent_mail.cli.agentmail.refusals import Failure
from mcp_agent_mail.core import running_server as wire
from mcp_agent_mail.core.settings.mcp_paths import without_mcp_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcp_agent_mail.cli.agentmail.environment import DoorSettings

    # Any: JSON of the server.
    Json = Any

PREFIX = "/agentmail/"
ANSWER_WITHIN_S = 30.0
START_WITHIN_S = 30.0
MAX_ANSWER_BYTES = 16 << 20
"""A body of 3 MiB may have six bytes of JSON for each of its own."""

_AGAIN_AFTER_S = 0.1
_SAID = {"body": "message", "to": "recipient", "project": "the path of the project"}
_NO_DOOR = "HTTP 404"
_NO_TOKEN = "HTTP 401"
_TOKEN = "Set AGENT_MAIL_TOKEN to it for this command."
_CLOSED = "The door agentmail is not open"
"""How a server begins that knows the door and has it closed."""


class DoorClient:
    """`starts`: a server is started where none runs. `tell` hears that one was."""

    def __init__(self, settings: DoorSettings, *, starts: bool, tell: Callable[[str], None] | None = None) -> None:
        self._settings = settings
        self._starts = starts
        self._tell = tell
        self.within_s = ANSWER_WITHIN_S

    # The answer is plain JSON.
    def ask(
        self, what: str, value: dict[str, Json], *, answers: str | None = None, within_s: float | None = None
    ) -> dict[str, Json]:
        """The answer has `answers`. Raises NoAnswer where no server of ours runs, and none is to be started; Failure
        with the server's refusal, where its door is shut, and of what is no UTF-8.
        """
        _require_utf8(value)
        answer = self._answer(what, value, self.within_s if within_s is None else within_s)
        if not isinstance(answer, dict) or (answers is not None and answers not in answer):
            raise wire.NoAnswer(wire.STRANGER)
        return answer

    # The answer is plain JSON.
    def _answer(self, what: str, value: dict[str, Json], within_s: float) -> Json:
        """One that ends still owns the store when its port is closed already: who starts servers waits for the next."""
        until = time.monotonic() + START_WITHIN_S
        while True:
            server = self._server()
            try:
                return server.ask(f"{PREFIX}{what}", value, wire.Deadline(within_s), at_most=MAX_ANSWER_BYTES)
            except wire.Refused as refused:
                raise Failure(_words(refused, server.url)) from None
            except wire.NotReached:
                if not self._starts or self._settings.url is not None or time.monotonic() > until:
                    raise
                time.sleep(_AGAIN_AFTER_S)

    def prepare(self) -> None:
        """Start a server where none runs, so that the next question finds one. Raises Failure."""
        if self._settings.url is None and self._starts and wire.find_owner(self._settings.root)[1] is None:
            self._start()

    def settle(self, ticket: str, *, is_heard: bool) -> None:
        """Say what became of a message that was given: a server that is not there gives it again by itself."""
        for _ in range(2):
            try:
                self.ask("settle", {"ticket": ticket, "heard": is_heard}, within_s=5.0)
            except (wire.NoAnswer, Failure):
                time.sleep(_AGAIN_AFTER_S)
            else:
                return

    def _server(self) -> wire.RunningServer:
        settings = self._settings
        # No proof of the operator goes along: it opens no door.
        headers = {"Authorization": f"Bearer {settings.token}"} if settings.token else {}
        if settings.url is not None:
            return wire.RunningServer(without_mcp_path(settings.url, settings.http_path), headers)
        _, url = wire.find_owner(settings.root)
        if url is None and self._starts:
            url = self._start()
        if url is None:
            raise wire.NoAnswer("no server runs")
        return wire.RunningServer(url, headers)

    def _start(self) -> str:
        """A server in the background, as `am serve --stdio` starts one. Its door is open unless a setting says
        otherwise: that the command runs is the wish for it.
        """
        from mcp_agent_mail.cli.agentmail.background_server import start_server

        if not self._settings.says_door:
            os.environ[ENABLED] = "true"
        return start_server(START_WITHIN_S, self._tell)


def _require_utf8(value: dict[str, Json]) -> None:
    """Arguments, names and folders come as bytes: what is no text of theirs is not guessed at. Raises Failure."""
    for key, text in value.items():
        try:
            if isinstance(text, str):
                text.encode()
        except UnicodeEncodeError:
            raise Failure(f"{_SAID.get(key, key)} is not valid UTF-8") from None


def _words(refused: wire.Refused, url: str) -> str:
    if refused.kind == _NO_DOOR or str(refused).startswith(_CLOSED):
        return f"the server at {url} serves no AgentMail: set {ENABLED}=true for it and start it anew"
    hint = _TOKEN if refused.kind == _NO_TOKEN else str(refused.hint or "")
    said = str(refused)
    return f"{said if said.endswith(('.', '!', '?')) else f'{said}.'} {hint}" if hint else said
