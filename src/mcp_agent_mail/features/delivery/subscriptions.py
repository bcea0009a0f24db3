"""Who is told that a resource has changed: the subscriptions of this process, by stream.

A stream is a connection's, or a session's that may have one open or not. It says that a URI has changed and nothing
else, to whoever may still read it. All of it lives on the event loop and in memory, and hangs on the bus of copies
alone: no thread, no poll. It knows no protocol. (docs/adr/0154)
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from mcp_agent_mail.core.errors import AgentMailError, AuthenticationRequired, InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.copy_changes import CopyChange, Watched, WatchedKey, concerns, keys_of
from mcp_agent_mail.features.delivery.waiters import NoPlaceToWait, Waiters
from mcp_agent_mail.notify.bus import CopyBus
from mcp_agent_mail.store.database import Store

URIS_EACH = 100
"""Of one stream."""
MAX_SUBSCRIPTIONS = 20_000
"""Of all streams together, sessions without an open one included: some 2 KiB each."""
TOLD_EVERY_S = 0.5
"""What changes more often is told once for all of it; the last change always."""
LOOK_AGAIN_S = 5.0
"""When it could not be asked whether the reader may still read."""
_SILENCE_S = 3_600.0
_RETRY_AFTER_S = 5

_UNREADABLE = (NotFound, PermissionDenied, AuthenticationRequired, InvalidInput)
"""As reading it would be refused."""


class TooManyUris(InvalidInput):
    """A stream tells of URIS_EACH resources at most."""


class Subscription:
    """One URI of one stream. `due_at` is by the loop's clock: before, nothing is told of it."""

    __slots__ = ("credentials", "due_at", "stream", "uri", "watched")

    def __init__(self, uri: str, credentials: Credentials, watched: Watched, stream: ResourceStream) -> None:
        self.uri = uri
        self.credentials = credentials
        self.watched = watched
        self.stream = stream
        self.due_at = 0.0


class Subscriptions:
    """`watchable` answers each URI with what is watched there. `settle` returns when every commit that was begun before
    has been told, or can be read. Nothing is asked of the bus, and nobody who writes pays, before somebody subscribes.
    """

    def __init__(
        self,
        store: Store,
        bus: CopyBus,
        waiters: Waiters,
        settle: Callable[[], Awaitable[None]],
        *,
        limit: int = MAX_SUBSCRIPTIONS,
        told_every_s: float = TOLD_EVERY_S,
        look_again_s: float = LOOK_AGAIN_S,
    ) -> None:
        self.waiters = waiters
        self.told_every_s = told_every_s
        self.look_again_s = look_again_s
        self.watchable = ResourceTable([])
        self._store = store
        self._bus = bus
        self._settle = settle
        self._limit = limit
        self._by_key: dict[WatchedKey, dict[Subscription, None]] = {}
        self._count = 0
        self._is_subscribed = False
        self._hears_all = False

    @property
    def count(self) -> int:
        """Of all streams together."""
        return self._count

    def stream(self) -> ResourceStream:
        """A new one, without subscriptions, not open."""
        return ResourceStream(self)

    async def watched(self, uri: str, credentials: Credentials) -> Watched:
        """What the URI shows to whoever has these credentials. Raises what reading it raises, and NotWatchable."""
        found: Watched = await self.watchable.read(uri, credentials)
        return found

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
        """Raises NoPlaceToWait beyond the limit."""
        if self._count >= self._limit:
            raise NoPlaceToWait(
                f"{self._count} resources are subscribed to already.",
                retry_after_s=_RETRY_AFTER_S,
                first="Read the resource instead.",
                data={"subscriptions": self._count, "limit": self._limit},
            )
        self._count += 1
        self._by_key.setdefault(subscription.watched.key, {})[subscription] = None

    def remove(self, subscription: Subscription) -> None:
        """Of one that was added, once."""
        self._count -= 1
        key = subscription.watched.key
        watching = self._by_key[key]
        del watching[subscription]
        if not watching:
            del self._by_key[key]

    def _tell(self, changes: frozenset[CopyChange]) -> None:
        for change in changes:
            for key in keys_of(change):
                for subscription in self._by_key.get(key, ()):
                    if self._concerns(change, subscription.watched):
                        subscription.stream.note(subscription)

    def _concerns(self, change: CopyChange, watched: Watched) -> bool:
        decided = concerns(change, watched)
        if decided is not None:
            return decided
        project_id = watched.project_id
        assert project_id is not None, "a thread is one project's"
        return self._store.read_now(lambda view: view.messages.is_open_to(change.message_id, project_id))


