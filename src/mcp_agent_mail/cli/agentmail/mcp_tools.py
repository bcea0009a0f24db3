"""The four tools of `agentmail mcp`: what is listed of them, and what a call of one answers."""

from __future__ import annotations

import json

from mcp_agent_mail.cli.agentmail.commands import (
    NOTHING_UNREAD,
    STATUSES,
    asked,
    deliver,
    listed,
    message_text,
    taken,
    wrong_status,
)
from mcp_agent_mail.cli.agentmail.refusals import NO_RECIPIENT, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcp_agent_mail.cli.agentmail.door import DoorClient
    from mcp_agent_mail.cli.agentmail.place import WindowPlace

    # Any: JSON.
    Json = Any

MAX_MESSAGE_BYTES = 65_536

TOO_LONG = "message exceeds maximum size of 64KB"
NO_MESSAGE = "no message provided"
TO_SELF = "cannot send message to self"
NOBODY_ELSE = "No recipients available"


def _schema(required: list[str], **properties: Json) -> dict[str, Json]:
    named = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **named, "additionalProperties": False}


TOOLS: tuple[dict[str, Json], ...] = (
    {
        "name": "send",
        "description": "Send a message to another agent in a tmux window",
        "inputSchema": _schema(
            ["recipient", "message"],
            recipient={"type": "string", "description": "Name of the recipient's tmux window"},
            message={"type": "string", "description": "Text of the message", "maxLength": MAX_MESSAGE_BYTES},
        ),
    },
    {
        "name": "receive",
        "description": "Read the oldest unread message from your mailbox",
        "inputSchema": _schema([]),
    },
    {
        "name": "status",
        "description": "Set your agent's availability status",
        "inputSchema": _schema(
            ["status"],
            status={"type": "string", "description": "Your availability", "enum": list(STATUSES)},
        ),
    },
    {
        "name": "list-recipients",
        "description": "List all available agents that can receive messages",
        "inputSchema": _schema([]),
    },
)


class NoSuchTool(Exception):
    """There is none of that name."""


class MessageTooLong(Exception):
    """The message has more than MAX_MESSAGE_BYTES: an error of the protocol, and nothing is sent."""

    def __init__(self, size: int) -> None:
        super().__init__(TOO_LONG)
        self.data = {"limit": MAX_MESSAGE_BYTES, "size": size}


class ToolAnswer:
    """What a call answers. `ticket` is that of a message which is read once this was written."""

    __slots__ = ("structured", "text", "ticket")

    def __init__(self, structured: dict[str, Json], text: str | None = None, ticket: str | None = None) -> None:
        self.structured = structured
        self.text = compact(structured) if text is None else text
        self.ticket = ticket

    def result(self) -> dict[str, Json]:
        """As `tools/call` gives it."""
        return {"content": [{"type": "text", "text": self.text}], "structuredContent": self.structured}


def call(name: str, arguments: dict[str, Json], place: WindowPlace, door: DoorClient) -> ToolAnswer:
    """Raises Failure with what the caller is told, MessageTooLong, and NoSuchTool."""
    tool = _CALLS.get(name)
    if tool is None:
        raise NoSuchTool(f"Unknown tool: {name:.100}\nThere are: {', '.join(_CALLS)}.")
    known = next(one["inputSchema"]["properties"] for one in TOOLS if one["name"] == name)
    for given in arguments:
        if given not in known:
            raise Failure(f"unknown argument: {given:.100}")
    return tool(arguments, place, door)


def _send(arguments: dict[str, Json], place: WindowPlace, door: DoorClient) -> ToolAnswer:
    recipient, message = _text(arguments, "recipient"), _text(arguments, "message")
    try:
        size = len(message.encode())
    except UnicodeEncodeError:
        raise Failure("message is not valid UTF-8") from None
    if size > MAX_MESSAGE_BYTES:
        raise MessageTooLong(size)
    if not message:
        raise Failure(NO_MESSAGE)
    if not recipient:
        raise Failure(NO_RECIPIENT)
    if place.is_self(recipient):
        raise Failure(TO_SELF)
    said = deliver(door, place, recipient, message)
    held = {"held": True} if said.get("held") else {}
    return ToolAnswer({"message_id": said["id"], **held}, f"Message #{said['id']} sent")


def _receive(_: dict[str, Json], place: WindowPlace, door: DoorClient) -> ToolAnswer:
    message = taken(door, place)
    if message is None:
        return ToolAnswer({"status": NOTHING_UNREAD}, NOTHING_UNREAD)
    shown = {"from": message["from"], "id": message["id"], "message": message["body"]}
    return ToolAnswer(shown, message_text(message), message["ticket"])


def _status(arguments: dict[str, Json], place: WindowPlace, door: DoorClient) -> ToolAnswer:
    word = _text(arguments, "status")
    if word not in STATUSES:
        raise Failure(wrong_status(word))
    asked(door, place, "status", {"status": word}, answers="status")
    return ToolAnswer({"status": "ok"})


def _list_recipients(_: dict[str, Json], place: WindowPlace, door: DoorClient) -> ToolAnswer:
    names = listed(door, place)
    shown: dict[str, Json] = {"recipients": [{"name": one, "is_current": one == place.name} for one in names]}
    return ToolAnswer(shown if len(names) > 1 else {**shown, "message": NOBODY_ELSE})


_CALLS: dict[str, Callable[[dict[str, Json], WindowPlace, DoorClient], ToolAnswer]] = {
    "send": _send,
    "receive": _receive,
    "status": _status,
    "list-recipients": _list_recipients,
}


def _text(arguments: dict[str, Json], name: str) -> str:
    value = arguments.get(name, "")
    if not isinstance(value, str):
        raise Failure(f"{name} must be a string")
    return value


def compact(value: Json) -> str:
    """JSON as it stands in texts: without blanks, and with letters as they are."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
