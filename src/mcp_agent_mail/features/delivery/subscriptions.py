"""Who is told that a resource has changed: the subscriptions of this process, by stream.

A stream is a connection's, or a session's that may have one open or not. It says that a URI has changed and nothing
else, to whoever may still read it. All of it lives on the event loop and in memory, and hangs on the bus of copies
alone: no thread, no poll. It knows no protocol. (docs/adr/0154)
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

from mcp_agent_mail.core.concurrency.pace import Pace
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, call_as
from mcp_agent_mail.domain.copy_changes import (
    ChangeReaders,
    CopyChange,
    News,
    Watched,
    WatchedKey,
    audience_of,
    keys_of,
    news_of,
    wider,
)
from mcp_agent_mail.domain.identity.caller import Caller, require_proof
from mcp_agent_mail.features.delivery.known_looks import KnownLooks, shows_same
from mcp_agent_mail.features.delivery.subscription_counts import SubscriptionBounds, SubscriptionCounts
from mcp_agent_mail.features.delivery.waiters import Waiters
from mcp_agent_mail.notify.bus import CopyBus
from mcp_agent_mail.store.database import Store

URIS_EACH = 100
"""Of one stream."""
MAX_SUBSCRIPTIONS = SubscriptionBounds()
"""Of all streams together, sessions without an open one included: some 2 KiB each."""
STEPS_A_PASS = 8
"""Looks at rights, and notices, of all streams together before the event loop does something else."""
TOLD_EVERY_S = 0.5
"""What changes more often is told once for all of it; the last change always."""
LOOK_AGAIN_S = 5.0
"""When it could not be asked whether the reader may still read."""
_SILENCE_S = 3_600.0


class TooManyUris(InvalidInput):
    """A stream tells of URIS_EACH resources at most."""


class Subscription:
    """One URI of one stream. `due_at` is by the loop's clock: before, nothing is told of it. `named` is what the URI
    names, without what of it is to be shown. `followed` is the agent that is listening by it.
    """

    __slots__ = ("credentials", "due_at", "followed", "named", "stream", "uri", "watched")

    def __init__(
        self, uri: str, named: tuple[str, ...], credentials: Credentials, watched: Watched, stream: ResourceStream
    ) -> None:
        self.uri = uri
        self.named = named
        self.credentials = credentials
        self.watched = watched
        self.stream = stream
        self.due_at = 0.0
        self.followed: AgentId | None = None


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
        self.watchable = ResourceTable([])
        self.pace = Pace(STEPS_A_PASS)
        self._store = store
        self._bus = bus
        self._settle = settle
        self._identify = identify
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

    async def find_reader(self, credentials: Credentials, *, must_be_proven: bool = False) -> AgentId | None:
        """The agent that is proven to have these credentials. Raises what a call with them raises; TokenMissing where
        nothing is proven and `must_be_proven` under `strict`.
        """
        caller: Caller = await call_as(_lasting(credentials), self._identify, {})
        if must_be_proven:
            require_proof(caller, "Listening")
        return caller.agent_id

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

    def add(self, subscription: Subscription) -> None:
        """Raises NoPlaceToWait beyond what whoever is proven to subscribe may have."""
        watched = subscription.watched
        self._shares.take(watched.reader)
        self._by_key.setdefault(watched.key, {}).setdefault(watched, Counter())[subscription.stream] += 1

    def remove(self, subscription: Subscription) -> None:
        """Of one that was added, once."""
        watched, stream = subscription.watched, subscription.stream
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
        found = self._store.read_now(lambda view: view.messages.open_projects(news.messages, asked))
        return replace(news, projects=news.projects | found)


class ResourceStream:
    """The subscriptions of one connection, or of one session, and what of it is still to be told: a URI at most once.

    While it is open and has a subscription it has a place among those who wait, and the agents whose inboxes it tells
    of, to themselves, are listening.
    """

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._all = subscriptions
        self._own: dict[str, Subscription] = {}
        self._noted: dict[Watched, ChangeReaders] = {}
        """What has changed, and for whom; of which URIs is looked at when it is to be told."""
        self._changed: dict[Subscription, ChangeReaders] = {}
        self._known = KnownLooks(subscriptions.watched)
        self._seat = subscriptions.waiters.unseated_stream()
        self._is_always_seated = False
        self._is_open = False
        self._reader: Credentials | None = None
        self._followed: Counter[AgentId] = Counter()

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
        credentials = _lasting(credentials)
        await self._all.pace.step()
        watched = await self._all.watched(uri, credentials)
        one = Subscription(uri, self._all.named(uri), credentials, watched, self)
        listener = await self._find_listener(one)
        if uri not in self._own and len(self._own) >= URIS_EACH:
            raise TooManyUris(
                f"{URIS_EACH} resources are subscribed to on this connection already.",
                hint="Unsubscribe from some, or open another connection: an inbox tells of all mail of its agent.",
                data={"limit": URIS_EACH},
            )
        before = self._own.get(uri)
        if before is not None and (before.watched, before.credentials) == (watched, credentials):
            return
        self._add(one, listener)

    def _add(self, subscription: Subscription, listener: AgentId | None) -> None:
        """In the place of one with the same URI, which nothing is taken from if this one is refused."""
        before = self._own.get(subscription.uri)
        self._all.add(subscription)
        try:
            if self._is_open:
                self._all.waiters.seat(self._seat)
                self._follow(subscription, listener)
        except AgentMailError:
            self._all.remove(subscription)
            if not self._own:
                self._leave_place()
            raise
        self._spread()
        self._own[subscription.uri] = subscription
        if before is not None:
            subscription.due_at = before.due_at
            if (audience := self._changed.get(before)) is not None:
                self._changed[subscription] = audience
                self._seat.wake()
            self._remove(before)

    def unsubscribe(self, uri: str) -> None:
        """Nothing more is told of the URI. A repeat, or of one that was never subscribed to, does nothing."""
        if (subscription := self._own.pop(uri, None)) is not None:
            self._remove(subscription)
            if not self._own:
                self._leave_place()

    def end(self) -> None:
        """Nothing more is told. A repeat does nothing more."""
        for uri in self.uris:
            self.unsubscribe(uri)

    def _remove(self, subscription: Subscription) -> None:
        self._all.remove(subscription)
        self._changed.pop(subscription, None)
        self._unfollow(subscription)

    @asynccontextmanager
    async def opened(
        self, *, always_seated: bool = False, reader: Credentials | None = None, holder: AgentId | None = None
    ) -> AsyncIterator[None]:
        """What has changed can be told for the time of the block. Of one that is not open. Raises NoPlaceToWait and
        WaitingEnds.

        `reader` is who opened it, where that need not be who subscribed: then both must be able to read what is told.
        `holder` is the agent that is proven to, for which its place counts.
        `always_seated`: it holds its connection for this alone, whether it has subscriptions or not.
        """
        self._all.waiters.require_open()
        self._is_always_seated = always_seated
        self._reader = None if reader is None else _lasting(reader)
        self._seat = self._all.waiters.unseated_stream(holder)
        if self._own or always_seated:
            self._all.waiters.seat(self._seat)
        self._is_open = True
        try:
            for one in list(self._own.values()):
                listener = await self._find_listener(one)
                if self._own.get(one.uri) is one and one.followed is None:
                    self._follow(one, listener)
            yield
        finally:
            self._is_open = False
            for one in self._own.values():
                self._unfollow(one)
            self._reader = None
            self._all.waiters.free(self._seat)

    def _leave_place(self) -> None:
        if not self._is_always_seated:
            self._all.waiters.free(self._seat)

    async def _find_listener(self, one: Subscription) -> AgentId | None:
        """The agent whose own mailbox it is, where that one reads the stream, too."""
        listener, reader = one.watched.listener, self._reader
        if listener is None or reader is None or reader == one.credentials:
            return listener
        await self._all.pace.step()
        try:
            theirs = await self._all.watched(one.uri, reader)
        except AgentMailError:
            return None
        return listener if theirs.listener == listener else None

    def _follow(self, subscription: Subscription, listener: AgentId | None) -> None:
        if listener is None:
            return
        if not self._followed[listener]:
            self._all.waiters.follow(self._seat, listener)
        self._followed[listener] += 1
        subscription.followed = listener

    def _unfollow(self, subscription: Subscription) -> None:
        listener, subscription.followed = subscription.followed, None
        if listener is None:
            return
        self._followed[listener] -= 1
        if not self._followed[listener]:
            del self._followed[listener]
            self._all.waiters.unfollow(self._seat, listener)

    def note(self, watched: Watched, audience: ChangeReaders) -> None:
        """What is watched so has changed, and is told when its time has come and the stream is open."""
        self._noted[watched] = wider(self._noted.get(watched), audience)
        self._known.forget()
        self._seat.wake()

    def _spread(self) -> None:
        """What was noted, over the URIs that show it."""
        if self._noted:
            for one in self._own.values():
                if (audience := self._noted.get(one.watched)) is not None:
                    self._changed[one] = wider(self._changed.get(one), audience)
            self._noted.clear()

    async def changes(self) -> AsyncIterator[str]:
        """URIs that have changed, as they do, while the stream is open: each at most every TOLD_EVERY_S, and only to
        whoever may read it at that moment, by a look that is KNOWN_FOR_S old at most. Ends at a stop of the server.
        """
        loop = asyncio.get_running_loop()
        while not self._all.waiters.is_closed:
            self._seat.begin_look()
            self._spread()
            now = loop.time()
            due = [one for one in self._changed if one.due_at <= now]
            for one in due:
                await self._all.pace.step()
                # Before the look: what changes meanwhile is told once more.
                audience = self._changed.pop(one, None)
                if audience is not None and await self._may_be_told(one, audience):
                    one.due_at = loop.time() + self._all.told_every_s
                    yield one.uri
            if not due:
                next_at = min((one.due_at for one in self._changed), default=now + _SILENCE_S)
                await self._seat.woken(next_at - loop.time())

    async def _may_be_told(self, one: Subscription, audience: ChangeReaders) -> bool:
        try:
            watched = await self._seen(one, one.credentials)
            theirs = watched
            if self._reader is not None and self._reader != one.credentials:
                theirs = await self._seen(one, self._reader)
        except AgentMailError:
            if self._own.get(one.uri) is one:
                one.due_at = asyncio.get_running_loop().time() + self._all.look_again_s
                self._changed[one] = wider(self._changed.get(one), audience)
            return False
        if watched != one.watched or theirs is None or self._own.get(one.uri) is not one:
            return False
        return shows_same(watched, theirs) and (audience is ChangeReaders.ALL or theirs.reader == watched.reader)

    async def _seen(self, one: Subscription, credentials: Credentials) -> Watched | None:
        return await self._known.seen(one.uri, one.named, one.watched, credentials)


def _lasting(credentials: Credentials) -> Credentials:
    """Without the connection and the session that they came by: what a session has got is no business of a
    subscription's, which must not keep it either.
    """
    return replace(credentials, session=None, origin=None)
