"""Signal files: one for each agent that has unread mail, for hooks and watchers that only look at a folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.ids import AgentId

_SAFE_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_SAFE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestUnread:
    """The newest unread message of one inbox. `sender` is written as one would answer it from there."""

    id: int
    sender: str
    subject: str
    importance: str
    delivered_ts: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadInbox:
    """`newest` is None when nothing is unread."""

    agent_id: AgentId
    agent: str
    project_slug: str
    newest: NewestUnread | None


def signal_place(inbox: UnreadInbox) -> tuple[str, str]:
    """Folder and file name below the folder of signals. Raises ValueError for names that may not be part of a path."""
    if not _SAFE_SLUG.fullmatch(inbox.project_slug) or not _SAFE_NAME.fullmatch(inbox.agent):
        raise ValueError(f"{inbox.project_slug!r:.300}, {inbox.agent!r:.100}: no names of files")
    return f"projects/{inbox.project_slug}/agents", f"{inbox.agent}.signal"


def signal_text(inbox: UnreadInbox, newest: NewestUnread, *, with_metadata: bool) -> bytes:
    """What the inbox's file says. The same inbox gives the same bytes: `timestamp` is the newest message's delivery."""
    shown: dict[str, object] = {
        "timestamp": iso(newest.delivered_ts),
        "project": inbox.project_slug,
        "agent": inbox.agent,
    }
    if with_metadata:
        shown["message"] = {
            "id": newest.id,
            "from": newest.sender,
            "subject": newest.subject,
            "importance": newest.importance,
        }
    return json.dumps(shown, ensure_ascii=False, indent=2).encode() + b"\n"
