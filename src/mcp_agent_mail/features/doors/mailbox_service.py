"""Mailboxes of a door whose callers check, watch and rename them: the use cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mcp_agent_mail.core.concurrency.hearing import current_hearing
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.mailbox_rules import IdleRules
from mcp_agent_mail.domain.doors.names import Door, require_wire_name
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.delivery.waiters import MailWaiter, WaiterKind, Waiters, why_left
from mcp_agent_mail.features.doors import mailbox_changes as units
from mcp_agent_mail.features.doors import pop as popping
from mcp_agent_mail.features.doors.homes import UnitAtHome
from mcp_agent_mail.features.doors.mailbox_changes import WithActivity
from mcp_agent_mail.features.doors.names import NameSupplies, is_former, speak_as
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.results import Checked, MailboxList, NameChange, Popped
from mcp_agent_mail.features.doors.service import MAX_WAIT_S, DoorService
from mcp_agent_mail.features.doors.wait_lines import WaitLines
from mcp_agent_mail.features.identity.door_callers import require_unbound
from mcp_agent_mail.features.projects.lookup import require_writable
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View


@dataclass(frozen=True, slots=True, kw_only=True)
class _Speaking:
    """Who calls, where there is nothing to write of it."""

    agent: Agent
    project: Project
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityPorts:
    """`note` is told of every agent that acts, `newest` gives agents with what is noted and not written yet."""

    note: Callable[[Agent], None]
    newest: WithActivity


class MailboxService:
    """Beside `DoorService`, which sends, and over the same mail. Callers' project is that of doors that know none."""

    def __init__(
        self, store: Store, doors: DoorService, waiters: Waiters, activity: ActivityPorts, *, rules: IdleRules
    ) -> None:
        self._store = store
        self._doors = doors
        self._waiters = waiters
        self._activity = activity
        self._rules = rules
        self._lines = WaitLines()

    async def touch(self, caller: DoorCaller) -> None:
        """The mailbox is there, is the door's, and was seen now. By a name that a rename left it is nobody's: then
        nothing is made. Raises UnfitWireName, NameOwnedElsewhere, DoorNotLinked, MailboxLimit, WrongToken.
        """
        await self._look_as(caller)

    async def check(self, caller: DoorCaller, *, settles_itself: bool = False) -> Checked:
        """All that waits, taken in one unit of work. It is read once the answer of the running call was written, and
        given back where it was not; who `settles_itself` gets one claim for all of it, as `DoorService.pop` says.
        Raises as `touch` does, and TooManyPopped.
        """
        speaking = await self._look_as(caller)
        if speaking is None or await self._store.read(lambda view: view.pops.head(speaking.agent.id)) is None:
            return Checked(name=caller.name if speaking is None else speaking.name, messages=[])

        def unit(tx: Tx, project: Project, supplies: NameSupplies) -> list[Popped]:
            speaker = speak_as(tx, project, caller.door, caller.name, supplies)
            return popping.take_all(tx, speaker, caller.door)

        taken = await self._take(caller, unit)
        assert not isinstance(taken, NameChange), taken
        given = self._doors.promised(taken, settles_itself=settles_itself) if taken else []
        return Checked(name=speaking.name, messages=list(given))

    async def watch(
        self, caller: DoorCaller, *, wait_s: float, settles_itself: bool = False
    ) -> Popped | NameChange | None:
        """The oldest message that waits, at most `wait_s` seconds after (and MAX_WAIT_S); or the mailbox's new name,
        once it has another. Of several who watch it is the one who has watched the longest that gets what comes. As
        with `check`, a message is read once the answer was written, or once its caller says so. Raises as `check` does,
        and as waiting does: NoPlaceToWait, WaitingEnds, WaiterLeft.
        """
        speaking = await self._speak(caller)
        loop, agent_id = asyncio.get_running_loop(), speaking.agent.id
        until = loop.time() + min(wait_s, MAX_WAIT_S)
        await self._waiters.hear()
        with (
            self._waiters.place(agent_id, WaiterKind.WAIT) as waiter,
            self._lines.place(agent_id, waiter),
            current_hearing().watched(waiter.leave),
        ):
            while True:
                # In this order: what is committed once the look has begun wakes.
                waiter.begin_look()
                is_last = loop.time() >= until
                seen = await self._look(caller, speaking, waiter)
                if waiter.has_left:
                    if isinstance(seen, Popped):
                        self._doors.give_back_soon([seen])
                    raise why_left()
                if seen is not None or is_last:
                    break
                self._waiters.require_open()
                await waiter.woken(until - loop.time())
        if isinstance(seen, Popped):
            return self._doors.promised([seen], settles_itself=settles_itself)[0]
        return seen

    async def _look(self, caller: DoorCaller, speaking: _Speaking, waiter: MailWaiter) -> Popped | NameChange | None:
        agent_id = speaking.agent.id

        def renamed(view: View) -> NameChange | None:
            name = units.find_new_name(view, speaking.project, caller.door, caller.name, agent_id)
            return None if name is None else NameChange(former=speaking.name, name=name)

        def unit(tx: Tx, project: Project, supplies: NameSupplies) -> NameChange | list[Popped]:
            if (other := renamed(tx)) is not None:
                return other
            speaker = speak_as(tx, project, caller.door, caller.name, supplies)
            popped = popping.take(tx, speaker, caller.door)
            return [] if popped is None else [popped]

        if not self._lines.is_first(agent_id, waiter):
            return await self._store.read(renamed)
        # By a unit of work: what is being given back is waiting again by then.
        taken = await self._take(caller, unit)
        if isinstance(taken, NameChange):
            return taken
        return taken[0] if taken else None

    async def rename(self, caller: DoorCaller, to: str) -> NameChange:
        """Call the mailbox so; who watches it is told. Its mail goes with it, also what was read. Raises UnfitWireName,
        MissingMailbox, UsedName, NameNotOwned.
        """
        name, wanted = require_wire_name(caller.door, caller.name), require_wire_name(caller.door, to)

        def unit(tx: Tx, project: Project | None) -> tuple[NameChange, AgentId]:
            source = units.require_source(tx, project, caller.door, name)
            return units.rename(tx, project, caller.door, name, wanted), source.agent_id

        renamed, agent_id = await self._doors.homes.change(caller, unit)
        for waiter in self._waiters.of(agent_id):
            waiter.wake()
        return renamed

    async def find_renamed(self, caller: DoorCaller) -> str | None:
        """What the mailbox is called now that the caller's name was once given to; None where it still is, or never
        was. For a session that cannot be told of its other name.
        """
        name, key = require_wire_name(caller.door, caller.name), self._doors.homes.key_of(caller)
        return await self._store.read(
            lambda view: units.find_renamed(view, self._doors.homes.find(view, key), caller.door, name)
        )

    async def list_(self, door: Door, caller: DoorCaller | None) -> MailboxList:
        """The mailboxes that may be written to, seen last first. A caller is there by that; nothing else changes."""
        speaking = None if caller is None else await self._look_as(caller)
        key = self._doors.homes.key_of(caller)

        def look(view: View) -> MailboxList:
            project = self._doors.homes.find(view, key)
            if project is None:
                return MailboxList(mailboxes=[], total=0)
            agent, auth = None if speaking is None else speaking.agent, self._doors.homes.rule.auth
            asked = units.ListAsked(door=door, caller=agent, auth=auth)
            return units.list_mailboxes(view, project, asked, self._rules, self._activity.newest)

        return await self._store.read(look)

    async def retire(self, caller: DoorCaller) -> bool:
        """Its session ends: the mailbox leaves lists, and mail and history stay. False where it had before. Raises
        UnknownWireName, MailPending, NameNotOwned, NameOwnedElsewhere.
        """
        name, auth = require_wire_name(caller.door, caller.name), self._doors.homes.rule.auth
        return await self._doors.homes.change(caller, lambda tx, home: units.retire(tx, home, caller.door, name, auth))

    async def retire_idle(self, door: Door) -> int:
        """Retire mailboxes of the door that have long been idle, those apart in which mail waits. How many did."""
        retired, after = 0, 0
        while True:
            waited_for = frozenset(self._waiters.agents())

            def unit(tx: Tx, after: int = after, waited_for: frozenset[AgentId] = waited_for) -> tuple[int, int | None]:
                return units.retire_idle(tx, door, self._rules, after, waited_for.__contains__)

            more, following = await self._store.write(unit)
            retired += more
            if following is None:
                return retired
            after = following

    async def _look_as(self, caller: DoorCaller) -> _Speaking | None:
        """Who looks: as `_speak`, but a look takes no name that leads mail to a renamed mailbox, whose session may
        still go by it. None then.
        """
        return await self._known_or_written(caller, takes_former=False)

    async def _speak(self, caller: DoorCaller) -> _Speaking:
        """Who calls: written where that is new, and noted in any case."""
        speaking = await self._known_or_written(caller, takes_former=True)
        assert speaking is not None, caller
        return speaking

    async def _known_or_written(self, caller: DoorCaller, *, takes_former: bool) -> _Speaking | None:
        written = require_wire_name(caller.door, caller.name)
        key = self._doors.homes.key_of(caller)

        def known(view: View) -> tuple[_Speaking | None, bool]:
            project = self._doors.homes.find(view, key)
            found = None if project is None else view.wire_names.find(project.id, written)
            agent = None if found is None or found.owner is not caller.door else view.agents.find(found.agent_id)
            if project is None or found is None or agent is None or agent.is_retired:
                return None, found is not None and is_former(view, found)
            require_unbound(view, agent)
            return _Speaking(agent=agent, project=require_writable(project), name=found.name), False

        def unit(tx: Tx, project: Project, supplies: NameSupplies) -> _Speaking:
            speaker = speak_as(tx, project, caller.door, written, supplies)
            return _Speaking(agent=speaker.actor.agent, project=project, name=speaker.wire_name.name)

        speaking, is_left = await self._store.read(known)
        if speaking is None and is_left and not takes_former:
            return None
        if speaking is None:
            speaking = await self._doors.homes.write(caller, unit)
        self._activity.note(speaking.agent)
        return speaking

    async def _take(self, caller: DoorCaller, unit: UnitAtHome[NameChange | list[Popped]]) -> NameChange | list[Popped]:
        """What nobody waits for any more is given back."""
        loop = asyncio.get_running_loop()

        def unheard(tx: Tx, taken: NameChange | list[Popped]) -> None:
            if isinstance(taken, NameChange):
                return
            for popped in taken:
                popping.give_back(tx, popped)
                # Those who wait look by a unit of work, which comes after this one; once too often does no harm.
                loop.call_soon_threadsafe(self._doors.wake, popped.agent_id)

        return await self._doors.homes.write(caller, unit, unheard=unheard)
