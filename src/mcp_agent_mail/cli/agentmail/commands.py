"""The commands that send, give and show: each returns its exit code, and prints what it says at once."""

from __future__ import annotations

import os
import select
import stat

from mcp_agent_mail.cli.agentmail.arguments import parse
from mcp_agent_mail.cli.agentmail.door import DoorClient
from mcp_agent_mail.cli.agentmail.environment import DoorSettings
from mcp_agent_mail.cli.agentmail.place import WindowPlace, find_place
from mcp_agent_mail.cli.agentmail.refusals import NO_RECIPIENT, NO_TMUX, OUTSIDE, REFUSED, Failure
from mcp_agent_mail.cli.agentmail.words import ONBOARD, USAGES
from mcp_agent_mail.clients.hook.descriptors import write_all, write_words
from mcp_agent_mail.core import running_server as wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    # Any: JSON of the server.
    Json = Any

STATUSES = ("ready", "work", "offline")
NOTHING_UNREAD = "No unread messages"
MAX_STDIN_BYTES = 4 << 20
STDIN_BEGINS_WITHIN_S = 2.0
"""Where the message is given as an argument too: agents' shells leave pipes open that nobody writes to."""

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_SEND_USAGE = "agentmail send <recipient> <message>"
_SEND_FLAGS = {"r": "recipient", "recipient": "recipient", "m": "message", "message": "message"}


# --- send ---


def send(arguments: Sequence[str]) -> int:
    """`agentmail send`."""
    settings = DoorSettings(os.environ)
    place = find_place(settings, os.environ)
    given = parse(arguments, _SEND_FLAGS)
    recipient, message = _addressed(given.values, given.words)
    piped = _piped(has_argument=message is not None)
    message = message if piped is None else piped
    if recipient is None and message is None:
        raise Failure("missing required arguments: recipient message")
    if recipient is None:
        raise Failure("missing required arguments: recipient")
    if not message:
        raise Failure("no message provided", usage=_SEND_USAGE)
    if place.is_self(recipient):
        raise Failure(NO_RECIPIENT)
    said = deliver(DoorClient(settings, starts=True), place, recipient, message)
    print_out(f"Message #{said['id']} sent\n")
    if said.get("held"):
        write_words(_STDERR, f"It is held until {recipient} approves it.\n")
    return 0


# The answer is plain JSON.
def deliver(door: DoorClient, place: WindowPlace, recipient: str, message: str) -> dict[str, Json]:
    """Send it: to a window of the session, else to a name that the project knows. Raises Failure."""
    if place.is_ignored(recipient):
        raise Failure(NO_RECIPIENT)
    window = place.window(recipient)
    value = {"to": window or recipient, "body": message, "window": window is not None}
    return asked(door, place, "send", value, answers="id", also=window)


def _addressed(values: dict[str, str], words: list[str]) -> tuple[str | None, str | None]:
    """Recipient and message. Flags beat words; where a flag gives the recipient, a single word is the message."""
    recipient, message = values.get("recipient"), values.get("message")
    if message is None:
        message = words[1] if len(words) > 1 else (words[0] if words and recipient is not None else None)
    if recipient is None:
        recipient = words[0] if words else None
    return recipient or None, message


def _piped(*, has_argument: bool) -> str | None:
    """What comes on a pipe or from a file, less one newline at its end; None for nothing, and without a pipe."""
    try:
        mode = os.fstat(_STDIN).st_mode
    except OSError:
        return None
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return None
    if has_argument and not select.select([_STDIN], [], [], STDIN_BEGINS_WITHIN_S)[0]:
        return None
    content = bytearray()
    while len(content) <= MAX_STDIN_BYTES and (piece := os.read(_STDIN, 65_536)):
        content += piece
    if len(content) > MAX_STDIN_BYTES:
        raise Failure(f"message exceeds maximum size of {MAX_STDIN_BYTES} bytes")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise Failure("message is not valid UTF-8") from None
    return text.removesuffix("\n") or None


# --- receive ---


