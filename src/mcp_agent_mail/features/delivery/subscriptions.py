"""Who is told that a resource has changed: the subscriptions of this process, by stream.

A stream is a connection's, or a session's that may have one open or not. It says that a URI has changed and nothing
else, to whoever may still read it. All of it lives on the event loop and in memory, without a thread. What has changed
comes by the bus of copies; whose rights have, by that of rights and by the look for all who wait. What neither tells of
is asked once a minute. It knows no protocol. (docs/adr/0154)
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

from mcp_agent_mail.core.concurrency.pace import Pace
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.copy_changes import (
    ChangeReaders,
    CopyChange,
    News,
    Watched,
    WatchedKey,
    audience_of,
    keys_of,
    news_of,
)
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.delivery.kept_news import KeptNews, Subscription
from mcp_agent_mail.features.delivery.known_looks import UNREADABLE, KnownLooks, shows_same
from mcp_agent_mail.features.delivery.stream_place import StreamPlace
from mcp_agent_mail.features.delivery.stream_readers import StreamReaders, lasting, may_end_untold
from mcp_agent_mail.features.delivery.subscription_counts import (
    MAX_SUBSCRIPTIONS,
    SubscriptionBounds,
    SubscriptionCounts,
    require_another_uri,
)
from mcp_agent_mail.features.delivery.waiters import Waiters
from mcp_agent_mail.notify.bus import CopyBus
from mcp_agent_mail.store.database import Store

STEPS_A_PASS = 8
"""Looks at rights, and notices, of all streams together before the event loop does something else."""
TOLD_EVERY_S = 0.5
"""What changes more often is told once for all of it; the last change always."""
LOOK_AGAIN_S = 5.0
"""When it could not be asked whether the reader may still read."""
IDENTIFY_EVERY_S = 60.0
"""Whose right ends by more than a change of its agent's, which tells of itself, is identified again so often."""


class Subscriptions:
    """`watchable` answers each URI with what is watched there; `identify` says who the current call is.
    `settle` returns when every commit that was begun before has been told, or can be read. Nothing is asked of the bus,
    and nobody who writes pays, before somebody subscribes.
    """

    def __init__(
        self,
        store: Store,
        bus: CopyBus,
        waiters: Waiters,
        settle: Callable[[], Awaitable[None]],
        *,
        identify: Callable[[], Awaitable[Caller]],
        bounds: SubscriptionBounds = MAX_SUBSCRIPTIONS,
        told_every_s: float = TOLD_EVERY_S,
        look_again_s: float = LOOK_AGAIN_S,
    ) -> None:
        self.waiters = waiters
        self.told_every_s = told_every_s
        self.look_again_s = look_again_s
        self.identify_every_s = IDENTIFY_EVERY_S
        self.readers = StreamReaders(store, identify)
        self.watchable = ResourceTable([])
        self.pace = Pace(STEPS_A_PASS)
        self._store = store
        self._bus = bus
        self._settle = settle
        self._shares = SubscriptionCounts(bounds)
        self._by_key: dict[WatchedKey, dict[Watched, Counter[ResourceStream]]] = {}
        self._is_subscribed = False
        self._hears_all = False

    @property
    def count(self) -> int:
        """Of all streams together."""
        return self._shares.total

    def stream(self) -> ResourceStream:
        """A new one, without subscriptions, not open."""
        return ResourceStream(self)

    async def watched(self, uri: str, credentials: Credentials) -> Watched:
        """What the URI shows to whoever has these credentials. Raises what reading it raises, and NotWatchable."""
        return cast("Watched", await self.watchable.read(uri, credentials))

    def named(self, uri: str) -> tuple[str, ...]:
        """What a readable URI names, whatever of it is to be shown."""
        spec, given = self.watchable.match(uri)
        return (spec.name, given.get("project", ""), *(given[key] for key in spec.path_keys))

    async def hear(self) -> None:
        """Hear of every commit from now on. Raises what a sick store raises."""
        if not self._is_subscribed:
            self._is_subscribed = True
            self._bus.subscribe(self._tell)
        if not self._hears_all:
            # A commit that had begun before the first subscription is told to nobody.
            await self._settle()
            self._hears_all = True

    def add(self, subscription: Subscription, stream: ResourceStream) -> None:
        """Raises NoPlaceToWait beyond what whoever is proven to subscribe may have."""
        watched = subscription.watched
        self._shares.take(watched.reader)
        self._by_key.setdefault(watched.key, {}).setdefault(watched, Counter())[stream] += 1

    def remove(self, subscription: Subscription, stream: ResourceStream) -> None:
        """Of one that was added, once."""
        watched = subscription.watched
        self._shares.give_back(watched.reader)
        watching = self._by_key[watched.key]
        streams = watching[watched]
        streams[stream] -= 1
        if not streams[stream]:
            del streams[stream]
        if not streams:
            del watching[watched]
        if not watching:
            del self._by_key[watched.key]

    def _tell(self, changes: frozenset[CopyChange]) -> None:
        """In one step with the commit: so each stream is told once of what it watches, and looks at its URIs itself."""
        of_keys: dict[WatchedKey, list[CopyChange]] = {}
        for change in changes:
            for key in keys_of(change):
                if key in self._by_key:
                    of_keys.setdefault(key, []).append(change)
        for key, concerned in of_keys.items():
            watching = self._by_key[key]
            news = self._completed(news_of(key, concerned), watching)
            for watched, streams in watching.items():
                if (audience := audience_of(news, watched)) is not None:
                    for stream in streams:
                        stream.note(watched, audience)

    def _completed(self, news: News, watching: dict[Watched, Counter[ResourceStream]]) -> News:
        asked = {one.project_id for one in watching if one.project_id is not None} - news.projects
        if not news.messages or not asked:
            return news
        try:
            found = self._store.read_now(lambda view: view.messages.open_projects(news.messages, asked))
        except AgentMailError:
            # Told once too often, to who may read it. Lost would be lost for everybody behind it, too.
            found = frozenset(asked)
        return replace(news, projects=news.projects | found)


