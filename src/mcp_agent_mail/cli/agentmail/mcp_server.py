"""`agentmail mcp`: four tools over standard input and output, for as long as the window stands.

It lists them itself: a server is needed by calls alone, and is started beside the handshake, so that the first call
finds one. Requests are answered one after the other. Standard output has the protocol and nothing else; what goes wrong
is a line on standard error.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from mcp_agent_mail.cli.agentmail.door import DoorClient
from mcp_agent_mail.cli.agentmail.environment import DoorSettings
from mcp_agent_mail.cli.agentmail.mcp_tools import TOOLS, MessageTooLong, NoSuchTool, ToolAnswer, call
from mcp_agent_mail.cli.agentmail.place import find_place
from mcp_agent_mail.cli.agentmail.refusals import NO_TMUX, REFUSED, Failure
from mcp_agent_mail.cli.stdio.messages import (
    INVALID_PARAMS,
    NO_METHOD,
    LineRefusal,
    error_of,
    read_lines,
    read_request,
    result_of,
    spoken_version,
)
from mcp_agent_mail.clients.hook.descriptors import write_all, write_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcp_agent_mail.cli.agentmail.tmux_windows import TmuxPane
    from mcp_agent_mail.cli.stdio.messages import LineRequest

    # Any: JSON.
    Json = Any

LOOK_EVERY_S = 0.4
"""At tmux: who is left without it has gone within a second."""

_SERVER = {"name": "agentmail", "version": "dev"}
_STDOUT, _STDERR = 1, 2


def serve() -> int:
    """Until standard input ends: 0 then; 1 where there is no tmux, and once it is gone."""
    settings = DoorSettings(os.environ)
    place = find_place(settings, os.environ, outside=NO_TMUX, code=REFUSED)
    if place.pane is not None:
        threading.Thread(target=end_with, args=(place.pane,), daemon=True).start()
    session = McpSession(settings)
    for line in read_lines(sys.stdin.buffer):
        session.take(line)
    return 0


def end_with(
    pane: TmuxPane, sleep: Callable[[float], None] = time.sleep, end: Callable[[int], object] = os._exit
) -> None:
    """On a thread: whoever waits for an answer does not look."""
    sleep(LOOK_EVERY_S)
    while pane.is_there():
        sleep(LOOK_EVERY_S)
    tell("the tmux session is gone")
    end(REFUSED)


class McpSession:
    """One client. Raises OSError where it does not read any more."""

    def __init__(self, settings: DoorSettings) -> None:
        self._settings = settings
        self._door = DoorClient(settings, starts=True, tell=tell)
        self._is_begun = False

    def take(self, line: bytes | None) -> None:
        """Answer one message, if it is one that is answered."""
        try:
            asked = read_request(line)
        except LineRefusal as refused:
            self._refuse(None, refused.code, str(refused))
        else:
            if asked is not None:
                self._answer(asked)

    def _answer(self, asked: LineRequest) -> None:
        number, method = asked.number, asked.method
        if method == "initialize":
            self._begin()
            version = spoken_version(asked.params)
            self._reply(number, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": _SERVER})
        elif method == "ping":
            self._reply(number, {})
        elif method == "tools/list":
            self._reply(number, {"tools": list(TOOLS)})
        elif method == "tools/call":
            self._call(number, asked.params)
        else:
            self._refuse(number, NO_METHOD, f"Method not found: {method:.100}")

    def _begin(self) -> None:
        """Have a server by the time of the first call."""
        if not self._is_begun:
            self._is_begun = True
            threading.Thread(target=_prepare, args=(self._door,), daemon=True).start()

    def _call(self, number: str | int, params: dict[str, Json]) -> None:
        name, arguments = params.get("name"), params.get("arguments") or {}
        if not isinstance(arguments, dict):
            self._refuse(number, INVALID_PARAMS, "arguments must be an object")
            return
        try:
            # Anew for each call: windows are opened, renamed and closed.
            place = find_place(self._settings, os.environ, outside=NO_TMUX, code=REFUSED)
            answer = call(str(name), arguments, place, self._door)
        except NoSuchTool as unknown:
            self._refuse(number, INVALID_PARAMS, str(unknown))
        except MessageTooLong as long:
            self._refuse(number, INVALID_PARAMS, str(long), long.data)
        except Failure as failed:
            tell(f"{name!s:.100}: {failed}")
            self._reply(number, {"content": [{"type": "text", "text": str(failed)}], "isError": True})
        else:
            self._give(number, answer)

    def _give(self, number: str | int, answer: ToolAnswer) -> None:
        """A message is read once it was written."""
        try:
            self._reply(number, answer.result())
        except OSError:
            if answer.ticket is not None:
                self._door.settle(answer.ticket, is_heard=False)
            raise
        if answer.ticket is not None:
            self._door.settle(answer.ticket, is_heard=True)

    def _reply(self, number: str | int, result: dict[str, Json]) -> None:
        _write(result_of(number, result))

    def _refuse(self, number: str | int | None, code: int, words: str, data: Json = None) -> None:
        tell(words)
        _write(error_of(number, code, words, data))


def _prepare(door: DoorClient) -> None:
    try:
        door.prepare()
    except Failure as failed:
        tell(str(failed))


def _write(message: dict[str, Json]) -> None:
    write_all(_STDOUT, json.dumps(message).encode() + b"\n")


def tell(words: str) -> None:
    """One line on standard error."""
    write_words(_STDERR, f"agentmail mcp: {words.splitlines()[0] if words.strip() else words}\n")
