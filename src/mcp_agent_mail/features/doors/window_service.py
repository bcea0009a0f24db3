"""Mailboxes of windows: what AgentMail's users ask beside sending and receiving. Their names come and go with windows
of a terminal, and their projects are working directories.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from mcp_agent_mail.core.clock import SECOND, Clock, Micros, system_clock
from mcp_agent_mail.core.concurrency.hearing import current_hearing
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent, AgentStatus
from mcp_agent_mail.domain.doors.names import Door, WireName, require_wire_name, shown_to, wire_key
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.delivery.waiters import MailWaiter, WaiterKind, Waiters, why_left
from mcp_agent_mail.features.doors.names import NameSupplies, find_agent, free_former, give_name, is_nobodys, speak_as
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.service import MAX_WAIT_S, DoorService
from mcp_agent_mail.features.doors.told_names import Tells, listed, tells_who_looks
from mcp_agent_mail.features.identity.door_callers import covered_agents, is_unspoken, require_unbound
from mcp_agent_mail.features.identity.register import record_event
from mcp_agent_mail.notify.bus import MailBus
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.doors.window_reader import OwnedMailbox, list_owned
from mcp_agent_mail.store.transaction import Tx, View

MAX_NAMES = 1_000
_HOUR = 3_600 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowMailbox:
    """What the mailbox of a window holds, and what its agent has said of itself."""

    name: str
    unread: int
    status: AgentStatus
    status_ts: Micros | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedState:
    """`seen` stands for all of it: whoever brings it again waits until it is otherwise."""

    mailboxes: Sequence[WindowMailbox]
    seen: str

    @classmethod
    def of(cls, mailboxes: Sequence[WindowMailbox]) -> WatchedState:
        """With the digest of what they are."""
        rows = [(one.name, one.unread, one.status.value, one.status_ts) for one in mailboxes]
        return cls(mailboxes=mailboxes, seen=hashlib.sha256(repr(rows).encode()).hexdigest()[:32])


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSweepRequest:
    """`windows` are those that there are, None where nobody knows. What was read up to `counted_to` was counted by an
    earlier one.
    """

    windows: Sequence[str] | None
    stale_hours: int
    read_hours: int
    counted_to: Micros
    dry_run: bool

    def is_gone(self, name: str) -> bool:
        """Whether the window of this name is known to be none any more."""
        return self.windows is not None and wire_key(name) not in {wire_key(one) for one in self.windows}


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSweepCounts:
    """`messages` were read long ago, `mailboxes` hold nothing beside them."""

    offline: int = 0
    stale: int = 0
    messages: int = 0
    mailboxes: int = 0
    counted_to: Micros


def _is_own(view: View, door: Door, known: WireName) -> bool:
    """Whether the name is the door's, or nobody has spoken as it: it was only written to."""
    return known.owner is door or (known.owner is None and not view.agents.has_token(known.agent_id))


@dataclass(slots=True)
class _Watch:
    """One who watches mailboxes, and whose they are; None: also of agents that there are not yet."""

    waiter: MailWaiter
    agents: frozenset[AgentId] | None = None


