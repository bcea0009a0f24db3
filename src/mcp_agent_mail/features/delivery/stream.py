"""A feed that is followed: what happens to an agent's mail, page by page as it happens, while somebody listens.

Nothing of it lies in memory but the cursor: each page is read when the one before has been taken.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.identity.caller import Caller, Identify
from mcp_agent_mail.domain.presence import is_gone
from mcp_agent_mail.features.delivery import schemas
from mcp_agent_mail.features.delivery.feed import FeedPage, read_feed
from mcp_agent_mail.features.delivery.last_look import last_look_of
from mcp_agent_mail.features.delivery.requests import FeedRequest, FollowRequest
from mcp_agent_mail.features.delivery.waiters import MailWaiter, WaiterKind, Waiters
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.store.database import Store

PAGE = 100
MOST_BEHIND = 1_000
"""Whoever was up to date and is so many events behind is cut: it asks again with its cursor, and loses nothing."""
_SECOND = 1.0
_EARLY_S = 0.01
"""So much earlier than asked for a timer may come."""


class FeedStream:
    """Opened by `caller`, and not begun. `cursor` is how far its reader has come."""

    def __init__(
        self, store: Store, waiters: Waiters, caller: Caller, mailbox: Actor, request: FollowRequest, cursor: int
    ) -> None:
        self._store = store
        self._waiters = waiters
        self._caller = caller
        self._mailbox = mailbox
        self._request = request
        self.cursor = cursor

    @contextmanager
    def placed(self) -> Iterator[MailWaiter]:
        """A place for the time of the block. Raises NoPlaceToWait and WaitingEnds."""
        agent, is_agents = self._mailbox.agent, not self._caller.is_operator
        is_proven = self._mailbox.verified
        with self._waiters.place(agent.id, WaiterKind.STREAM, is_proven=is_proven, is_agents=is_agents) as waiter:
            yield waiter

    async def pages(
        self, waiter: MailWaiter, identify: Identify, *, silence_s: float
    ) -> AsyncIterator[list[JsonObject]]:
        """Events as `fetch_inbox_events` shows them, at most PAGE at a time, oldest first; nothing after each
        `silence_s` in which nothing was yielded, however often a look found nothing in it. It looks when it is woken.
        Who listens is asked again for each page: a token that counts no more ends the stream.
        Ends at a stop, when the reader has left or its agent is gone, and when it is MOST_BEHIND.

        Raises what reading the feed raises: CursorExpired too, for whoever has taken nothing for so long.
        """
        loop = asyncio.get_running_loop()
        silent_until = _end_of_silence(loop.time(), silence_s)
        is_live = False
        while True:
            # In this order: what is committed once the look has begun wakes.
            waiter.begin_look()
            caller = await identify()
            page = await self._read(caller)
            if waiter.has_left or self._waiters.is_closed or (is_live and page.has_more and self._is_far_behind()):
                return
            is_live = is_live or not page.has_more
            if page.events:
                yield [schemas.show_event(entry, page.mailbox.project.id) for entry in page.events]
                self.cursor = page.next_cursor
                silent_until = _end_of_silence(loop.time(), silence_s)
                continue
            self.cursor = page.next_cursor
            if is_gone(page.mailbox.agent, page.mailbox.project):
                return
            waiter.last_look = last_look_of(caller, page.mailbox, self.cursor)
            while True:
                await waiter.woken(silent_until - loop.time())
                if waiter.is_changed and loop.time() < silent_until:
                    break
                # So the cursor stays young, though this stream looks at nothing.
                self.cursor = max(self.cursor, waiter.quiet_to)
                yield []
                silent_until = _end_of_silence(loop.time(), silence_s)
                if waiter.is_changed:
                    break

    async def _read(self, caller: Caller) -> FeedPage:
        request = FeedRequest(
            project_key=self._request.project_key,
            agent_name=self._request.agent_name,
            after=self.cursor,
            limit=PAGE,
        )
        return await self._store.read(lambda view: read_feed(view, caller, request))

    def _is_far_behind(self) -> bool:
        mailbox, cursor = self._mailbox, self.cursor
        found = self._store.read_now(
            lambda view: view.feed.after(mailbox.agent.id, cursor, MOST_BEHIND, is_proven=mailbox.verified)
        )
        return len(found) == MOST_BEHIND


def _end_of_silence(now: float, silence_s: float) -> float:
    """Up to a second earlier, so that those who are silent end it in one pass of the event loop, and not one by one:
    of a thousand streams a pass for each costs as much as what is told.
    """
    return now + silence_s if silence_s <= _SECOND else math.floor(now + silence_s + _EARLY_S)
