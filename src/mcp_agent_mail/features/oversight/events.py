"""What happens in the store, as those hear it who watch over all projects: its kind and numbers, never a text.

The last seen_events are kept in a ring that all streams read from, each from where it has come: no stream has a queue.
Their ids begin with a word of this run of the server, so that whoever comes back after a restart, or from behind the
ring, is told to look at everything anew.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from typing import NamedTuple

from mcp_agent_mail.core.errors import AgentMailError, Busy
from mcp_agent_mail.core.ids import ProjectId, read_number
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.copy_changes import CopyChange, OversightChange
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind
from mcp_agent_mail.domain.identity.readership import READING_MAIL, require_reader
from mcp_agent_mail.notify.bus import CopyBus, OversightBus

MAX_STREAMS = 200
MOST_OF_A_PAYER = 40
"""Whoever opens more takes no place of somebody else's."""
PLACES_FOR_SIGNED_IN = 80
"""Of all these nobody takes one who may only look because anybody may."""
KEPT = 1_024
MOST_OF_A_COMMIT = 64
"""What changes more at once is told as one: look at everything anew."""
SILENCE_S = 15.0
_AGAIN_S = 10


class SeenEventKind(StrEnum):
    """`all`: look at everything anew. `mail` has come into a project, or left it; `receipt` is what else became of a
    message or its copies.
    """

    ALL = "all"
    MAIL = "mail"
    RECEIPT = "receipt"
    CONTACT = "contact"
    LEASE = "lease"
    HELD = "held"
    AGENT = "agent"


class SeenEvent(NamedTuple):
    """`number` is that of the message, contact, lease or agent, zero for all. `is_open`: whoever reads the project, or
    all where there is none, may know.
    """

    kind: SeenEventKind
    number: int = 0
    project_id: ProjectId | None = None
    is_open: bool = True


EVERYTHING = SeenEvent(SeenEventKind.ALL)