class WindowMailboxService:
    """Beside `doors`, by the same rules of names."""

    def __init__(
        self,
        store: Store,
        doors: DoorService,
        waiters: Waiters,
        *,
        note_activity: Callable[[Agent], None],
        clock: Clock = system_clock,
    ) -> None:
        self._store = store
        self._doors = doors
        self._waiters = waiters
        self._note_activity = note_activity
        self._clock = clock
        self._bus = MailBus(store.on_mail_change)
        self._is_hearing = False
        self._watches: list[_Watch] = []

    async def names(self, caller: DoorCaller) -> list[str]:
        """Whom the caller's project knows, by the names that its door shows: MAX_NAMES, the oldest agents first. None
        that mail alone has made and nobody has spoken as.
        """
        key = self._doors.homes.key_of(caller)

        def look(view: View) -> list[str]:
            project = self._doors.homes.find(view, key)
            if project is None:
                return []
            agents = view.agents.list_(project.id, include_retired=False, active_since=0, limit=MAX_NAMES)
            agents = listed(view, project, caller.door, self._doors.homes.rule.auth, agents)
            agents = sorted((one for one in agents if not is_unspoken(view, one)), key=lambda agent: agent.id)
            return [shown_to(caller.door, view.wire_names.of_agent(one.id)) or one.name for one in agents]

        return await self._store.read(look)

    async def rename(self, caller: DoorCaller, was: str) -> bool:
        """The caller's window was called `was`: its mailbox goes on under the caller's name, where that is nobody's.

        False, and nothing changes, where it is, or `was` is another door's or a native agent's: then names decide.
        Raises UnfitWireName and WrongToken. Safe to repeat.
        """
        name = require_wire_name(caller.door, caller.name)
        before = require_wire_name(caller.door, was)

        def unit(tx: Tx, project: Project | None) -> bool:
            known = None if project is None else tx.wire_names.find(project.id, before)
            if project is None or known is None or not _is_own(tx, caller.door, known):
                return False
            renamed = tx.agents.find(known.agent_id)
            assert renamed is not None, known
            require_unbound(tx, renamed)
            is_same = wire_key(name) == wire_key(before)
            if not is_same and not is_nobodys(tx, project, name):
                return False
            free_former(tx, project, name)
            give_name(tx, known, name, None)
            return True

        return await self._doors.homes.change(caller, unit)

    async def set_status(self, caller: DoorCaller, status: AgentStatus) -> Agent:
        """The caller's word on whether it is to be disturbed. Raises as DoorService.send does."""

        def unit(tx: Tx, project: Project, supplies: NameSupplies) -> Agent:
            speaker = speak_as(tx, project, caller.door, caller.name, supplies)
            return tx.agents.set_status(speaker.actor.agent.id, status, None, tx.now)

        agent = await self._doors.homes.write(caller, unit)
        self._note_activity(agent)
        self._tell(frozenset({agent.id}))
        return agent

    async def watch(self, caller: DoorCaller, names: Sequence[str], *, seen: str | None, wait_s: float) -> WatchedState:
        """The mailboxes of these windows, without those that there are not, once they are not as `seen` says (see
        WatchedState), at most `wait_s` seconds after (and MAX_WAIT_S). Changes and makes nothing. Raises as waiting
        does: NoPlaceToWait, WaitingEnds, WaiterLeft.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + min(wait_s, MAX_WAIT_S)
        key, auth = self._doors.homes.key_of(caller), self._doors.homes.rule.auth

        def look(view: View) -> list[tuple[AgentId, WindowMailbox]]:
            return _look(view, self._doors.homes.find(view, key), names, tells_who_looks(view, caller.door, auth))

        await self._hear()
        with (
            self._waiters.place(None, WaiterKind.WAIT, is_agents=False) as waiter,
            current_hearing().watched(waiter.leave),
            self._watched(waiter) as watch,
        ):
            while True:
                # In this order: what is committed once the look has begun wakes.
                waiter.begin_look()
                is_last = loop.time() >= until
                found = await self._store.read(look)
                state = WatchedState.of([mailbox for _, mailbox in found])
                if waiter.has_left:
                    raise why_left()
                if state.seen != seen or is_last:
                    return state
                # A window without a mailbox may get one: whose it is then, nobody knows yet.
                watch.agents = None if len(found) < len(names) else frozenset(agent_id for agent_id, _ in found)
                self._waiters.require_open()
                await waiter.woken(until - loop.time())

    async def _hear(self) -> None:
        if not self._is_hearing:
            self._is_hearing = True
            self._bus.subscribe(self._tell)
            await self._store.write(lambda _: None)  # What had begun before is told to nobody, and seen by the look.

    @contextmanager
    def _watched(self, waiter: MailWaiter) -> Iterator[_Watch]:
        watch = _Watch(waiter)
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def _tell(self, agents: frozenset[AgentId]) -> None:
        for watch in self._watches:
            if watch.agents is None or watch.agents & agents:
                watch.waiter.wake()

    async def clean_up(self, caller: DoorCaller, request: WindowSweepRequest) -> WindowSweepCounts:
        """Retire mailboxes of windows that are gone or have long been silent, and in which nothing waits; count what
        was read long ago. No message goes: mail and history stay, and who is written to or speaks again is back.
        A token of an agent's does so with that agent's own alone. Raises WrongToken in another project.
        """
        key, now = self._doors.homes.key_of(caller), self._clock()
        before = Micros(now - request.read_hours * _HOUR)
        project = await self._store.read(lambda view: self._doors.homes.find(view, key))
        if project is None:
            return WindowSweepCounts(counted_to=before)
        owned = await list_owned(
            self._store, project.id, caller.door, read_after=request.counted_to, read_before=before
        )
        owned = await self._store.read(partial(_to_sweep, owned=owned))
        offline = [one for one in owned if not one.unread and request.is_gone(one.name)]
        silent_since = now - request.stale_hours * _HOUR
        stale = [one for one in owned if not one.unread and one not in offline and one.last_active_ts <= silent_since]
        counted = WindowSweepCounts(
            offline=len(offline),
            stale=len(stale),
            messages=sum(one.long_read for one in owned),
            mailboxes=sum(one.long_read > 0 and not one.unread and not one.has_later for one in owned),
            counted_to=before,
        )
        if request.dry_run:
            return counted
        gone = [one.agent_id for one in (*offline, *stale)]
        retired = await self._doors.homes.change(caller, lambda tx, _: _retire(tx, gone))
        return replace(
            counted,
            offline=sum(one.agent_id in retired for one in offline),
            stale=sum(one.agent_id in retired for one in stale),
        )


def _look(
    view: View, project: Project | None, names: Sequence[str], tells: Tells
) -> list[tuple[AgentId, WindowMailbox]]:
    known = [] if project is None else [one for one in names if not is_nobodys(view, project, one)]
    found = [] if project is None else [(one, find_agent(view, project, one)) for one in known]
    return [
        (
            agent.id,
            WindowMailbox(
                name=name,
                unread=view.pops.count_waiting(agent.id),
                status=agent.status,
                status_ts=agent.status_ts,
            ),
        )
        for name, agent in found
        if agent is not None and tells(agent)
    ]


def _to_sweep(view: View, owned: Sequence[OwnedMailbox]) -> list[OwnedMailbox]:
    own = covered_agents(view, [one.agent_id for one in owned])
    return [one for one in owned if one.agent_id in own]


def _retire(tx: Tx, agents: Sequence[AgentId]) -> set[AgentId]:
    """Those of them in which nothing has come to wait meanwhile."""
    retired = set()
    for agent_id in agents:
        agent = tx.agents.find(agent_id)
        assert agent is not None, agent_id
        if not agent.is_retired and not tx.pops.count_waiting(agent_id):
            record_event(tx, tx.agents.set_retired(agent_id, tx.now, tx.now), agent_id)
            retired.add(agent_id)
    return retired