def receive(arguments: Sequence[str]) -> int:
    """`agentmail receive`; with `--hook` see `hook.py`."""
    settings = DoorSettings(os.environ)
    place = find_place(settings, os.environ)
    parse(arguments, {}, ["hook"])
    door = DoorClient(settings, starts=True)
    message = taken(door, place)
    if message is None:
        print_out(f"{NOTHING_UNREAD}\n")
        return 0
    is_printed = write_words(_STDOUT, _shown(message_text(message)))
    door.settle(message["ticket"], is_heard=is_printed)
    return 0 if is_printed else REFUSED


# The answer is plain JSON.
def taken(door: DoorClient, place: WindowPlace) -> dict[str, Json] | None:
    """The oldest unread message, which is the caller's until it settles it."""
    found = asked(door, place, "pop", {}, answers="message")["message"]
    return found if isinstance(found, dict) else None


def message_text(message: dict[str, Json]) -> str:
    """As it is printed, without a newline at its end."""
    return f"From: {message['from']}\nID: {message['id']}\n\n{message['body']}"


def _shown(text: str) -> str:
    """A program gets every byte; on a person's terminal what peers write must not steer it."""
    if not os.isatty(_STDOUT):
        return text
    from mcp_agent_mail.core.escaping import visible

    return visible(text)


# --- recipients, status, onboard ---


def recipients(arguments: Sequence[str]) -> int:
    """`agentmail recipients`."""
    settings = DoorSettings(os.environ)
    place = find_place(settings, os.environ, outside=NO_TMUX, code=OUTSIDE)
    parse(arguments, {})
    names = listed(DoorClient(settings, starts=True), place)
    print_out("".join(f"{one} [you]\n" if one == place.name else f"{one}\n" for one in names))
    return 0


def listed(door: DoorClient, place: WindowPlace) -> list[str]:
    """Whom one can write to, oneself among them. Outside tmux those whom the project knows."""
    if place.windows is not None:
        return place.recipients()
    known = asked(door, place, "names", {}, answers="names")["names"]
    return list(dict.fromkeys([place.name, *(one for one in known if not place.is_ignored(one))]))


def status(arguments: Sequence[str]) -> int:
    """`agentmail status`: in silence outside tmux."""
    settings = DoorSettings(os.environ)
    words = parse(arguments, {}).words
    if not words:
        raise Failure("missing required argument: status", usage=USAGES["status"])
    try:
        place = find_place(settings, os.environ)
    except Failure as outside:
        if outside.code == OUTSIDE:
            return 0
        raise
    if words[0] not in STATUSES:
        write_words(_STDERR, f"{wrong_status(words[0])}\n")
        return REFUSED
    asked(DoorClient(settings, starts=True), place, "status", {"status": words[0]}, answers="status")
    return 0


def wrong_status(word: str) -> str:
    return f"Invalid status: {word}. Valid: {', '.join(STATUSES)}"


def onboard(_: Sequence[str]) -> int:
    """`agentmail onboard`: whatever stands around it."""
    write_words(_STDOUT, ONBOARD)
    return 0


# --- shared ---


# The answer is plain JSON.
def asked(
    door: DoorClient, place: WindowPlace, what: str, value: dict[str, Json], *, answers: str, also: str | None = None
) -> dict[str, Json]:
    """The door's answer, in which there is `answers`, to who stands at this place. Of a window that was renamed since
    its mailbox was used last, our own or the one that is written to, the mailbox comes along first.
    """
    concerned = [place.name] if also is None else [place.name, also]
    try:
        for name in concerned:
            if (was := place.was_called(name)) is not None:
                door.ask("rename", {"project": place.project, "name": name, "was": was})
        answer = door.ask(what, {"project": place.project, "name": place.name, **value}, answers=answers)
    except wire.NoAnswer as silent:
        raise Failure(f"no answer from the agent-mail server: {silent}") from None
    for name in concerned:
        place.remember(name)
    return answer


def print_out(words: str) -> None:
    """Raises OSError where nobody reads it."""
    write_all(_STDOUT, words.encode("utf-8", "backslashreplace"))
