"""Doors: the use cases. A door converts, calls one of these, and shows what comes back."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from mcp_agent_mail.core.concurrency.hearing import SentPromise, current_hearing
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.doors.ids import require_wire_id
from mcp_agent_mail.domain.doors.names import Door, UnknownWireName, WireName, recipient_as_written, require_wire_name
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.identity.names import did_you_mean, nearest
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.delivery.waiters import WaiterKind, Waiters, why_left
from mcp_agent_mail.features.doors import pop as popping
from mcp_agent_mail.features.doors.homes import Homes
from mcp_agent_mail.features.doors.names import (
    DoorActor,
    NameSupplies,
    NamingRule,
    ensure_recipient,
    ensure_wire_name,
    find_agent,
    free_former,
    is_nobodys,
    require_known,
    speak_as,
)
from mcp_agent_mail.features.doors.pop_claims import CLAIMED_S, PopClaims, TooManyPopped
from mcp_agent_mail.features.doors.requests import DoorCaller, DoorSendRequest
from mcp_agent_mail.features.doors.results import DoorPlace, DoorSent, KnownWireName, Pending, Popped
from mcp_agent_mail.features.doors.send import send
from mcp_agent_mail.features.doors.told_names import Tells, tells_who_looks, tells_who_sends
from mcp_agent_mail.features.doors.wait_figures import DoorWaits
from mcp_agent_mail.features.identity.register import record_event
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View

MAX_WAIT_S = 300
_COMPARED = 300
MAX_NAMES_LISTED = 1_000
_MADE_BY_LOOKS = frozenset({Door.AGENTMAIL})
"""Where `receive` makes its window's mailbox, as its users know it: by that others may write to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """What a look took, and whose it is: nobody's where the name is nobody's and the look made nothing."""

    agent: Agent | None
    popped: Popped | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorServices:
    """What doors stand on."""

    messaging: MessagingService
    projects: ProjectService
    waiters: Waiters