class ResourceStream:
    """The subscriptions of one connection, or of one session, and what of it is still to be told: a URI at most once.

    While it is open and has a subscription it has a place among those who wait, and the agents whose inboxes it tells
    of, to themselves, are listening.
    """

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._all = subscriptions
        self._own: dict[str, Subscription] = {}
        self._changed: dict[Subscription, None] = {}
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
        watched = await self._all.watched(uri, credentials)
        if uri not in self._own and len(self._own) >= URIS_EACH:
            raise TooManyUris(
                f"{URIS_EACH} resources are subscribed to on this connection already.",
                hint="Unsubscribe from some, or open another connection: an inbox tells of all mail of its agent.",
                data={"limit": URIS_EACH},
            )
        before = self._own.get(uri)
        if before is not None and (before.watched, before.credentials) == (watched, credentials):
            return
        self._add(Subscription(uri, credentials, watched, self))

    def _add(self, subscription: Subscription) -> None:
        """In the place of one with the same URI, which nothing is taken from if this one is refused."""
        before = self._own.get(subscription.uri)
        self._all.add(subscription)
        try:
            if self._is_open:
                self._all.waiters.seat(self._seat)
                self._follow(subscription)
        except AgentMailError:
            self._all.remove(subscription)
            if not self._own:
                self._leave_place()
            raise
        self._own[subscription.uri] = subscription
        if before is not None:
            subscription.due_at = before.due_at
            if before in self._changed:
                self.note(subscription)
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
        if self._is_open:
            self._unfollow(subscription)

    @contextmanager
    def opened(self, *, always_seated: bool = False, reader: Credentials | None = None) -> Iterator[None]:
        """What has changed can be told for the time of the block. Raises NoPlaceToWait and WaitingEnds.

        `reader` is who opened it, where that need not be who subscribed: then both must be able to read what is told.
        `always_seated`: it holds its connection for this alone, whether it has subscriptions or not.
        """
        self._is_always_seated = always_seated
        self._reader = None if reader is None else _lasting(reader)
        self._all.waiters.require_open()
        if self._own or always_seated:
            self._all.waiters.seat(self._seat)
        self._is_open = True
        try:
            for subscription in self._own.values():
                self._follow(subscription)
            yield
        finally:
            self._is_open = False
            for agent_id in self._followed:
                self._all.waiters.unfollow(agent_id)
            self._followed.clear()
            self._all.waiters.free(self._seat)

    def _leave_place(self) -> None:
        if not self._is_always_seated:
            self._all.waiters.free(self._seat)

    def _follow(self, subscription: Subscription) -> None:
        listener = subscription.watched.listener
        if listener is None:
            return
        if not self._followed[listener]:
            self._all.waiters.follow(listener)
        self._followed[listener] += 1

    def _unfollow(self, subscription: Subscription) -> None:
        listener = subscription.watched.listener
        if listener is None or not self._followed[listener]:
            return
        self._followed[listener] -= 1
        if not self._followed[listener]:
            del self._followed[listener]
            self._all.waiters.unfollow(listener)

    def note(self, subscription: Subscription) -> None:
        """It has changed, and is told when its time has come and the stream is open."""
        self._changed[subscription] = None
        self._seat.wake()

    async def changes(self) -> AsyncIterator[str]:
        """URIs that have changed, as they do, while the stream is open: each at most every TOLD_EVERY_S, and only to
        whoever may read it at that moment. Ends at a stop of the server.
        """
        loop = asyncio.get_running_loop()
        while not self._all.waiters.is_closed:
            self._seat.begin_look()
            now = loop.time()
            due = [one for one in self._changed if one.due_at <= now]
            for one in due:
                # Before the look: what changes meanwhile is told once more.
                if one not in self._changed:
                    continue
                del self._changed[one]
                if await self._may_be_told(one):
                    one.due_at = loop.time() + self._all.told_every_s
                    yield one.uri
            if not due:
                next_at = min((one.due_at for one in self._changed), default=now + _SILENCE_S)
                await self._seat.woken(next_at - loop.time())

    async def _may_be_told(self, one: Subscription) -> bool:
        try:
            watched = await self._all.watched(one.uri, one.credentials)
            if self._reader is not None and self._reader != one.credentials:
                await self._all.watched(one.uri, self._reader)
        except _UNREADABLE:
            return False
        except AgentMailError:
            if self._own.get(one.uri) is one:
                one.due_at = asyncio.get_running_loop().time() + self._all.look_again_s
                self._changed[one] = None
            return False
        return watched == one.watched and self._own.get(one.uri) is one


def _lasting(credentials: Credentials) -> Credentials:
    """Without the connection and the session that they came by: what a session has got is no business of a
    subscription's, which must not keep it either.
    """
    return replace(credentials, session=None, origin=None)
