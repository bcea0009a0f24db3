"""What a client's hook tells an agent of its mail: given to one hook, and handed over once that hook has printed it.

One unit of work decides what is unread, neither withdrawn nor expired, and not given to the session before, and notes
it as given. The hook confirms after its output was flushed: only then is it handed over. The next event of the same
session, whose first byte came after that, shows it; another session proves nothing, nor does a sub-agent. Most events
bring nothing new: they write nothing. (docs/adr/0156)
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.concurrency.hearing import current_hearing
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import AgentKind
from mcp_agent_mail.domain.hooks.announcements import MOST_MORE, Announcement, StopRule, UnreadCopy
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind, ReservedIdentity
from mcp_agent_mail.domain.presence import SessionEvent, SessionName
from mcp_agent_mail.features.delivery.hooks.agent_place import AgentPlace, reprime
from mcp_agent_mail.features.delivery.hooks.known_sessions import KnownSessions
from mcp_agent_mail.features.delivery.presence import Presences, require_heard
from mcp_agent_mail.features.delivery.requests import HookClaimRequest, HookEventRequest
from mcp_agent_mail.features.identity.actor import Actor, require_actor
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View

_CLAIM_BYTES = 16


class UnknownClaim(NotFound):
    """No session of this name was given anything by this claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAnswer:
    """The answer to one event. `claim` confirms `mail` and `stop`; None where there is neither. `more` may be told
    besides, and was left out by the limit; it is counted as far as MOST_MORE. `at` is when it was looked at.
    """

    actor: Actor
    at: Micros
    unread: int
    mail: Sequence[Announcement] = ()
    more: int = 0
    claim: str | None = None
    stop: Announcement | None = None
    place: AgentPlace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    """What an event would change. `shown`: of what the session has printed before, whether it is proven to have it."""

    actor: Actor
    session_id: int | None
    given: Sequence[UnreadCopy]
    stop: UnreadCopy | None
    more: int
    shown: Sequence[MessageId]
    is_full: bool = False

    @property
    def claimed(self) -> list[UnreadCopy]:
        return [*([] if self.stop is None else [self.stop]), *self.given]

    @property
    def changes(self) -> bool:
        return bool(self.claimed or self.shown or self.is_full)


@dataclass(frozen=True, slots=True, kw_only=True)
class _EventSession:
    """The session of an event. `is_later`: its first byte came after what the session was told last was confirmed.
    `stops`: whose mail refuses its calls now.
    """

    name: SessionName
    is_later: bool
    stops: StopRule


