"""Histories of agents that reserve, repeat, hang up, take calls back and are killed with their server: made from a
seed, played over the real service and store, and held to what every agent was told.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import SECOND
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import ToolTable
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.staleness import StalenessRules
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.reservations.service import ReservationService
from mcp_agent_mail.features.reservations.staleness import Staleness
from mcp_agent_mail.features.reservations.tools import reservation_tools
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.writer import Unit
from mcp_agent_mail.store.lease_events import sweep_expired
from mcp_agent_mail.store.transaction import Tx
from mcp_agent_mail.workspace.facts import Workspaces
from tests.features.messaging.harness import NOBODY, Identities
from tests.features.reservations.hearings import Deaf
from tests.seeded_store import SetClock, add_agent, add_project

AGENTS = ("BlueLake", "RedStone", "GreenField")
WANTED = (["a"], ["b"], ["a", "b"], ["*"])
"""Any two of the same path, or of a path and `*`, overlap."""
OF_A_STORE = 100
"""Histories that are played in one store, one after the other, each in a project of its own."""


class Shop:
    """A server's part that reserves, in process; `kill` and what comes after is a new one over the same store."""

    def __init__(self, path: Path, clock: SetClock) -> None:
        self._path = path
        self.clock = clock

    async def open(self) -> None:
        self.store = await Store(self._path, clock=self.clock).__aenter__()
        self._activity = Activity(self.store, clock=self.clock)
        workspaces = Workspaces(clock=self.clock)
        rules = StalenessRules(inactivity_s=1_800, grace_s=900)
        staleness = Staleness(self._activity, workspaces, rules=rules, watched_since=self.clock.now)
        self.service = ReservationService(
            self.store, workspaces, staleness, note_activity=lambda _agent: None, clock=self.clock
        )
        self.tools = ToolTable(reservation_tools(self.service, Identities(self.store).caller))

    async def close(self) -> None:
        self.service.wake()
        await self.store.__aexit__(None, None, None)

    def deafen(self) -> None:
        """What is undone from now on is not: nobody is there to do it."""
        self.store.write_soon = _drop  # type: ignore[method-assign]

    async def settle(self) -> None:
        for _ in range(3):
            await self.store.write(lambda tx: tx.now)


def _drop(unit: Unit[object], stored: object = None) -> None:
    """As a server that is no more."""


@dataclass(eq=False, kw_only=True)
class Call:
    """One reservation under way, or answered and not heard yet."""

    agent: str
    hearing: Deaf
    task: asyncio.Task[Any]
    releases_before: int
    number: int


@dataclass(frozen=True, kw_only=True)
class Belief:
    """What an agent was told and nothing has told it otherwise."""

    agent: str
    lease_id: int
    fencing: int
    path: str
    exclusive: bool
    until: int


