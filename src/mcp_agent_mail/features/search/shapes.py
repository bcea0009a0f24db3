"""A hit as every search shows it, and why there may be none. Keys are a wire contract."""

from __future__ import annotations

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.search.query import Hit

_NOTHING_ASKED = "The query has no word in it: give one."

_AS_IT_STANDS = (
    "The query is no search expression (words, quotes and brackets in pairs, AND, OR and NOT between words, subject: "
    "and body:), so each of its words was looked for, AND, OR and NOT too. Marks part words: src/a.py is src, a and py "
    "side by side."
)


def show_hit(hit: Hit, seen_from: ProjectId) -> Json:
    """One message that was found, without its body. A sender who is not at home in `seen_from` is `Name@slug`."""
    return {
        "id": hit.id,
        "thread_id": hit.thread_id,
        "subject": hit.subject,
        "from": shown_name(hit.sender_name, hit.sender_project_id, hit.sender_project_slug, seen_from),
        "importance": hit.importance.value,
        "ack_required": hit.ack_required,
        "created_ts": iso(hit.created_ts),
        "snippet": hit.snippet,
    }


def show_unfound(*, is_asked: bool, is_literal: bool) -> str:
    """What of the query itself may be why nothing was found; empty where it is as it should be."""
    if not is_asked:
        return _NOTHING_ASKED
    return _AS_IT_STANDS if is_literal else ""