class TooManyStreams(Busy):
    """All places are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentEvent:
    """`id` is where whoever has heard it goes on."""

    id: str
    kind: SeenEventKind
    data: JsonObject


class OversightEvents:
    """`run` is a word that no other run of the server has. The buses are asked nothing before the first page."""

    def __init__(
        self, copies: CopyBus, oversight: OversightBus, settle: Callable[[], Awaitable[None]], *, run: str
    ) -> None:
        self._copies = copies
        self._oversight = oversight
        self._settle = settle
        self._run = run
        self._kept: deque[SeenEvent] = deque(maxlen=KEPT)
        self._last = 0
        self._is_connected = False
        self._is_closed = False
        self._streams: set[EventStream] = set()

    async def open(
        self, caller: Caller, after: str = "", *, payer: str | None = None, is_signed_in: bool = False
    ) -> EventStream:
        """A stream for whoever may read mail, with a place until its `close`: from now on, or behind the event `after`.
        `payer` is whose share of the places it takes, None for nobody's. Raises TooManyStreams.
        """
        require_reader(caller, READING_MAIL)
        may_stay = is_signed_in or caller.is_operator
        if (refusal := self._refusal(payer, may_stay)) is not None:
            raise TooManyStreams(refusal, retry_after_s=_AGAIN_S, otherwise=", or reload the page to see what is new")
        stream = EventStream(self, caller, self._place_of(after), payer=payer, is_signed_in=may_stay)
        self._streams.add(stream)
        try:
            await self._connect()
        except BaseException:
            stream.close()
            raise
        return stream

    async def newest_id(self) -> str:
        """Of the last event: a stream that goes on behind it tells of all that is committed from now on. Where nothing
        can be committed just now, there is nothing to miss.
        """
        if not self._is_connected:
            with suppress(AgentMailError):
                await self._connect()
        return self.id_of(self._last)

    async def _connect(self) -> None:
        """What is committed after this is sure to be heard of."""
        if not self._is_connected:
            self._is_connected = True
            self._copies.subscribe(self._copies_changed)
            self._oversight.subscribe(self._oversight_changed)
        await self._settle()

    def _refusal(self, payer: str | None, is_signed_in: bool) -> str | None:
        """Why there is no place, if there is none."""
        if self._is_closed:
            return "The server is about to stop."
        if payer is not None and sum(one.payer == payer for one in self._streams) >= MOST_OF_A_PAYER:
            return f"{MOST_OF_A_PAYER} browsers of one address or token are told of what happens, as many as may be."
        others = sum(not one.is_signed_in for one in self._streams)
        is_full = len(self._streams) >= MAX_STREAMS
        if is_full or (not is_signed_in and others >= MAX_STREAMS - PLACES_FOR_SIGNED_IN):
            return f"{len(self._streams)} browsers are told of what happens, as many as may be."
        return None

    @property
    def count(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    def close(self) -> None:
        """The server stops: every stream ends."""
        self._is_closed = True
        for stream in list(self._streams):
            stream.leave()

    def id_of(self, place: int) -> str:
        return f"{self._run}-{place}"

    def after(self, place: int) -> list[tuple[int, SeenEvent]]:
        """What has happened behind this place, each with its own."""
        oldest = self._last - len(self._kept)
        if not oldest <= place <= self._last:
            return [(self._last, EVERYTHING)]
        return [(at + 1, self._kept[at - oldest]) for at in range(place, self._last)]

    def forget(self, stream: EventStream) -> None:
        """Its place is free."""
        self._streams.discard(stream)

    def _place_of(self, after: str) -> int:
        """Of an id of another run, or of none, a place that is not kept."""
        if not after:
            return self._last
        run, _, number = after.rpartition("-")
        place = read_number(number) if run == self._run else None
        return -1 if place is None else place

    def _copies_changed(self, changes: frozenset[CopyChange]) -> None:
        self._note({_of_copy(change) for change in changes})

    def _oversight_changed(self, changes: frozenset[OversightChange]) -> None:
        self._note({SeenEvent(SeenEventKind(one.kind), one.number, one.project_id) for one in changes})

    def _note(self, seen_events: set[SeenEvent]) -> None:
        told: Iterable[SeenEvent] = [EVERYTHING]
        if len(seen_events) <= MOST_OF_A_COMMIT:
            told = sorted(seen_events, key=lambda one: (one.kind, one.number, one.project_id or 0, one.is_open))
        for one in told:
            self._kept.append(one)
            self._last += 1
        for stream in list(self._streams):
            stream.wake()


class EventStream:
    """Of one browser: it reads the ring from its own place on."""

    def __init__(
        self, events: OversightEvents, caller: Caller, place: int, *, payer: str | None, is_signed_in: bool
    ) -> None:
        self.payer = payer
        self.is_signed_in = is_signed_in
        self._events = events
        self._caller = caller
        self._place = place
        self._woken = asyncio.Event()
        self._has_left = False

    def wake(self) -> None:
        self._woken.set()

    def leave(self) -> None:
        """Nobody listens any more, or nobody may: `pages` ends."""
        self._has_left = True
        self._woken.set()

    def close(self) -> None:
        """A repeat does nothing more."""
        self.leave()
        self._events.forget(self)

    @property
    def id(self) -> str:
        """Where it has come."""
        return self._events.id_of(max(self._place, 0))

    async def pages(
        self, identify: Callable[[], Awaitable[Caller]], *, silence_s: float = SILENCE_S
    ) -> AsyncIterator[list[SentEvent]]:
        """What happens, as it happens; nothing after each `silence_s` without. Then who listens is asked again, and
        whoever may not read any more hears no more.
        """
        while not self._has_left:
            self._woken.clear()
            happened = self._events.after(self._place)
            if happened:
                self._place = happened[-1][0]
            if told := [self._told(*one) for one in happened if _may_know(self._caller, one[1])]:
                yield told
                continue
            try:
                async with asyncio.timeout(silence_s):
                    await self._woken.wait()
            except TimeoutError:
                try:
                    self._caller = await identify()
                    require_reader(self._caller, READING_MAIL)
                except AgentMailError:
                    return
                yield []

    def _told(self, place: int, one: SeenEvent) -> SentEvent:
        data: JsonObject = {"kind": one.kind.value}
        if one.number:
            data["id"] = one.number
        if one.project_id is not None:
            data["project_id"] = one.project_id
        return SentEvent(id=self._events.id_of(place), kind=one.kind, data=data)


def _of_copy(change: CopyChange) -> SeenEvent:
    kind = SeenEventKind.RECEIPT if change.project_id is None else SeenEventKind.MAIL
    return SeenEvent(kind, change.message_id, change.project_id, change.is_open)


def _may_know(caller: Caller, one: SeenEvent) -> bool:
    """The operator all. Others nothing of blind copies and held mail; an agent what is of its project, or linked to
    it.
    """
    if caller.is_operator or one.kind is SeenEventKind.ALL:
        return True
    if not one.is_open or one.kind is SeenEventKind.HELD:
        return False
    if caller.kind is CallerKind.AGENT and caller.project_id is not None:
        return one.project_id == caller.project_id or one.project_id in caller.linked_projects
    return True
