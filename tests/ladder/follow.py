"""Clients that follow an agent's mail: by waits, by a stream, by pages of its feed. Whatever breaks, each goes on from
the last cursor that it has whole, and has everything in the end, once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tests.ladder.doors import Door
from tests.ladder.history import History
from tests.ladder.sse import SseReader
from tests.ladder.truth import ACKED, ANSWERED, EXPIRED, RANKS, READ, WITHDRAWN
from tests.ladder.wire import Pending, Wire, request_bytes

_WAIT_S = 50
_FEW_EVENTS = 3
_STANDING = ("delivered", "handed_over", "shown", "read", "acknowledged", "answered")
assert set(_STANDING) <= set(RANKS)
Event = tuple[int, str, int]


@dataclass(slots=True)
class Waiting:
    """`received` are the messages of answers that came whole."""

    door: Door
    cursor: int = 0
    pending: Pending | None = None
    received: list[int] = field(default_factory=list)

    async def step(self, history: History) -> None:
        if self.pending is None or self.pending.wire.lost:
            await self._begin(history)
        elif self.pending.is_there():
            at = history.chance.choice((None, None, history.chance.randrange(1_500)))
            await self._read(history, at)
        elif history.chance.random() < 0.5:
            history.tally.done["waits broken"] += 1
            self._leave(history)

    async def end(self, history: History, last: int) -> None:
        while last not in self.received:
            if self.pending is None or self.pending.wire.lost:
                await self._begin(history)
            await self._read(history, None)

    async def _begin(self, history: History) -> None:
        person = self.door.person
        given = {"project_key": person.project, "agent_name": person.name, "timeout_s": _WAIT_S}
        request = self.door.call("wait_for_messages", {**given, "after_cursor": self.cursor})
        self.pending = await history.begin(self.door, request, gives=True)
        history.tally.done["waits"] += 1

    async def _read(self, history: History, at: int | None) -> None:
        assert self.pending is not None
        answer = await self.pending.read(at)
        if answer is None:
            history.tally.done["waits cut"] += 1
            self._leave(history)
            return
        self.pending = None
        if (result := history.heard(self.door, answer)) is not None:
            self.received += [one["id"] for one in result["messages"]]
            self.cursor = result["next_cursor"]

    def _leave(self, history: History) -> None:
        assert self.pending is not None
        history.truth.look()
        self.pending.wire.close(resets=history.chance.random() < 0.5)
        self.pending = None

    def faults(self, history: History) -> list[str]:
        name = self.door.person.name
        # What is read and then withdrawn stays in the inbox, and is waited for no more; nor is what had expired before
        # it was answered.
        copies = [copy for copy in history.truth.of(name) if not {WITHDRAWN, EXPIRED} & set(copy.seen)]
        standing = [copy.message_id for copy in copies if copy.status in _STANDING]
        lost = [f"{name} has waited for message {one} and missed it" for one in standing if one not in self.received]
        twice = {one for one in self.received if self.received.count(one) > 1}
        return [*lost, *(f"{name} got message {one} of two cursors" for one in twice)]


@dataclass(slots=True)
class Streaming:
    door: Door
    wire: Wire | None = None
    reader: SseReader = field(default_factory=SseReader)
    last_id: str | None = None
    events: list[Event] = field(default_factory=list)

    async def step(self, history: History) -> None:
        if self.wire is None or self.wire.lost:
            await self._open(history)
        else:
            self._take(self.wire.read_now(history.chance.randrange(1, 700)))
            if history.chance.random() < 0.4:
                history.tally.done["streams cut"] += 1
                self.wire.close(resets=history.chance.random() < 0.5)

    async def end(self, history: History, last: int) -> None:
        while ("delivered", last) not in {(event, number) for _, event, number in self.events}:
            if self.wire is None or self.wire.lost:
                await self._open(history)
            assert self.wire is not None
            self._take(await self.wire.read_next())
        assert self.wire is not None
        self.wire.close()

    async def _open(self, history: History) -> None:
        person = self.door.person
        query = urlencode({"project_key": person.project, "agent_name": person.name, "after": 0})
        headers = {**self.door.headers, **({} if self.last_id is None else {"Last-Event-ID": self.last_id})}
        request = request_bytes("GET", f"/rest/v1/events?{query}", headers=headers)
        self.wire = (await history.begin(self.door, request, gives=False)).wire
        self.reader = SseReader()
        history.tally.done["streams"] += 1

    def _take(self, data: bytes) -> None:
        for one in self.reader.feed(data):
            self.last_id = one.id or self.last_id
            if one.data is not None:
                self.events.append((int(one.id), one.data["event"], one.data["message_id"]))


@dataclass(slots=True)
class Paging:
    door: Door
    cursor: int = 0
    events: list[Event] = field(default_factory=list)

    async def step(self, history: History) -> None:
        name = self.door.person.name
        given: dict[str, Any] = {"agent_name": name, "after": self.cursor, "limit": _FEW_EVENTS}
        page = await history.call(self.door, "fetch_inbox_events", cuts=True, **given)
        history.tally.done["pages of feeds"] += 1
        if page is not None:
            self.events += events_of(page)
            self.cursor = page["next_cursor"]

    async def end(self, history: History, last: int) -> None:
        while ("delivered", last) not in {(event, number) for _, event, number in self.events}:
            await self.step(history)


Follower = Waiting | Streaming | Paging


def events_of(page: Any) -> list[Event]:
    return [(one["cursor"], one["event"], one["message_id"]) for one in page["events"]]


async def followed_wrongly(history: History, follower: Streaming | Paging) -> list[str]:
    """Beside what the feed says when it is read from its beginning, with the same proof: a sender at its word is told
    nothing of blind copies.
    """
    door = Door(follower.door.person, "rpc", by_token=follower.door.by_token)
    name = door.person.name
    page = await history.call(door, "fetch_inbox_events", agent_name=name, after=0, limit=1_000)
    until = follower.events[-1][0]
    whole = [event for event in events_of(page) if event[0] <= until]
    how = type(follower).__name__
    return [] if follower.events == whole else [f"{name} got by {how} {follower.events}, and the feed has {whole}"]


async def told_wrongly(history: History, name: str) -> list[str]:
    """What a sender's feed says of its copies, beside the truth."""
    door = Door(history.people[name], "rpc", by_token=True)
    page = await history.call(door, "fetch_inbox_events", agent_name=name, after=0, limit=1_000)
    faults: list[str] = []
    told: set[tuple[int, str, str]] = set()
    for one in page["events"]:
        person = history.person_of(one.get("agent", ""))
        if person is None:
            continue
        about = (one["message_id"], person.name, one["event"])
        if about in told:
            faults.append(f"{name} is told twice: {about}")
        if one["event"] == READ and {(*about[:2], ACKED), (*about[:2], ANSWERED)} & told:
            faults.append(f"{name} is told that it was read after what implies it: {about}")
        told.add(about)
        if one["message_id"] not in history.truth.senders:  # What asks for a contact in its name.
            continue
        copy = history.truth.copies.get((one["message_id"], person.name))
        if one["event"] in RANKS and (copy is None or one["event"] not in copy.may | set(copy.seen)):
            faults.append(f"{name} is told of what has not happened: {about}")
    return faults
