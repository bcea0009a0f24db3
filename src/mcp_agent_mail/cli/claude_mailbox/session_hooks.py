"""What a client's hooks run at the start and the end of a session, and by which name a session goes."""

from __future__ import annotations

import os
import re
import signal
import time

from mcp_agent_mail.cli.claude_mailbox.arguments import parse_flags
from mcp_agent_mail.cli.claude_mailbox.commands import OURS, QUOTE
from mcp_agent_mail.cli.claude_mailbox.door import HOOK_WITHIN_S, MailboxClient
from mcp_agent_mail.cli.claude_mailbox.refusals import CommandRefused
from mcp_agent_mail.clients.hook.descriptors import write_words
from mcp_agent_mail.core.git.worktree import find_work_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    # Any: JSON of a client's hook, or of the server.
    Json = Any

RECENT_MINUTES = 60
MAX_PEERS = 20
SAID_WITHIN_S = 2.0
_MAX_FOLDER = 60
_SHOWN_OF_SESSION = 8
_HEX = re.compile(r"[0-9a-f]")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


def session_announce(arguments: Sequence[str]) -> int:
    """Tell the model its mailbox's name, how to use it, and who else is there: the mailbox is there by that. Silent
    where no server answers: a session starts without.
    """
    given = parse_flags("session-announce", arguments, valued=("name",))
    try:
        name = given.find("name") or session_name()
        listed = MailboxClient(given, within_s=HOOK_WITHIN_S).ask("GET", "/v1/list", name=name)
        _say(announcement(name, listed, now_s=time.time()))
    except CommandRefused:
        return 0
    except (LookupError, TypeError, ValueError):  # What answers is no mailbox server.
        return 0
    return 0


def announcement(name: str, listed: Json, *, now_s: float) -> str:
    """Your name, the exact arguments, and the others that were seen lately."""
    lines = [
        f"{OURS} Your mailbox is '{name}'.",
        f'Send with from="{name}": mcp__mailbox__send(from="{name}", to="<mailbox>", body="…").',
        f'Read with name="{name}": mcp__mailbox__check_inbox(name="{name}").',
    ]
    others = [one for one in listed if one["name"] != name and one["lastSeenAt"] is not None]
    recent = [one for one in others if now_s - seconds_of(str(one["lastSeenAt"])) <= RECENT_MINUTES * 60]
    if not recent:
        told = f"No other mailboxes seen within the last {RECENT_MINUTES} minutes ({len(listed)} total registered)."
        return "\n".join([*lines, told])
    lines.append(f"Mailboxes seen within the last {RECENT_MINUTES} minutes, by the names that they gave themselves:")
    for one in recent[:MAX_PEERS]:
        minutes = max(0, int((now_s - seconds_of(str(one["lastSeenAt"]))) // 60))
        yours = f", {one['pendingForYou']} for you" if one["pendingForYou"] else ""
        lines.append(f"{QUOTE}{one['name']} ({minutes} min ago{yours})")
    if len(recent) > MAX_PEERS:
        lines.append(f'- and {len(recent) - MAX_PEERS} more: mcp__mailbox__list_mailboxes(name="{name}")')
    return "\n".join(lines)


def session_end(arguments: Sequence[str]) -> int:
    """The mailbox goes where nothing waits either way. Silent, whatever comes of it."""
    given = parse_flags("session-end", arguments, valued=("name",))
    try:
        name = given.find("name") or session_name()
        MailboxClient(given, within_s=HOOK_WITHIN_S).exchange(
            "DELETE", f"/v1/mailbox{'' if given.find('name') else '?follow=1'}", name=name
        )
    except CommandRefused:
        return 0
    return 0


def session_name() -> str:
    """Of what the client tells its hook on standard input: the repository's or folder's name, and the beginning of the
    session's id. Raises CommandRefused where it tells of no session, or not within SAID_WITHIN_S.
    """
    payload: Json = _payload()
    session = payload.get("session_id") if isinstance(payload, dict) else None
    if not isinstance(session, str) or not session.strip():
        raise CommandRefused("claude-mailbox: no session: say --name, or run it as a hook of a client.")
    folder = payload.get("cwd")
    return auto_name(folder if isinstance(folder, str) else "", session)


def _payload() -> Json:
    """A client that leaves its hook's input open says nothing more."""
    from mcp_agent_mail.clients.hook.payload import read_payload

    def over(_number: int, _frame: object) -> None:
        raise CommandRefused("claude-mailbox: nothing was said on standard input.")

    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, SAID_WITHIN_S)
    try:
        return read_payload()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def auto_name(folder: str, session: str) -> str:
    """`<repository's or folder's name>-<first 8 hex digits of the session>`; `claude` where there is no name."""
    digits = "".join(_HEX.findall(session.lower()))[:_SHOWN_OF_SESSION]
    named = _UNFIT.sub("-", os.path.basename(_root_of(folder).rstrip("/"))).strip("-")[:_MAX_FOLDER]
    return f"{named or 'claude'}-{digits or 'session'}"


def _root_of(folder: str) -> str:
    """The repository that the folder is in; else the folder. Nothing of a path that is none."""
    return (find_work_tree(folder) or folder) if os.path.isabs(folder) else ""


def seconds_of(text: str) -> float:
    """A time of the server's, in seconds since 1970. Raises ValueError."""
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()


def _say(text: str) -> None:
    write_words(1, f"{text}\n")


COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "session-announce": session_announce,
    "session-end": session_end,
}