class ResourceStream:
    """The subscriptions of one connection, or of one session, and what of it is still to be told: a URI at most once.

    While it is open and has a subscription it has a place among those who wait, and the agents whose inboxes it tells
    of, to themselves, are listening.
    """

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._all = subscriptions
        self._own: dict[str, Subscription] = {}
        self._news = KeptNews()
        self._known = KnownLooks(subscriptions.watched)
        self._place = StreamPlace(subscriptions.waiters)
        self._is_open = False
        self._reader: Credentials | None = None
        self._identify_at = math.inf

    @property
    def is_open(self) -> bool:
        return self._is_open

    @property
    def uris(self) -> list[str]:
        return list(self._own)

    async def subscribe(self, uri: str, credentials: Credentials) -> None:
        """Whatever is committed from the return on is told. A repeat takes the newer credentials.

        Raises what reading the URI raises, NotWatchable, TooManyUris and NoPlaceToWait.
        """
        await self._all.hear()
        await self._all.waiters.hear()
        credentials = lasting(credentials)
        await self._all.pace.step()
        watched = await self._all.watched(uri, credentials)
        one = Subscription(uri, self._all.named(uri), credentials, watched)
        listener = await self._find_listener(one)
        if (before := self._own.get(uri)) is None:
            require_another_uri(len(self._own))
        elif (before.watched, before.credentials) == (watched, credentials):
            return
        self._add(one, listener)

    def _add(self, subscription: Subscription, listener: AgentId | None) -> None:
        """In the place of one with the same URI, which nothing is taken from if this one is refused."""
        before = self._own.get(subscription.uri)
        self._all.add(subscription, self)
        try:
            if self._is_open:
                self._place.begin(has_subscriptions=True)
                self._place.follow(subscription, listener)
        except AgentMailError:
            self._all.remove(subscription, self)
            if not self._own:
                self._place.leave()
            raise
        self._news.spread(self._own.values())
        self._own[subscription.uri] = subscription
        if subscription.followed is not None:
            self._identify_at = min(self._identify_at, self._next_identify_at())
            self._place.seat.wake()
        if before is not None:
            subscription.due_at = before.due_at
            self._news.hand_on(before, subscription)
            self._remove(before)

    def unsubscribe(self, uri: str) -> None:
        """Nothing more is told of the URI. A repeat, or of one that was never subscribed to, does nothing."""
        if (subscription := self._own.pop(uri, None)) is not None:
            self._remove(subscription)
            if not self._own:
                self._place.leave()

    def end(self) -> None:
        """Nothing more is told. A repeat does nothing more."""
        for uri in self.uris:
            self.unsubscribe(uri)

    def _remove(self, subscription: Subscription) -> None:
        self._all.remove(subscription, self)
        self._news.drop(subscription)
        self._place.unfollow(subscription)

    @asynccontextmanager
    async def opened(
        self, *, always_seated: bool = False, reader: Credentials | None = None, holder: AgentId | None = None
    ) -> AsyncIterator[None]:
        """What has changed can be told for the time of the block. Of one that is not open. Raises NoPlaceToWait and
        WaitingEnds.

        `reader` is who opened it, where that need not be who subscribed: then both must be able to read what is told.
        `holder` is the agent that is proven to, for which its place counts.
        `always_seated`: it holds its connection for this alone, whether it has subscriptions or not.

        What is told within is told again in the next block: nobody knows how much of it arrived.
        """
        self._all.waiters.require_open()
        self._reader = None if reader is None else lasting(reader)
        self._place = StreamPlace(self._all.waiters, holder=holder, always_seated=always_seated)
        self._place.open(has_subscriptions=bool(self._own))
        self._is_open = True
        try:
            # Of changed rights: what is committed from here on doubts the stream.
            if self._own:
                await self._all.waiters.hear()
            elif holder is not None:
                self._all.waiters.begin_hearing()
            for one in list(self._own.values()):
                listener = await self._find_listener(one)
                if self._own.get(one.uri) is one and one.followed is None:
                    self._place.follow(one, listener)
            yield
        finally:
            self._is_open = False
            for one in self._own.values():
                self._place.unfollow(one)
            self._reader = None
            self._news.take_back()
            self._place.close()

    async def _find_listener(self, one: Subscription) -> AgentId | None:
        """The agent whose own mailbox it is, where that one reads the stream, too: whoever reads it at the return."""
        listener = one.watched.listener
        while (reader := self._reader) is not None and listener is not None and reader != one.credentials:
            await self._all.pace.step()
            theirs = await self._known.find_listener(one.uri, reader)
            if self._reader == reader:
                return listener if theirs == listener else None
        return listener

    def note(self, watched: Watched, audience: ChangeReaders) -> None:
        """What is watched so has changed, and is told when its time has come and the stream is open."""
        self._news.note(watched, audience)
        self._known.forget()
        self._place.seat.wake()

    async def changes(self) -> AsyncIterator[str]:
        """URIs that have changed, as they do, while the stream is open: each at most every TOLD_EVERY_S, and only to
        whoever may read it at that moment, by a look that is KNOWN_FOR_S old at most. Ends at a stop of the server.

        Raises what a call of whoever opened it would, by now: asked when the stream is doubted, when it may not read,
        and of some each IDENTIFY_EVERY_S.
        """
        loop = asyncio.get_running_loop()
        self._identify_at = self._next_identify_at()
        while not self._all.waiters.is_closed:
            self._place.seat.begin_look()
            self._news.spread(self._own.values())
            now = loop.time()
            if self._place.seat.take_doubt() or self._identify_at <= now:
                self._known.forget()
                await self._identify()
            due = [one for one in self._news.waiting if one.due_at <= now]
            for one in due:
                await self._all.pace.step()
                # Before the look: what changes meanwhile is told once more.
                audience = self._news.take(one)
                if audience is not None and await self._may_be_told(one, audience):
                    one.due_at = loop.time() + self._all.told_every_s
                    yield one.uri
            if not due:
                next_at = min([self._identify_at, *(one.due_at for one in self._news.waiting)])
                await self._place.seat.woken(next_at - loop.time())

    def _next_identify_at(self) -> float:
        """Never, where nothing but the rights of agents decides: a change of those raises a doubt."""
        is_asked = self._reader is not None and may_end_untold(self._reader, self._place.holder)
        if is_asked or any(one.may_end_untold for one in self._own.values() if one.followed is not None):
            return asyncio.get_running_loop().time() + self._all.identify_every_s
        return math.inf

    async def _may_be_told(self, one: Subscription, audience: ChangeReaders) -> bool:
        may_know = await self._may_know(one, audience)
        own = self._own.get(one.uri)
        if own is not None and own is not one:
            # Subscribed to anew while it was looked at: what was taken is that one's to be told.
            self._news.put(own, audience)
        return may_know and own is one

    async def _may_know(self, one: Subscription, audience: ChangeReaders) -> bool:
        try:
            watched = await self._seen(one, one.credentials)
            theirs = watched
            if self._reader is not None and self._reader != one.credentials:
                theirs = await self._seen(one, self._reader)
        except AgentMailError:
            if self._own.get(one.uri) is one:
                one.due_at = asyncio.get_running_loop().time() + self._all.look_again_s
                self._news.put(one, audience)
            return False
        if self._own.get(one.uri) is not one:
            return False
        if watched is None or theirs is None:
            await self._identify()
        if watched != one.watched:
            self._news.refuse(one)
            self._place.unfollow(one)
            return False
        # What this reader may not know may be told to another, who opens the stream after it.
        return (
            theirs is not None
            and shows_same(watched, theirs)
            and (audience is ChangeReaders.ALL or theirs.reader == watched.reader)
        )

    async def _identify(self) -> None:
        """Raise what ends the stream of whoever opened it, and let nobody listen by a subscription that is not the
        agent's any more.
        """
        self._identify_at = self._next_identify_at()
        try:
            for one in [one for one in self._own.values() if one.followed is not None]:
                await self._all.pace.step()
                if await self._seen(one, one.credentials) != one.watched:
                    self._place.unfollow(one)
            if self._reader is not None:
                await self._all.pace.step()
                await self._all.readers.require(self._reader, self._place.holder)
        except UNREADABLE:
            raise
        except AgentMailError:
            # A store that is sick revokes nothing.
            self._identify_at = asyncio.get_running_loop().time() + self._all.look_again_s

    async def _seen(self, one: Subscription, credentials: Credentials) -> Watched | None:
        return await self._known.seen(one.uri, one.named, one.watched, credentials)