@dataclass(kw_only=True)
class History:
    shop: Shop
    project: Project
    random: random.Random
    calls: list[Call] = field(default_factory=list)
    beliefs: list[Belief] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    releases: Counter[str] = field(default_factory=Counter)
    shared_by: Counter[tuple[str, str]] = field(default_factory=Counter)
    begun: int = 0
    faults: list[str] = field(default_factory=list)
    was_killed: bool = False

    async def play(self, steps: int) -> list[str]:
        ways = [self.reserve, self.reserve, self.repeat_in_the_moment, self.leave, self.leave, self.hear, self.hear]
        ways += [self.cancel, self.cancel_in_its_unit, self.release, self.let_time_pass, self.renew]
        for _ in range(steps):
            if self.random.random() < 0.01:
                await self.kill()
            else:
                await self.random.choice(ways)()
            for _ in range(self.random.choice((0, 1, 3))):
                await asyncio.sleep(0)
            self.look()
        await self.end()
        return self.faults

    # --- what may happen ---

    async def reserve(self) -> None:
        self.begin(self.random.choice(AGENTS))
        if self.random.random() < 0.5:
            # Its answer, or its place in the line.
            await asyncio.to_thread(threading.get_ident)
            await self.shop.settle()

    def number_of(self, agent: str, arguments: Mapping[str, Any]) -> int:
        """Of the next call. Who asks to share what it has alone gives that up, heard or not."""
        self.begun += 1
        for path in () if arguments["exclusive"] else arguments["paths"]:
            self.shared_by[agent, path] = self.begun
            self.beliefs = [
                replace(belief, exclusive=False) if (belief.agent, belief.path) == (agent, path) else belief
                for belief in self.beliefs
            ]
        return self.begun

    def chosen(self) -> dict[str, Any]:
        return {
            "paths": self.random.choice(WANTED),
            "exclusive": self.random.random() < 0.8,
            "ttl_seconds": self.random.choice((60, 120)),
            "wait_seconds": self.random.choice((0, 50)),
            "idempotency_key": self.random.choice((None, "k", "l")),
        }

    def begin(self, agent: str, **chosen: Any) -> Call:
        arguments = {**self.chosen(), **chosen}
        hearing = Deaf()
        with hearing.listening():
            task = asyncio.create_task(self.call("file_reservation_paths", agent, **arguments))
        call = Call(
            agent=agent,
            hearing=hearing,
            task=task,
            releases_before=self.releases[agent],
            number=self.number_of(agent, arguments),
        )
        self.calls.append(call)
        return call

    async def call(self, tool: str, agent: str, **arguments: Any) -> Any:
        try:
            given = {"project_key": self.project.human_key, "agent_name": agent, **arguments}
            return await self.shop.tools.run(tool, given, NOBODY)
        except AgentMailError:
            return None

    async def cancel(self) -> None:
        if call := self.some(is_done=False):
            call.task.cancel()
            await asyncio.wait([call.task])
            self.calls.remove(call)

    async def leave(self) -> None:
        if call := self.some():
            call.hearing.leave()
            if call.task.done():
                self.calls.remove(call)

    async def hear(self) -> None:
        """An answer arrives: from now on its agent goes by it."""
        if call := self.some(is_done=True):
            self.calls.remove(call)
            call.hearing.hear()
            self.note(call)

    async def cancel_in_its_unit(self) -> None:
        """Taken back when its unit of work has run and before it is known, with or without a repeat behind it."""
        await self.in_one_group(is_repeated=False)

    async def repeat_in_the_moment(self) -> None:
        await self.in_one_group(is_repeated=True)

    async def in_one_group(self, *, is_repeated: bool) -> None:
        agent, loop = self.random.choice(AGENTS), asyncio.get_running_loop()
        chosen = {"paths": ["a"], "exclusive": True, "ttl_seconds": 60, "idempotency_key": "k", "wait_seconds": 0}
        holds_up, may_go_on = threading.Event(), threading.Event()

        def hold_up(_tx: Tx) -> None:
            holds_up.set()
            may_go_on.wait()

        holding = asyncio.create_task(self.shop.store.write(hold_up))
        await asyncio.to_thread(holds_up.wait)
        first = self.begin(agent, **chosen)
        await self.until_queued(first, 1)
        if is_repeated:
            await self.until_queued(self.begin(agent, **chosen), 2)
        leaving = asyncio.create_task(self.shop.store.write(lambda _tx: loop.call_soon_threadsafe(first.task.cancel)))
        await asyncio.sleep(0)
        may_go_on.set()
        await asyncio.wait([holding, leaving, first.task])
        if first.task.cancelled():
            self.calls.remove(first)

    async def until_queued(self, call: Call, count: int) -> None:
        while self.shop.store._writer.pending() < count and not call.task.done():
            await asyncio.to_thread(threading.get_ident)

    async def release(self) -> None:
        agent = self.random.choice(AGENTS)
        self.releases[agent] += 1
        self.beliefs = [belief for belief in self.beliefs if belief.agent != agent]
        await self.call("release_file_reservations", agent)

    async def renew(self) -> None:
        answer = await self.call("renew_file_reservations", self.random.choice(AGENTS), extend_seconds=60)
        self.known |= {lease["id"] for lease in answer["file_reservations"]}

    async def let_time_pass(self) -> None:
        self.shop.clock.step(self.random.choice((1, 30, 60)))
        if self.random.random() < 0.5:
            await self.shop.store.write(lambda tx: sweep_expired(tx, 10))

    async def kill(self) -> None:
        """Calls under way are gone, what was committed stays, and nothing that was to be undone is."""
        self.was_killed = True
        self.shop.deafen()
        await self.give_up_all()
        await self.shop.close()
        await self.shop.open()

    # --- what must be so ---

    def some(self, *, is_done: bool | None = None) -> Call | None:
        calls = [call for call in self.calls if is_done is None or call.task.done() == is_done]
        return self.random.choice(calls) if calls else None

    def note(self, call: Call) -> None:
        answer = call.task.result()
        for grant in answer["granted"] if answer else ():
            if not grant.get("live", True):
                continue
            self.known.add(grant["id"])
            until = int(datetime.fromisoformat(grant["expires_ts"]).timestamp() * SECOND)
            has_released = self.releases[call.agent] != call.releases_before
            if has_released and grant["id"] not in self.live():
                continue
            belief = Belief(
                agent=call.agent,
                lease_id=grant["id"],
                fencing=grant["fencing"],
                path=grant["path_pattern"],
                exclusive=grant["exclusive"] and self.shared_by[call.agent, grant["path_pattern"]] <= call.number,
                until=until,
            )
            known = [one for one in self.beliefs if one.lease_id == belief.lease_id]
            if not any(one.fencing > belief.fencing for one in known):
                self.beliefs = [one for one in self.beliefs if one not in known or one.fencing == belief.fencing]
                self.beliefs.append(belief)

    def live(self) -> dict[int, tuple[str, str, bool]]:
        sql = """
            SELECT l.id, a.name, l.path_pattern, l.exclusive FROM leases l JOIN agents a ON a.id = l.agent_id
            WHERE l.project_id = ? AND l.released_ts IS NULL AND l.expires_ts > ?
        """
        rows = self.shop.store._reading.execute(sql, (self.project.id, self.shop.clock.now))
        return {row[0]: (row[1], row[2], bool(row[3])) for row in rows}

    def look(self) -> None:
        live = self.live()
        held = list(live.values())
        if any(_conflict(one, other) for one, other in _pairs(held)):
            self.faults.append(f"two live leases that conflict: {held}")
        self.beliefs = [belief for belief in self.beliefs if belief.until > self.shop.clock.now]
        for belief in self.beliefs:
            if live.get(belief.lease_id, ("", ""))[0] != belief.agent:
                self.faults.append(f"told of a lease that is dead: {belief}")
        thought = [(belief.agent, belief.path, belief.exclusive) for belief in self.beliefs]
        if any(_conflict(one, other) for one, other in _pairs(thought)):
            self.faults.append(f"two holders: {self.beliefs}")

    async def end(self) -> None:
        """Everybody who has not heard yet is gone: what is live then somebody knows of."""
        await self.give_up_all()
        await self.shop.settle()
        self.look()
        unknown = [] if self.was_killed else self.live().keys() - self.known
        self.faults += [f"a lease that nobody knows of: {lease_id}" for lease_id in unknown]

    async def give_up_all(self) -> None:
        for call in self.calls:
            call.hearing.leave()
            call.task.cancel()
            with suppress(asyncio.CancelledError):
                await call.task
            call.hearing.leave()
        self.calls.clear()