class HookAnnouncements:
    """For use on the event loop."""

    def __init__(
        self,
        store: Store,
        presence: Presences,
        *,
        new_claim: Callable[[], str] = lambda: secrets.token_hex(_CLAIM_BYTES),
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._presence = presence
        self._new_claim = new_claim
        self._elapsed = elapsed
        self._known = {is_proven: KnownSessions() for is_proven in (True, False)}
        """By whether they are heard with proof: those of one kind push out none of the other."""

    async def tell(self, caller: Caller, request: HookEventRequest) -> HookAnswer:
        """What the hook may tell at this event, noted as given to its session. Not safe to repeat: what was given is
        not given again.
        """
        heartbeat = request.heartbeat
        actor = await self._store.read(lambda view: _require_agent(require_heard(view, caller, heartbeat)))
        name = SessionName(heartbeat.session, caller.is_verified)
        known = self._known[name.is_proven].of(actor.agent.id, name.name)
        is_later = not -math.inf < current_hearing().began_s < known.told_s
        claim = self._new_claim()

        def decide(view: View) -> _Decision:
            actor = _require_agent(require_heard(view, caller, heartbeat))
            # Asked anew in the unit, which runs alone: calls side by side are bound as calls in a row are.
            stops = StopRule(agents=known.takes_stops(self._elapsed()), proven=_wants_proof(caller))
            return _decide(view, actor, request, _EventSession(name=name, is_later=is_later, stops=stops))

        def look(view: View) -> tuple[bool, HookAnswer]:
            decided = decide(view)
            return decided.changes, self._answer(view, request, decided, None)

        def unit(tx: Tx) -> HookAnswer:
            decided = decide(tx)
            if decided.is_full and decided.session_id is not None:
                tx.announcements.make_room(decided.session_id)
                decided = decide(tx)
            _carry_out(tx, name, decided, claim)
            if decided.stop is not None:
                known.note_stop(self._elapsed())
            return self._answer(tx, request, decided, claim)

        changes, answer = await self._store.read(look)
        if changes:
            answer = await self._store.write(unit)
        if heartbeat.event is SessionEvent.END and not request.subagent:
            self._known[name.is_proven].forget(actor.agent.id, name.name)
        return answer

    async def confirm(self, caller: Caller, request: HookClaimRequest) -> int:
        """The hook has flushed what it was given by the claim: how many messages that hands over. None at a repeat.
        Raises UnknownClaim.
        """
        name = SessionName(request.session, caller.is_verified)

        def unit(tx: Tx) -> tuple[Actor, int]:
            actor = _require_agent(require_actor(tx, caller, request.project_key, request.agent_name))
            session_id = tx.announcements.find_session(actor.agent.id, name)
            told = None if session_id is None else tx.announcements.confirm(session_id, request.claim, tx.now)
            if told is None:
                raise UnknownClaim(
                    f"The session was given nothing to tell by the claim {request.claim!r:.50}.",
                    hint="Confirm with the claim, the session and the agent of the event that gave it, soon after it.",
                )
            tx.ladder.hand_over(actor.agent.id, told, tx.now)
            return actor, len(told)

        actor, told = await self._store.write(unit)
        if told:
            self._known[name.is_proven].of(actor.agent.id, name.name).told_s = self._elapsed()
        return told

    def _answer(self, view: View, request: HookEventRequest, decided: _Decision, claim: str | None) -> HookAnswer:
        actor, shown = decided.actor, view.announcements.mail
        counts = view.inboxes.counts(actor.agent.id)
        mail = shown(actor.agent.id, [one.message_id for one in decided.given])
        stop = [] if decided.stop is None else shown(actor.agent.id, [decided.stop.message_id])
        return HookAnswer(
            actor=actor,
            at=view.now,
            unread=counts.unread,
            mail=mail,
            more=decided.more,
            claim=claim if decided.claimed else None,
            stop=stop[0] if stop else None,
            place=reprime(view, actor, counts, [*stop, *mail], self._presence.of) if request.reprime else None,
        )


def _decide(view: View, actor: Actor, request: HookEventRequest, session: _EventSession) -> _Decision:
    agent_id = actor.agent.id
    session_id = view.announcements.find_session(agent_id, session.name)
    # That a sub-agent goes on proves nothing of what its session was told.
    shows = session.is_later and not request.subagent
    shown = [] if session_id is None or not shows else view.announcements.unshown(session_id)
    room = view.announcements.room(session_id)
    event = request.heartbeat.event
    is_told = event is not SessionEvent.END and not request.subagent
    is_told = is_told and not actor.agent.is_retired and not actor.project.is_archived
    stop = view.announcements.find_stop(agent_id, session_id, session.stops) if request.stop and is_told else None
    tellable: list[UnreadCopy] = []
    if request.least is not None and is_told:
        # What asks to stop is left for the next call, where the session can be refused one: told as an item it stops
        # nothing, and at the end of a turn it makes the turn go on.
        limit = request.limit + MOST_MORE
        waits = session.stops if request.stop or request.can_refuse else None
        tellable = view.announcements.tellable(agent_id, session_id, request.least, limit + 1, without_stops=waits)
    if stop is not None:
        tellable = [one for one in tellable if one != stop]
    is_full = room == 0 and bool(stop or tellable[: request.limit])
    stop = stop if room else None
    given = tellable[: min(request.limit, max(0, room - bool(stop)))]
    return _Decision(
        actor=actor,
        session_id=session_id,
        given=given,
        stop=stop,
        more=min(MOST_MORE, len(tellable) - len(given)),
        shown=shown,
        is_full=is_full,
    )


def _carry_out(tx: Tx, name: SessionName, decided: _Decision, claim: str) -> None:
    agent_id = decided.actor.agent.id
    if decided.shown and decided.session_id is not None:
        tx.ladder.show(agent_id, decided.shown, tx.now)
        tx.announcements.show(decided.session_id, tx.now)
    if decided.claimed:
        tx.announcements.give(agent_id, name, decided.claimed, claim, tx.now)


def _wants_proof(caller: Caller) -> bool:
    """Are only proven senders to stop the session? Where everybody must prove who it is, mail from before that does not
    count, and by its own token a session shows that its senders can have one. The operator's shows nothing of them.
    """
    return caller.auth is AgentAuth.STRICT or caller.kind is CallerKind.AGENT


def _require_agent(actor: Actor) -> Actor:
    """No client has a hook for Human."""
    if actor.agent.kind is not AgentKind.AGENT:
        raise ReservedIdentity(
            f"{actor.agent.name} is no agent: no client's hook tells it of mail.", hint="Name a registered agent."
        )
    return actor
