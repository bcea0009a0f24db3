"""The feed of one agent: body-free, in the order of one rising number of the store, kept over restarts."""

from __future__ import annotations

from mcp_agent_mail.core.errors import CursorAhead, CursorExpired
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.delivery.requests import FeedRequest
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.messaging.visibility import open_inbox
from mcp_agent_mail.store.feed import FeedEnds, FeedEntry
from mcp_agent_mail.store.transaction import View


class ForgottenCursor(CursorExpired):
    """What came behind the cursor is not kept any more."""


class FeedCursorAhead(CursorAhead):
    """The cursor is none that this store has given out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage:
    """`next_cursor` is how far the page looked: nothing of this feed that was committed lies before it unseen."""

    mailbox: Actor
    events: list[FeedEntry]
    next_cursor: int
    has_more: bool
    ends: FeedEnds


def read_feed(view: View, caller: Caller, request: FeedRequest) -> FeedPage:
    """A page of what happened behind the cursor, oldest first. Whoever is taken at its word is told nothing of blind
    copies of what the agent sent, nor of such as were never delivered. Raises ForgottenCursor and FeedCursorAhead.
    """
    mailbox = open_inbox(view, caller, request.agent_name, request.project_key)
    ends = view.feed.ends()
    if request.position_now:
        return FeedPage(mailbox=mailbox, events=[], next_cursor=ends.tail, has_more=False, ends=ends)
    after = request.after or ends.floor
    require_kept(after, ends, argument="after")
    found = view.feed.after(mailbox.agent.id, after, request.limit + 1, is_proven=mailbox.verified)
    events = found[: request.limit]
    has_more = len(found) > len(events)
    next_cursor = events[-1].cursor if has_more else ends.tail
    return FeedPage(mailbox=mailbox, events=events, next_cursor=next_cursor, has_more=has_more, ends=ends)


def require_kept(cursor: int, ends: FeedEnds, *, argument: str) -> None:
    """Raise ForgottenCursor below what is kept, and FeedCursorAhead beyond what was ever given out; `argument` is what
    the caller gave it as.
    """
    data = {"cursor": cursor, "oldest_available_cursor": ends.floor, "tail_cursor": ends.tail}
    if cursor < ends.floor:
        raise ForgottenCursor(
            f"What happened behind cursor {cursor} is not kept any more.",
            hint=f"Read the inbox, then go on with {argument}={ends.tail}; {argument}=0 gives the oldest that is kept.",
            data=data,
        )
    if cursor > ends.tail:
        raise FeedCursorAhead(
            f"Cursor {cursor} is none of this store: the last one is {ends.tail}.",
            hint=f"Read the inbox, then go on with {argument}={ends.tail}.",
            data=data,
        )
