"""The settings of the door `claude-mailbox` and of its command. Standard library only."""

from __future__ import annotations

from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import BadValue, PathContext, Row, SettingKind

_GROUP = "Neighbours"
_MAX_PORTS = 8


def _ports(text: str, _: PathContext) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words or len(words) > _MAX_PORTS:
        raise BadValue(f"Name one port, or as many as {_MAX_PORTS}.")
    for word in words:
        if not (word.isascii() and word.isdigit() and int(word) <= 65535):
            raise BadValue(f"{word!r:.40} is no port.")
    ports = tuple(int(word) for word in words)
    named = [port for port in ports if port]
    if len(set(named)) < len(named):
        raise BadValue("A port stands there twice.")
    return ports


PORTS = SettingKind(label="ports", expected="ports from 0 to 65535 with commas between them, 0 for any", parse=_ports)

MAILBOX_ROWS = (
    Row(
        name="CLAUDE_MAILBOX_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Open the door `claude-mailbox`: /mcp, /v1 and /health on ports of its own, where callers are who their "
        "`X-Mailbox` header says.",
        group=_GROUP,
    ),
    Row(
        name="CLAUDE_MAILBOX_PORTS",
        kind=PORTS,
        default="47822,37849",
        does="The ports that this door has to itself. Its command calls the first.",
        group=_GROUP,
        client=True,
    ),
    Row(
        name="CLAUDE_MAILBOX_HIDE_AFTER_MINUTES",
        kind=kinds.whole(0, 5_000_000),
        default="1440",
        does="A mailbox without a call for so long is left out of lists, unless it asks, or mail of it waits for who "
        "asks; 0 is never.",
        group=_GROUP,
    ),
    Row(
        name="CLAUDE_MAILBOX_DELETE_AFTER_MINUTES",
        kind=kinds.whole(0, 5_000_000),
        default="10080",
        does="After so long it retires: its mail and history stay, and the next call brings it back; 0 is never.",
        group=_GROUP,
    ),
    Row(
        name="CLAUDE_MAILBOX_SWEEP_INTERVAL_MINUTES",
        kind=kinds.whole(0, 10_080),
        default="60",
        does="How often that is looked at; 0 is never.",
        group=_GROUP,
    ),
)

MAILBOX_CLIENT_ROWS = (
    Row(
        name="CLAUDE_MAILBOX_URL",
        kind=kinds.URL,
        default="",
        does="Where the command `claude-mailbox` finds the server, if not at the first of CLAUDE_MAILBOX_PORTS.",
        group="Client side",
        client=True,
    ),
)
