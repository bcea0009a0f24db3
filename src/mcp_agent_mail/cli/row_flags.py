"""What a row of mail or of reservations wants noticed: in words, and on a terminal in colours besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros, parse_time

Row = Mapping[str, Any]

UNREAD, OVERDUE, URGENT, HIGH = "bold", "bold red", "bold red", "yellow"
SOON_S = 10 * 60


def importance_words(row: Row) -> list[str]:
    """Importance and the wish for an acknowledgement, in words; the everyday is not said."""
    importance = row.get("importance")
    words = [] if importance in (None, "normal") else [str(importance)]
    return [*words, "ack"] if row.get("ack_required") else words


def attached_words(row: Row) -> list[str]:
    """How much a message carries; nothing where it carries nothing."""
    count = len(row.get("attachments") or ())
    return [f"{count} attached"] if count else []


def ended_words(row: Row) -> list[str]:
    """Why a message is not what it was when it was sent; nothing of one that holds."""
    ends = (("expired", "expired"), ("withdrawn_at", "withdrawn"), ("superseded_by", "superseded"))
    return [word for key, word in ends if row.get(key)]


def is_unread(row: Row) -> bool:
    """Whether an item of an inbox waits to be read: what has expired does not."""
    return not row.get("read_at") and not row.get("expired")


def mail_flags(row: Row) -> str:
    return ", ".join([*ended_words(row), *importance_words(row), *attached_words(row)])


def is_overdue(row: Row, *, now: Micros, ack_ttl_s: int) -> bool:
    """An acknowledgement was asked for more than `ack_ttl_s` seconds ago, is not there, and may still be given."""
    if not row.get("ack_required") or row.get("acknowledged_at") or row.get("expired"):
        return False
    try:
        return now - parse_time(str(row["created_ts"])) > ack_ttl_s * SECOND
    except ValueError:
        return False


def inbox_words(ack_ttl_s: int, *, now: Micros) -> Callable[[Row], str]:
    """The flags of an item of an inbox as a terminal shows them: whether it is unread, acknowledged or overdue too,
    or has come to an end.
    """

    def words(row: Row) -> str:
        said = importance_words(row)
        if "ack" in said and row.get("acknowledged_at"):
            said[said.index("ack")] = "acked"
        elif is_overdue(row, now=now, ack_ttl_s=ack_ttl_s):
            said[said.index("ack")] = "overdue"
        state = ["unread"] if is_unread(row) else []
        return ", ".join([*state, *ended_words(row), *said, *attached_words(row)])

    return words


def inbox_style(ack_ttl_s: int, *, now: Micros) -> Callable[[Row], str]:
    """The colour of those flags: the gravest wins."""

    def style(row: Row) -> str:
        if is_overdue(row, now=now, ack_ttl_s=ack_ttl_s):
            return OVERDUE
        return importance_style(row) or unread_style(row)

    return style


def importance_style(row: Row) -> str:
    return {"urgent": URGENT, "high": HIGH}.get(str(row.get("importance")), "")


def unread_style(row: Row) -> str:
    return UNREAD if is_unread(row) else ""


def unread_word(row: Row) -> str:
    """`unread`, or nothing: for a column of its own."""
    return "unread" if is_unread(row) else ""


def lease_state(row: Row, *, now: Micros) -> str:
    """`idle` and `expired`, where a reservation that was not released is one of these."""
    words = ["idle"] if row.get("stale") else []
    return ", ".join([*words, *(["expired"] if _left_s(row, now) == 0 else [])])


def lease_style(row: Row, *, now: Micros) -> str:
    """Red from the end on, yellow for ten minutes before it and for a holder that is idle."""
    left = _left_s(row, now)
    if left is None:
        return ""
    return OVERDUE if left == 0 else HIGH if left <= SOON_S or row.get("stale") else ""


def _left_s(row: Row, now: Micros) -> float | None:
    """Until it expires, not below 0; None for one that was released."""
    if row.get("released_ts"):
        return None
    try:
        return max(0.0, (parse_time(str(row["expires_ts"])) - now) / SECOND)
    except ValueError:
        return None
