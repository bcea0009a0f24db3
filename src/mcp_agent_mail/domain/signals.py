"""What is told of mail outside of calls: by signal files, one for each agent that has unread mail, for hooks and
watchers that only look at a folder; and by webhooks, of each delivery.
"""

from __future__ import annotations

import json

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern

_SAFE_SLUG = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_SAFE_NAME = lazy_pattern(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDelivery:
    """A copy that came into an inbox, with its delivery number. `sender` is written as one would answer it from
    there.
    """

    delivery_seq: int
    delivered_ts: Micros
    project_slug: str
    agent: str
    message_id: int
    sender: str
    subject: str
    importance: str


def webhook_body(delivery: NewDelivery, *, store_id: str) -> bytes:
    """What a webhook is told of a delivery, by an id that no other delivery of any store has. No body text."""
    shown = {
        "id": f"{store_id}-{delivery.delivery_seq}",
        "event": "delivered",
        "ts": iso(delivery.delivered_ts),
        "project": delivery.project_slug,
        "agent": delivery.agent,
        "message": {
            "id": delivery.message_id,
            "from": delivery.sender,
            "subject": delivery.subject,
            "importance": delivery.importance,
        },
    }
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()


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