def _pairs(held: list[tuple[str, str, bool]]) -> Iterator[tuple[tuple[str, str, bool], tuple[str, str, bool]]]:
    return ((one, other) for number, one in enumerate(held) for other in held[number + 1 :])


def _conflict(one: tuple[str, str, bool], other: tuple[str, str, bool]) -> bool:
    meets = one[1] == other[1] or "*" in (one[1], other[1])
    return one[0] != other[0] and meets and (one[2] or other[2])


@dataclass(kw_only=True)
class Played:
    histories: int = 0
    faults: list[str] = field(default_factory=list)


async def play(
    directory: Path,
    *,
    first: int,
    count: int,
    steps: int = 12,
    over: tuple[type[Shop], type[History]] = (Shop, History),
) -> Played:
    """`count` histories, from the seeds `first` and on. Each fault names its seed."""
    played, clock, (a_shop, a_history) = Played(), SetClock(), over
    for start in range(first, first + count, OF_A_STORE):
        shop = a_shop(directory / f"{start}.sqlite3", clock)
        await shop.open()
        for seed in range(start, min(start + OF_A_STORE, first + count)):
            project = await shop.store.write(lambda tx, seed=seed: _project(tx, seed))  # type: ignore[misc]
            history = a_history(shop=shop, project=project, random=random.Random(seed))
            played.faults += [f"history {seed}: {fault}" for fault in await history.play(steps)]
            played.histories += 1
        await shop.close()
    return played


def _project(tx: Tx, seed: int) -> Project:
    project = add_project(tx, f"/code/h{seed}")
    for name in AGENTS:
        add_agent(tx, project, name)
    return project
