"""One history: people, their clients, what is true of them, and the one way in which a client calls."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.ladder.doors import DOORS, Door, Person, result_of
from tests.ladder.tally import Tally
from tests.ladder.truth import Truth
from tests.ladder.wire import Answer, Pending, Wire
from tests.ladder.witness import Witness

BLUE, RED, GREEN, FOX = "BlueLake", "RedStone", "GreenField", "QuietFox"
CUT_BELOW_BYTES = 1_500
OK = 200
MAY_CUT = 0.35
WAYS = ("closed", "reset", "closed by the kernel", "reset by the kernel", "stalled", "killed")
"""How an answer is cut. The client closes or resets its connection, its kernel having taken all of it, or so much as is
read; or it goes on reading later; or the server is killed.
"""


class Server(Protocol):
    """What a history is played against. `now` is its clock, in microseconds; `latest` the latest that it ever was."""

    witness: Witness | None

    @property
    def now(self) -> int: ...

    @property
    def latest(self) -> int: ...

    @property
    def port(self) -> int: ...

    async def settle(self) -> None:
        """What evidence there is stands in the store afterwards, where that can be had."""

    async def shift_clock(self, seconds: float) -> None:
        """Forward or back."""

    async def strike(self) -> None:
        """Kill it, where it can be killed, and start it again."""


@dataclass(slots=True, eq=False)
class Stalled:
    """An answer that the kernel has not taken whole, on a connection of its own by now."""

    door: Door
    pending: Pending


@dataclass(slots=True)
class History:
    server: Server
    people: dict[str, Person]
    chance: random.Random
    tally: Tally
    name: str
    product: str = ""
    truth: Truth = field(default_factory=Truth)
    faults: list[str] = field(default_factory=list)
    doors: list[Door] = field(default_factory=list)
    wires: dict[Door, Wire] = field(default_factory=dict)
    stalled: list[Stalled] = field(default_factory=list)
    superseded: dict[int, int] = field(default_factory=dict)
    trail: list[str] = field(default_factory=list)
    """What was done, for whoever looks for the reason of a fault."""
    keys: int = 0

    def person_of(self, address: str) -> Person | None:
        return self.people.get(address.partition("@")[0])

    async def new_door(self, name: str, kind: str | None = None) -> Door:
        door = Door(self.people[name], kind or self.chance.choice(DOORS), self.chance.random() < 0.5)
        if door.kind == "session":
            await self.begin_session(door)
        self.doors.append(door)
        return door

    async def begin_session(self, door: Door) -> None:
        door.session_id = None
        answer = await (await (await self.wire(door)).ask(door.hello())).read()
        assert answer is not None, "a session is opened"
        door.session_id = answer.headers["mcp-session-id"]

    def door_of(self, name: str) -> Door:
        return self.chance.choice([door for door in self.doors if door.person.name == name])

    async def wire(self, door: Door) -> Wire:
        wire = self.wires.get(door)
        if wire is None or wire.lost:
            wire = self.wires[door] = await Wire.open(self.server.port, self.server.witness)
        return wire

    async def begin(
        self, door: Door, request: bytes, *, gives: bool, acts: bool = True, room: int | None = None, as_: str = ""
    ) -> Pending:
        """Ask, and read nothing yet. `gives`: the answer may have mail for its agent in it."""
        wire = await self.wire(door)
        person = self.people[as_ or door.person.name]
        self.truth.look()
        if acts:
            self.truth.calls(person.name, person.project, door.proof)
        if wire.taken is not None:
            wire.taken.room = room
        pending = await wire.ask(request)
        self.trail.append(f"{person.name} {door.proof} {wire.name} {request[:60]!r} room={room} gives={gives}")
        if gives:
            self.truth.gives(person.name, door.proof, pending)
        return pending

    async def call(
        self, door: Door, tool: str, *, gives: bool = False, cuts: bool = False, as_: str = "", **arguments: Any
    ) -> Any:
        """A tool's result; None if it refused, or its answer was cut. `as_`: whom the client says to be instead."""
        given = {"project_key": self.people[as_ or door.person.name].project, **arguments}
        request = door.call(tool, {key: value for key, value in given.items() if value is not None})
        self.tally.done[door.kind] += 1
        return await self.exchange(door, request, gives=gives, cuts=cuts, as_=as_)

    async def exchange(
        self, door: Door, request: bytes, *, gives: bool, cuts: bool = False, acts: bool = True, as_: str = ""
    ) -> Any:
        if cuts and self.chance.random() < MAY_CUT:
            return await self.cut(door, request, gives=gives, acts=acts, as_=as_)
        pending = await self.begin(door, request, gives=gives, acts=acts, as_=as_)
        return self.heard(door, await pending.read(), acts=acts, as_=as_)

    def heard(self, door: Door, answer: Answer | None, *, acts: bool = True, as_: str = "") -> Any:
        self.truth.look()
        if answer is None:
            return None
        person = self.people[as_ or door.person.name]
        self.trail.append(f"  heard {answer.status} {answer.value!r:.150}")
        result = result_of(answer)
        if acts and result is not None:
            self.truth.acted(person.name, person.project, door.proof)
        if result is None:
            self.tally.done["refused"] += 1
        return result

    async def cut(self, door: Door, request: bytes, *, gives: bool, acts: bool = True, as_: str = "") -> Any:
        """Read to some byte, then leave in some way; or stop reading for now."""
        at = self.chance.randrange(CUT_BELOW_BYTES) if self.chance.random() < 0.8 else self.chance.randrange(40)
        return await self.cut_at(door, request, at, self.chance.choice(WAYS), gives=gives, acts=acts, as_=as_)

    async def cut_at(
        self, door: Door, request: bytes, at: int, way: str, *, gives: bool, acts: bool = True, as_: str = ""
    ) -> Any:
        """In one of the WAYS; the result if the answer ends before that byte."""
        room = at if way.endswith("kernel") or way == "stalled" else None
        pending = await self.begin(door, request, gives=gives, acts=acts, room=room, as_=as_)
        if way == "killed":
            return await self._die_at(door, pending, at, acts=acts, as_=as_)
        answer = await pending.read(at)
        if answer is not None:
            self.tally.done["cut behind its end"] += 1
            if pending.wire.taken is not None:
                pending.wire.taken.room = None
            return self.heard(door, answer, acts=acts, as_=as_)
        if gives:
            self.tally.cut_at.add(at)
        self.tally.done[f"cut: {way}"] += 1
        self.trail.append(f"  cut at {at}: {way}, {len(pending.data)} read")
        if way == "stalled":
            del self.wires[door]
            self.stalled.append(Stalled(door, pending))
            return None
        if self.chance.random() < 0.5:
            await self.look_round()
        self.truth.look()
        pending.wire.close(resets=way.startswith("reset"))
        return None

    async def _die_at(self, door: Door, pending: Pending, at: int, *, acts: bool, as_: str) -> Any:
        """The server dies when so much has been read of it; what it had sent by then is read all the same."""
        await pending.read(at)
        await self.server.strike()
        # What had left the process by then is still to be read, whatever became of it.
        answer = await pending.read()
        self.forget_connections()
        self.tally.done["answers killed"] += answer is None
        return self.heard(door, answer, acts=acts, as_=as_)

    async def be_struck(self) -> None:
        """The server dies while it answers, or between two answers."""
        door = self.door_of(self.chance.choice((RED, GREEN)))
        given = {"project_key": door.person.project, "agent_name": door.person.name}
        request = door.call("fetch_inbox", {**given, "include_bodies": True})
        if self.chance.random() < 0.3:
            await self.exchange(door, request, gives=True)
            await self.server.strike()
            self.forget_connections()
        else:
            await self.cut_at(door, request, self.chance.randrange(CUT_BELOW_BYTES), "killed", gives=True)

    def forget_connections(self) -> None:
        """None of them has outlived the server."""
        if self.server.witness is None:
            self.truth.restarted()
        for wire in self.wires.values():
            wire.close()

    async def go_on_reading(self) -> None:
        """One of the answers that were left: the kernel takes the rest of it, and its client reads it."""
        if not self.stalled:
            return
        one = self.stalled.pop(self.chance.randrange(len(self.stalled)))
        if one.pending.wire.taken is not None:
            one.pending.wire.taken.room = None
        self.heard(one.door, await one.pending.read())
        one.pending.wire.close()
        self.tally.done["read late"] += 1

    async def look_round(self) -> None:
        """A whole exchange with the server, by nobody."""
        from tests.ladder.wire import request_bytes

        wire = await Wire.open(self.server.port, self.server.witness)
        await (await wire.ask(request_bytes("GET", "/health/liveness"))).read()
        wire.close()

    def key(self) -> str:
        self.keys += 1
        return f"{self.name}-{self.keys}"

    def close(self) -> None:
        for wire in [*self.wires.values(), *(one.pending.wire for one in self.stalled)]:
            wire.close()


Take = Callable[[History], Awaitable[None]]
