"""Random histories of hooks: two sessions of one agent, one of another, their sub-agents, hooks that die, two at once,
mail that is read, withdrawn and expires meanwhile, restarts, a clock that jumps. A model says what each answer must be.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.hooks.announcements import MAX_STOPS, ImportanceBound
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.messages import Importance, Terms
from mcp_agent_mail.domain.presence import SessionEvent
from mcp_agent_mail.features.delivery.hooks.announcements import HookAnswer
from mcp_agent_mail.features.delivery.presence import Presences
from mcp_agent_mail.features.delivery.requests import HeartbeatRequest, HookClaimRequest, HookEventRequest
from mcp_agent_mail.features.delivery.service import DeliveryService
from mcp_agent_mail.features.delivery.worker import FeedWorker
from mcp_agent_mail.store.database import Store
from tests.features.delivery.harness import open_waiters
from tests.features.delivery.hooks.hearings import Heard
from tests.seeded_store import SeededStore, SetClock, open_seeded_store

LENGTH = 40
_DAY_S = 86_400
_ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
_RANK = {Importance.URGENT: 0, Importance.HIGH: 1, Importance.NORMAL: 2, Importance.LOW: 2}
_LOWEST = {ImportanceBound.URGENT: 0, ImportanceBound.HIGH: 1, ImportanceBound.ANY: 2}


@dataclass(slots=True, kw_only=True)
class _Copy:
    """What the model knows of one message in one inbox."""

    id: MessageId
    seq: int
    importance: Importance
    refuses: bool
    valid_until: Micros | None
    is_unread: bool = True


@dataclass(slots=True, kw_only=True)
class _Session:
    """What the model knows of one session of a client. `waiting`: confirmed, and proven by no later event."""

    agent: AgentId
    name: str
    given: set[int] = field(default_factory=set)
    remembered: dict[int, int] = field(default_factory=dict)
    passed: int = 0
    printed: Counter[int] = field(default_factory=Counter)
    waiting: set[int] = field(default_factory=set)
    told_s: float = float("-inf")
    stops: int = 0

    def forget(self) -> None:
        """What lies in memory alone."""
        self.told_s, self.stops = float("-inf"), 0


@dataclass(slots=True, kw_only=True)
class HookHistory:
    """One history. `faults` is what answers, or the store, had otherwise than the model."""

    chance: random.Random
    clock: SetClock
    path: Path
    seeded: SeededStore
    opened: AsyncExitStack
    store: Store
    service: DeliveryService
    most_stops: int = MAX_STOPS
    inboxes: dict[AgentId, list[_Copy]] = field(default_factory=dict)
    sessions: list[_Session] = field(default_factory=list)
    confirmed: set[tuple[AgentId, int]] = field(default_factory=set)
    shown: set[tuple[AgentId, int]] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    # --- What happens to mail ------------------------------------------------------------------------------------

    async def send(self) -> None:
        sender = self.chance.choice((self.seeded.blue, self.seeded.blue, self.seeded.fox))
        reader = self.chance.choice((self.seeded.red, self.seeded.red, self.seeded.green))
        importance = self.chance.choice((*Importance, Importance.URGENT))
        topic = self.chance.choice((None, "stop", "Stop", "build"))
        until = Micros(self.clock.now + self.chance.randint(1, 90) * SECOND) if self.chance.random() < 0.2 else None
        letter = self.seeded.letter(sender, importance=importance, topic=topic)
        letter = replace(letter, terms=Terms(valid_until=until))
        posted, (copy,) = await self.store.write(
            lambda tx: tx.messages.add(letter, self.seeded.addressed([reader]), tx.now)
        )
        if until is not None:
            await self.store.write(lambda tx: tx.note_expiry(until))
        assert copy.delivery_seq is not None
        is_stop = importance is Importance.URGENT and topic is not None and topic.lower() == "stop"
        self.inboxes.setdefault(reader.id, []).append(
            _Copy(
                id=posted.id,
                seq=copy.delivery_seq,
                importance=importance,
                refuses=is_stop and sender.project_id == reader.project_id,
                valid_until=until,
            )
        )

    def _some_copy(self) -> tuple[Agent, _Copy] | None:
        agent = self.chance.choice((self.seeded.red, self.seeded.green))
        unread = [one for one in self.inboxes.get(agent.id, []) if one.is_unread]
        return (agent, self.chance.choice(unread)) if unread else None

    async def read(self) -> None:
        if (found := self._some_copy()) is not None:
            agent, copy = found
            await self.store.write(lambda tx: tx.inboxes.mark_read(agent.id, copy.id, tx.now))
            copy.is_unread = False

    async def withdraw(self) -> None:
        if (found := self._some_copy()) is not None:
            _, copy = found
            await self.store.write(lambda tx: tx.ladder.withdraw(copy.id, tx.now, None))
            copy.is_unread = False

    async def jump(self) -> None:
        """The clock goes on, or is set back, or ahead by more than a day; whatever is over then has ended."""
        self.clock.step(self.chance.choice((1, 60, -30, -3_600, 26 * 3_600, 26 * 3_600, -26 * 3_600)))
        while await self.store.end_expired():
            pass
        for copies in self.inboxes.values():
            for one in copies:
                if one.valid_until is not None and one.valid_until <= self.clock.now:
                    one.is_unread = False

    async def keep_up(self) -> None:
        """What is older than a day is forgotten: by whose number, the feed says."""
        before = Micros(self.clock.now - _DAY_S * SECOND)
        worker = FeedWorker(self.store, keep_days=1)
        await self.store.write(lambda tx: tx.feed.mark(tx.now, Micros(3_600 * SECOND)))
        last = await self.store.read(lambda view: view.feed.last_before(before, view.now))
        await worker.keep_up()
        for session in self.sessions:
            old = [one for one, seq in session.remembered.items() if last is not None and seq <= last]
            if old and last is not None:
                session.passed = max(session.passed, last)
                session.waiting -= set(old)
                for one in old:
                    del session.remembered[one]

    async def restart(self) -> None:
        await self.opened.aclose()
        self.store = await self.opened.enter_async_context(Store(self.path, clock=self.clock))
        self.service = _service(self.store, self.clock)
        for session in self.sessions:
            session.forget()

    # --- What hooks do -------------------------------------------------------------------------------------------

    async def hook(self) -> None:
        await self._run(self.chance.choice(self.sessions), time.monotonic())

    async def overtaken(self) -> None:
        """An event that came before the hook before it had confirmed, and is decided after it."""
        session = self.chance.choice(self.sessions)
        began_s = time.monotonic()
        await self._run(session, time.monotonic(), may_end=False)
        await self._run(session, began_s, may_end=False)

    async def two_at_once(self) -> None:
        """Which of them comes first is not said: what both say together is."""
        session = self.chance.choice(self.sessions)
        request = self._request(session, may_end=False)
        session_s = time.monotonic()
        wanted = self._expected(session, request)
        answers = await asyncio.gather(*(self._ask(request, session_s) for _ in range(2)))
        both = [one for answer in answers for one in _ids(answer)]
        if twice := [one for one, count in Counter(both).items() if count > 1]:
            self.faults.append(f"two hooks at once were given {twice}")
        if not set(wanted.ids) <= set(both):
            self.faults.append(f"two hooks at once were given {both}, and not all of {wanted.ids}")
        self._note_shown(session, request, session_s)
        self._note_given(session, both)
        session.stops += sum(answer.stop is not None for answer in answers)
        for answer in answers:
            self._check_counts(session, answer)
            await self._print(session, answer)

    async def claims_of_others(self) -> None:
        """A claim that is not there, or is another session's, hands nothing over."""
        mine, other = self.chance.sample(self.sessions, 2)
        request = self._request(mine, may_end=False)
        answer = await self._judged(mine, request, time.monotonic())
        claim = answer.claim or "none"
        try:
            await self.service.hook_told(_ANYBODY, self._claim(other, claim))
        except NotFound:
            self.seen["claim refused"] += 1
        else:
            self.faults.append(f"{other.name} confirmed what {mine.name} was given")

    async def _run(self, session: _Session, began_s: float, *, may_end: bool = True) -> None:
        answer = await self._judged(session, self._request(session, may_end=may_end), began_s)
        await self._print(session, answer)

    def _request(self, session: _Session, *, may_end: bool) -> HookEventRequest:
        events = list(SessionEvent) if may_end else [one for one in SessionEvent if one is not SessionEvent.END]
        event = self.chance.choice((*events, SessionEvent.TOOL, SessionEvent.TOOL))
        agent = self.seeded.red if session.agent == self.seeded.red.id else self.seeded.green
        return HookEventRequest(
            heartbeat=HeartbeatRequest(
                project_key=self.seeded.app.human_key, agent_name=agent.name, session=session.name, event=event
            ),
            least=self.chance.choice((None, *ImportanceBound)),
            limit=self.chance.randint(0, 3),
            stop=event is SessionEvent.TOOL and self.chance.random() < 0.5,
            can_refuse=session.name == "one" and self.chance.random() < 0.9,
            subagent=self.chance.random() < 0.15,
        )

    async def _ask(self, request: HookEventRequest, began_s: float) -> HookAnswer:
        with heard_by(Heard(began_s)):
            return (await self.service.hook_event(_ANYBODY, request))[1]

    async def _judged(self, session: _Session, request: HookEventRequest, began_s: float) -> HookAnswer:
        wanted = self._expected(session, request)
        answer = await self._ask(request, began_s)
        found = _Expected(
            ids=[one.id for one in answer.mail], stop=None if answer.stop is None else answer.stop.id, more=answer.more
        )
        if (found.stop, found.ids, found.more) != (wanted.stop, wanted.ids, wanted.more):
            self.faults.append(f"{session.name} was given {found}, not {wanted}")
        self._check_counts(session, answer)
        self._note_shown(session, request, began_s)
        self._note_given(session, _ids(answer))
        session.stops += answer.stop is not None
        if request.heartbeat.event is SessionEvent.END and not request.subagent:
            session.forget()
        return answer

    def _expected(self, session: _Session, request: HookEventRequest) -> _Expected:
        event = request.heartbeat.event
        if event is SessionEvent.END or request.subagent:
            return _Expected(ids=[], stop=None, more=0)
        unread = [
            one
            for one in self.inboxes.get(session.agent, [])
            if one.is_unread and one.id not in session.remembered and one.seq > session.passed
        ]
        is_bound = session.stops >= self.most_stops
        self.seen["bound"] += is_bound and any(one.refuses for one in unread)
        stop = next((one for one in unread if one.refuses), None) if request.stop and not is_bound else None
        left = [one for one in unread if one is not stop]
        if (request.stop or request.can_refuse) and not is_bound:
            left = [one for one in left if not one.refuses]
        lowest = -1 if request.least is None else _LOWEST[request.least]
        told = sorted((one for one in left if _RANK[one.importance] <= lowest), key=_order)
        return _Expected(
            ids=[one.id for one in told[: request.limit]],
            stop=None if stop is None else stop.id,
            more=max(0, len(told) - request.limit),
        )

    def _check_counts(self, session: _Session, answer: HookAnswer) -> None:
        unread = sum(one.is_unread for one in self.inboxes.get(session.agent, []))
        if answer.unread != unread:
            self.faults.append(f"{session.name} was told of {answer.unread} unread, not {unread}")

    def _note_shown(self, session: _Session, request: HookEventRequest, began_s: float) -> None:
        if began_s >= session.told_s and not request.subagent:
            self.shown |= {(session.agent, one) for one in session.waiting}
            self.seen["shown"] += len(session.waiting)
            session.waiting = set()

    def _note_given(self, session: _Session, ids: list[int]) -> None:
        if again := [one for one in ids if one in session.given]:
            self.faults.append(f"{session.name} was given {again} again")
        seqs: dict[int, int] = {one.id: one.seq for one in self.inboxes.get(session.agent, [])}
        session.given |= set(ids)
        session.remembered |= {one: seqs[one] for one in ids}

    async def _print(self, session: _Session, answer: HookAnswer) -> None:
        """The hook prints and confirms, or dies before, or between; the confirmation comes once, twice, or is lost."""
        if answer.claim is None:
            return
        fate = self.chance.choice(("before the print", "after the print", "confirmed", "confirmed", "twice"))
        self.seen[fate] += 1
        if fate == "before the print":
            return
        session.printed.update(_ids(answer))
        if twice := [one for one, count in session.printed.items() if count > 1]:
            self.faults.append(f"{session.name} was told {twice} twice")
        if fate == "after the print":
            return
        told = await self.service.hook_told(_ANYBODY, self._claim(session, answer.claim))
        session.told_s = time.monotonic()
        if told != len(_ids(answer)):
            self.faults.append(f"{told} of {_ids(answer)} were handed over")
        if fate == "twice" and await self.service.hook_told(_ANYBODY, self._claim(session, answer.claim)):
            self.faults.append("a repeat handed over again")
        self.confirmed |= {(session.agent, one) for one in _ids(answer)}
        session.waiting |= set(_ids(answer))

    def _claim(self, session: _Session, claim: str) -> HookClaimRequest:
        agent = self.seeded.red if session.agent == self.seeded.red.id else self.seeded.green
        return HookClaimRequest(
            project_key=self.seeded.app.human_key, agent_name=agent.name, session=session.name, claim=claim
        )

    def check_ladder(self) -> None:
        """Handed over is what was confirmed, and shown what a later event proved; nothing else is."""
        for step, wanted in (("handed_ts", self.confirmed), ("shown_ts", self.shown)):
            rows = self.store._reading.execute(f"SELECT agent_id, message_id FROM recipients WHERE {step} IS NOT NULL")
            found = set(rows.fetchall())
            if found != wanted:
                self.faults.append(f"{step}: too many {found - wanted}, too few {wanted - found}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expected:
    ids: list[int]
    stop: int | None
    more: int


def _order(copy: _Copy) -> tuple[int, int]:
    return _RANK[copy.importance], copy.seq


def _ids(answer: HookAnswer) -> list[int]:
    return [*([] if answer.stop is None else [answer.stop.id]), *(one.id for one in answer.mail)]


def _service(store: Store, clock: SetClock) -> DeliveryService:
    presence = Presences(window_s=60, clock=clock)
    return DeliveryService(store, open_waiters(store), note_activity=lambda _: None, presence=presence)


_Step = Callable[[HookHistory], Awaitable[None]]
STEPS: dict[_Step, float] = {
    HookHistory.send: 14,
    HookHistory.hook: 12,
    HookHistory.two_at_once: 4,
    HookHistory.overtaken: 3,
    HookHistory.claims_of_others: 1,
    HookHistory.read: 2,
    HookHistory.withdraw: 2,
    HookHistory.jump: 3,
    HookHistory.keep_up: 3,
    HookHistory.restart: 1,
}


# The history itself is what a caller looks at.
async def play(folder: Path, seed: int, length: int = LENGTH, most_stops: int = MAX_STOPS) -> Any:
    """A history of this seed in `folder`, which is there, until its first fault at the latest."""
    async with open_seeded_store(folder) as seeded:
        pass
    clock = seeded.clock
    async with AsyncExitStack() as opened:
        store = await opened.enter_async_context(Store(folder / "mail.sqlite3", clock=clock))
        history = HookHistory(
            chance=random.Random(seed),
            clock=clock,
            path=folder / "mail.sqlite3",
            seeded=seeded,
            opened=opened,
            store=store,
            service=_service(store, clock),
            most_stops=most_stops,
        )
        readers = (("one", seeded.red), ("another", seeded.red), ("one", seeded.green))
        history.sessions = [_Session(agent=agent.id, name=name) for name, agent in readers]
        for _ in range(length):
            (step,) = history.chance.choices(list(STEPS), list(STEPS.values()))
            history.seen[step.__name__] += 1
            await step(history)
            history.check_ladder()
            if history.faults:
                break
    return history