class DoorService:
    """`project_key` is the path or the slug of the project of doors that know none; a path's is made at first use.
    `note_activity` is told of every agent that acts. `places` are all doors, open or not. A caller that settles by
    itself has `claimed_s` seconds for it.
    """

    def __init__(
        self,
        store: Store,
        services: DoorServices,
        *,
        project_key: str,
        rule: NamingRule,
        note_activity: Callable[[Agent], None],
        places: Sequence[DoorPlace] = (),
        choose: Callable[[Sequence[str]], str] = secrets.choice,
        claimed_s: float = CLAIMED_S,
    ) -> None:
        self._store = store
        self._services = services
        self.places = places
        self._note_activity = note_activity
        self.homes = Homes(store, services.projects, project_key=project_key, rule=rule, choose=choose)
        self._claims = PopClaims(self.give_back_soon, within_s=claimed_s)
        self.waits = DoorWaits()

    async def send(
        self,
        caller: DoorCaller,
        to: str,
        body: str,
        *,
        external_id: str | None = None,
        mailbox_max: int = 0,
        makes_recipient: bool = True,
        body_called: str = "body",
    ) -> DoorSent:
        """Deliver one message; a mailbox that is not there is made, unless only known names are to be written to
        (UnknownWireName then). A repeat with an id of the sender's own gives what the first one gave. `body_called`:
        the parameter that the body came in.

        Raises UnfitWireName, NameOwnedElsewhere, DoorNotLinked, UnfitWireId, IdTaken, MailboxFull, and what sending
        raises: then nothing was stored.
        """
        request = DoorSendRequest(
            to=recipient_as_written(caller.door, to),
            body=body,
            external_id=require_wire_id(external_id),
            mailbox_max=mailbox_max,
            makes_recipient=makes_recipient,
        )
        require_wire_name(caller.door, caller.name)
        await self._services.messaging.before_sending(body, called=body_called)

        def unit(tx: Tx, project: Project, supplies: NameSupplies) -> tuple[Agent, DoorSent]:
            speaker = speak_as(tx, project, caller.door, caller.name, supplies)
            tells = tells_who_sends(tx, caller.door, supplies.rule.auth, speaker.actor.agent)
            recipient = _recipient(tx, speaker, caller.door, request, supplies, tells)
            sent = send(tx, speaker, recipient, request, caller.door, self._services.messaging.send_as)
            return speaker.actor.agent, sent

        agent, sent = await self.homes.write(caller, unit)
        self._note_activity(agent)
        return sent

    async def pop(self, caller: DoorCaller, *, wait_s: float, settles_itself: bool = False) -> Popped | None:
        """The oldest message that waits, at most `wait_s` seconds after (and MAX_WAIT_S); None where none came. To look
        without waiting makes nothing, but at AgentMail's; who waits is there, so that agents of this server and windows
        may write to it.

        It is read once the answer of the running call was written, and given back where it was not. A call that is no
        request of this server's says so itself: `settle`, `give_back`. So does one whose answer is an error after all.
        Who `settles_itself` gets a claim, and says by `settle_claimed` or `give_back_claimed`, in a later call, what
        became of it: after CLAIMED_S seconds without a word it is given back. So it is where the answer was not
        written.
        Raises as `send` does, as waiting does (NoPlaceToWait, WaitingEnds, WaiterLeft), and TooManyPopped.
        """
        require_wire_name(caller.door, caller.name)
        taken = await self._look(caller, waits=wait_s > 0) or await self._take(caller)
        popped = taken.popped
        if popped is None and wait_s > 0 and taken.agent is not None:
            popped = await self._wait(caller, taken.agent.id, min(wait_s, MAX_WAIT_S))
        if popped is None:
            return None
        return self.promised([popped], settles_itself=settles_itself)[0]

    def promised(self, taken: Sequence[Popped], *, settles_itself: bool) -> Sequence[Popped]:
        """What the running call has taken from one mailbox and answers with, as `pop` says: with one claim for all
        of it where its caller `settles_itself`. Raises TooManyPopped, and has given it back.
        """
        given = self._claimed(taken) if settles_itself else taken
        # Without bodies: so many would fill the memory, and nobody asks for one here.
        kept = [replace(popped, body="") for popped in given]
        hearing, back = current_hearing(), partial(self.give_back_soon, kept)
        hearing.unless_heard(back)
        if settles_itself:
            hearing.once_sent(SentPromise(sent=_nothing, unread=back, cut=back))
        else:
            hearing.once_sent(SentPromise(sent=partial(self._settle_soon, kept), cut=back))
        return given

    def _claimed(self, taken: Sequence[Popped]) -> Sequence[Popped]:
        try:
            return self._claims.make(taken)
        except TooManyPopped:
            self.give_back_soon(taken)
            raise

    async def _look(self, caller: DoorCaller, *, waits: bool) -> _Taken | None:
        """None where there is something to write: mail to be given, or who calls."""
        makes = waits or caller.door in _MADE_BY_LOOKS
        key = self.homes.key_of(caller)

        def look(view: View) -> _Taken | None:
            project = self.homes.find(view, key)
            if project is None or is_nobodys(view, require_writable(project), caller.name):
                return None if makes else _Taken(agent=None, popped=None)
            idle = popping.find_idle(view, project, caller.door, caller.name)
            return None if idle is None else _Taken(agent=idle, popped=None)

        taken = await self._store.read(look)
        if taken is not None and taken.agent is not None:
            self._note_activity(taken.agent)
        return taken

    async def _wait(self, caller: DoorCaller, agent_id: AgentId, wait_s: float) -> Popped | None:
        loop, waiters = asyncio.get_running_loop(), self._services.waiters
        until = loop.time() + wait_s
        await waiters.hear()
        with waiters.place(agent_id, WaiterKind.WAIT) as waiter, current_hearing().watched(waiter.leave):
            while True:
                # In this order: what is committed once the look has begun wakes.
                waiter.begin_look()
                is_last = loop.time() >= until
                popped = (await self._take(caller)).popped
                if waiter.has_left:
                    if popped is not None:
                        self.give_back_soon([popped])
                    raise why_left()
                if popped is not None or is_last:
                    return popped
                waiters.require_open()
                await waiter.woken(until - loop.time())

    async def _take(self, caller: DoorCaller) -> _Taken:
        """Who speaks is judged with each look. What nobody waits for any more is given back."""
        loop = asyncio.get_running_loop()

        def unit(tx: Tx, project: Project, supplies: NameSupplies) -> _Taken:
            speaker = speak_as(tx, project, caller.door, caller.name, supplies)
            return _Taken(agent=speaker.actor.agent, popped=popping.take(tx, speaker, caller.door))

        def unheard(tx: Tx, taken: _Taken) -> None:
            if taken.popped is not None:
                popping.give_back(tx, taken.popped)
                # Those who wait look by a unit of work, which comes after this one; once too often does no harm.
                loop.call_soon_threadsafe(self.wake, taken.popped.agent_id)

        taken = await self.homes.write(caller, unit, unheard=unheard)
        assert taken.agent is not None, taken
        self._note_activity(taken.agent)
        return taken

    async def settle(self, popped: Popped) -> None:
        """The answer was written: the message is read. A repeat, and one that was given back, change nothing."""
        await self._settle([popped])

    async def give_back(self, popped: Popped) -> None:
        """The answer was not written: the message is the next one's. A repeat, and a settled one, change nothing."""
        await self._return([popped])

    async def settle_claimed(self, claim: str) -> bool:
        """As `settle`, by who settles itself. False, and nothing changes, where it comes too late or again: then the
        message is the next one's, or has been read.
        """
        taken = self._claims.find(claim)
        return bool(taken) and await self._settle(taken)

    async def give_back_claimed(self, claim: str) -> bool:
        """As `give_back`, by who settles itself; False where it comes too late or again."""
        taken = self._claims.find(claim)
        return bool(taken) and await self._return(taken)

    async def _settle(self, taken: Sequence[Popped]) -> bool:
        read = await self._store.write(lambda tx: popping.settle(tx, taken))
        self._claims.end(taken[0])  # Not before: a call that is cancelled may have written nothing.
        self._note_waits(read)
        return bool(read)

    async def _return(self, taken: Sequence[Popped]) -> bool:
        returned = await self._store.write(lambda tx: [popping.give_back(tx, popped) for popped in taken])
        self._claims.end(taken[0])
        self.wake(taken[0].agent_id)
        return any(returned)

    def _settle_soon(self, taken: Sequence[Popped]) -> None:
        self._store.write_soon(lambda tx: popping.settle(tx, taken), self._note_waits)

    def _note_waits(self, read: Sequence[Popped]) -> None:
        for popped in read:
            self.waits.note(popped)

    def give_back_soon(self, taken: Sequence[Popped]) -> None:
        """What was taken from one mailbox is the next one's, as soon as the store takes that."""

        def unit(tx: Tx) -> None:
            for popped in taken:
                popping.give_back(tx, popped)

        self._claims.end(taken[0])
        self._store.write_soon(unit, lambda _: self.wake(taken[0].agent_id))

    def wake(self, agent_id: AgentId) -> None:
        """Whoever waits for the agent's mail looks again."""
        for waiter in self._services.waiters.of(agent_id):
            waiter.wake()

    def close(self) -> None:
        """The server stops: what callers have promised to settle is left to the next start."""
        self._claims.close()

    async def give_back_open(self) -> int:
        """At the start, before anybody is served: whatever was given and never settled waits again. How many."""
        return await self._store.write(lambda tx: tx.pops.end_all())

    async def pending(self, caller: DoorCaller) -> Pending:
        """What waits in the mailbox of this name. Changes nothing and makes nothing. Raises UnfitWireName."""
        name = require_wire_name(caller.door, caller.name)
        key = self.homes.key_of(caller)

        def look(view: View) -> Pending:
            tells = tells_who_looks(view, caller.door, self.homes.rule.auth)
            return popping.count_pending(view, self.homes.find(view, key), name, tells)

        return await self._store.read(look)

    async def names(self, caller: Caller, *, after: int = 0) -> list[KnownWireName]:
        """For the operator: what doors know, oldest first: MAX_NAMES_LISTED with numbers above `after`."""
        require_operator(caller)
        return await self._store.read(
            lambda view: [_row(view, one) for one in view.wire_names.list_(after=after, limit=MAX_NAMES_LISTED)]
        )

    async def link(self, caller: Caller, name: str, door: Door, project_key: str | None = None) -> KnownWireName:
        """For the operator: let callers of the door speak as the name, a native agent's too. Without a project it is
        that of doors that know none. Raises UnknownProject and UnknownWireName. Safe to repeat.
        """
        at = DoorCaller(door=door, name=name, project_key=project_key)
        return await self._change(caller, at, lambda tx, known: tx.wire_names.link(known, door))

    async def unlink(self, caller: Caller, name: str, door: Door, project_key: str | None = None) -> KnownWireName:
        """For the operator: take a link back; what the door owns stays its own. Safe to repeat."""
        at = DoorCaller(door=door, name=name, project_key=project_key)
        return await self._change(caller, at, lambda tx, known: tx.wire_names.unlink(known, door))

    async def _change(
        self, caller: Caller, at: DoorCaller, change: Callable[[Tx, WireName], WireName]
    ) -> KnownWireName:
        require_operator(caller)
        key, name = self.homes.key_of(at), at.name

        def unit(tx: Tx, project: Project | None) -> KnownWireName:
            if project is None and at.project_key is not None:
                project = require_writable(require_project(tx, key))
            agent = None if project is None else find_agent(tx, project, name)
            if project is None or agent is None or agent.kind is not AgentKind.AGENT:
                near = [] if project is None else _nearest(tx, project, name)
                raise UnknownWireName(
                    f"No door and no agent of {key} knows the name {name!r:.100}.",
                    hint=f"{did_you_mean(near)}am facade names lists those that doors know.",
                    data={"name": name[:100], "nearest": near},
                )
            known = ensure_wire_name(tx, project, name, agent)
            changed = change(tx, known)
            if changed != known:
                record_event(tx, agent, None)
            return _row(tx, changed)

        return await self.homes.change(at, unit)


def _recipient(
    tx: Tx, speaker: DoorActor, door: Door, request: DoorSendRequest, supplies: NameSupplies, tells: Tells
) -> Agent:
    if not request.makes_recipient:
        return require_known(tx, speaker, request.to, tells)
    if door is Door.AGENTMAIL:
        # There is a window of that name: it is somebody's, who has said nothing yet.
        free_former(tx, speaker.actor.project, request.to)
    return ensure_recipient(tx, speaker, door, request.to, supplies, tells)


def _nearest(view: View, project: Project, name: str) -> list[str]:
    """Names of the project that may be meant, at doors, of the oldest, and native ones."""
    wire = (one.name for one in view.wire_names.list_(limit=_COMPARED) if one.project_id == project.id)
    return nearest(name, dict.fromkeys((*wire, *view.agents.names(project.id))))


def _row(view: View, known: WireName) -> KnownWireName:
    agent, project = view.agents.find(known.agent_id), view.projects.find(known.project_id)
    assert agent is not None, known
    assert project is not None, known
    return KnownWireName(wire_name=known, agent=agent.name, project=project.slug)


def _nothing() -> None:
    pass
