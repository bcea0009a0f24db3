"""Waiting for mail: a call that answers when there is some, or when its time is over. It takes nothing away.

Whoever waits looks at the store again after each word of the bus: the word says only that there may be something.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.concurrency.hearing import current_hearing
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.hooks.announcements import MAX_ITEMS, MOST_MORE, Announcement, ImportanceBound
from mcp_agent_mail.domain.identity.caller import Caller, Identify
from mcp_agent_mail.domain.messages import Importance, InboxEntry
from mcp_agent_mail.features.delivery.feed import require_kept
from mcp_agent_mail.features.delivery.last_look import last_look_of
from mcp_agent_mail.features.delivery.presence import require_listener
from mcp_agent_mail.features.delivery.requests import WaitRequest
from mcp_agent_mail.features.delivery.waiters import MailWaiter, WaiterKind, Waiters, why_left
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.messaging.visibility import open_inbox
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.inboxes import InboxPage, MailFilter
from mcp_agent_mail.store.transaction import View

MOST_MESSAGES = 20
"""Of one answer; `next_cursor` leads to the others."""

MOST_PASSED = 1_000
"""As far as unread mail is counted that no cursor leads to any more."""

_FEW_UNREAD = 2_000
"""Up to so much, looking through unread mail beats looking through a thread that may be larger."""

_RANKS = {Importance.URGENT.value: 0, Importance.HIGH.value: 1}

_KEEP = {
    (False, False): MailFilter.STANDING,
    (True, False): MailFilter.URGENT_STANDING,
    (False, True): MailFilter.UNREAD,
    (True, True): MailFilter.URGENT_UNREAD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HookMail:
    """What a hook would tell of what a look found, to a session that was told nothing yet: the most important first,
    then the oldest. `more` fits the request too; it is counted as far as MOST_MORE. `unread` is all that is.
    """

    mail: Sequence[Announcement]
    more: int
    unread: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMail:
    """What one look found, oldest first. `next_cursor` is how far it looked: nothing that was delivered up to there
    and fits the request lies behind it unseen, but for `passed_over` unread messages, counted as far as MOST_PASSED:
    older than any cursor that is kept, and more than one answer holds. `read_ts` is when it looked, `caller` who did.
    `told` is there where the request tells; it may hold mail behind `next_cursor`, which is found again then.
    """

    caller: Caller
    mailbox: Actor
    entries: list[InboxEntry]
    next_cursor: int
    passed_over: int = 0
    read_ts: Micros
    told: HookMail | None = None

    @property
    def shown(self) -> set[MessageId]:
        """What the answer shows."""
        told = () if self.told is None else self.told.mail
        return {entry.head.id for entry in self.entries} | {one.id for one in told}


def look_for_mail(view: View, caller: Caller, request: WaitRequest) -> FoundMail:
    """Without a cursor unread mail; with one what was delivered after it, read or not, but for what was withdrawn or
    has expired. Raises ForgottenCursor and FeedCursorAhead.
    """
    mailbox = open_inbox(view, caller, request.agent_name, request.project_key)
    ends = view.feed.ends()
    is_first = request.after_cursor is None
    after = request.after_cursor or ends.floor
    require_kept(after, ends, argument="after_cursor")
    page = InboxPage(
        limit=MOST_MESSAGES + 1,
        keep=_KEEP[request.urgent_only, is_first],
        thread_id=request.thread_id,
        after_seq=0 if is_first else after,
        oldest_first=True,
        walk_kept=is_first and mailbox.agent.unread_count <= _FEW_UNREAD,
    )
    found = view.inboxes.page(mailbox.agent.id, page)
    entries = found[:MOST_MESSAGES]
    next_cursor = entries[-1].delivery_seq if len(found) > len(entries) else ends.tail
    passed_over = 0
    if next_cursor < ends.floor:
        older = view.inboxes.page(mailbox.agent.id, replace(page, limit=MOST_MESSAGES + MOST_PASSED, to_seq=ends.floor))
        next_cursor, passed_over = ends.floor, len(older) - len(entries)
    return FoundMail(
        caller=caller,
        mailbox=mailbox,
        entries=entries,
        next_cursor=next_cursor,
        passed_over=passed_over,
        read_ts=view.now,
        told=_told(view, mailbox, page, entries) if request.tells else None,
    )


def _told(view: View, mailbox: Actor, page: InboxPage, entries: Sequence[InboxEntry]) -> HookMail:
    """Of what is unread; of what the agent has read meanwhile only where nothing else ended the wait."""
    agent_id = mailbox.agent.id
    is_urgent_only = page.keep in (MailFilter.URGENT_UNREAD, MailFilter.URGENT_STANDING)
    least = ImportanceBound.HIGH if is_urgent_only else ImportanceBound.ANY
    limit, after = MAX_ITEMS + MOST_MORE, page.after_seq
    unread = view.announcements.tellable(agent_id, None, least, limit, without_stops=None, after_seq=after)
    found = [one.message_id for one in unread]
    if not found:
        ranked = sorted(entries, key=lambda entry: _RANKS.get(entry.head.importance, len(_RANKS)))
        found = [entry.head.id for entry in ranked]
    return HookMail(
        mail=view.announcements.mail(agent_id, found[:MAX_ITEMS]),
        more=max(0, len(found) - MAX_ITEMS),
        unread=view.inboxes.counts(agent_id).unread,
    )


async def wait_for_mail(
    store: Store, waiters: Waiters, identify: Identify, first: FoundMail, request: WaitRequest
) -> FoundMail:
    """Until there is mail, or for `timeout_s`: then with none. `first` is the look that found none. Who waits is asked
    again before each look that may answer.

    Raises what `identify` raises and what looking does, NoPlaceToWait, WaitingEnds at a stop, and WaiterLeft for a
    caller that is gone: its place is free at once. AgentRetired for an agent that no more mail comes for, which wakes.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + request.timeout_s
    request = replace(request, after_cursor=first.next_cursor)
    await waiters.hear()
    with (
        waiters.place(
            first.mailbox.agent.id,
            WaiterKind.WAIT,
            is_proven=first.mailbox.verified,
            is_agents=not first.caller.is_operator,
        ) as waiter,
        current_hearing().watched(waiter.leave),
    ):
        while True:
            # In this order: what is committed once the look has begun wakes.
            waiter.begin_look()
            is_last = loop.time() >= until
            caller = await identify()
            found = await store.read(lambda view: look_for_mail(view, caller, request))  # noqa: B023  # run at once
            _require_caller(waiter)
            if found.entries or is_last:
                return found
            waiters.require_open()
            require_listener(found.mailbox)
            request = replace(request, after_cursor=found.next_cursor)
            waiter.last_look = last_look_of(caller, found.mailbox, found.next_cursor)
            await waiter.woken(until - loop.time())


def _require_caller(waiter: MailWaiter) -> None:
    if waiter.has_left:
        raise why_left()
