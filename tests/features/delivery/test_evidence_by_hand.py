"""What calls and answers prove, by hand: their order, their bounds, and whose they are."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.concurrency.hearing import SentPromise, heard_by
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.tools import Credentials, call_as
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.delivery import evidence as module
from mcp_agent_mail.features.delivery.evidence import UNPROVEN_PART, DeliveryEvidence, _Answer
from mcp_agent_mail.features.delivery.marks import DeliveryMarks
from tests.seeded_store import SeededStore, open_seeded_store


class Wire:
    """A call's hearing by hand."""

    def __init__(self, began_s: float) -> None:
        self.began_s = began_s
        self.promises: list[SentPromise] = []

    def watched(self, tell: Callable[[], None]) -> AbstractContextManager[object]:
        raise NotImplementedError

    def unless_heard(self, undo: Callable[[], None]) -> None:
        raise NotImplementedError

    def once_sent(self, promise: SentPromise) -> None:
        self.promises.append(promise)

    def sent(self, *, is_read: bool = True) -> None:
        for promise in self.promises:
            promise.sent()
            if is_read:
                promise.read()


ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
PLAIN = Credentials(via="rpc", in_arguments=True)


class Session:
    """As long as it lives, a session."""


@dataclass
class Desk:
    """DeliveryEvidence with a clock of its own; every call is RedStone's on one session unless said otherwise."""

    seeded: SeededStore
    marks: DeliveryMarks
    evidence: DeliveryEvidence
    session: object = field(default_factory=Session)
    now_s: float = 100.0

    async def gives(self, *message_ids: int, session: object | None = None) -> Wire:
        """A call that has these in its answer, which is not sent yet."""
        return await self.given_to(self.credentials(session), self.seeded.red, *message_ids)

    async def given_to(
        self, credentials: Credentials, agent: Agent, *message_ids: int, caller: Caller = ANYBODY
    ) -> Wire:
        """A call with these credentials that has the agent's copies in its answer, which is not sent yet."""

        async def call() -> None:
            self.evidence.note_handed(caller, agent, [MessageId(one) for one in message_ids])

        wire = Wire(self.now_s)
        with heard_by(wire):
            await call_as(credentials, call, {})
        return wire

    async def acts(
        self,
        *,
        agent: Agent | None = None,
        began_s: float | None = None,
        session: object | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        async def call() -> None:
            self.evidence.note_acting(agent or self.seeded.red)

        with heard_by(Wire(self.now_s if began_s is None else began_s)):
            await call_as(credentials or self.credentials(session), call, {})

    def credentials(self, session: object | None = None) -> Credentials:
        return Credentials(via="mcp", in_arguments=True, session=session or self.session)

    def shown(self, *message_ids: int) -> list[bool]:
        return [not self.marks.without_shown(self.seeded.red.id, [MessageId(one)]) for one in message_ids]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_seeded_store(tmp_path) as seeded:
        marks = DeliveryMarks(seeded.store, clock=seeded.clock, interval_s=3_600)
        evidence = DeliveryEvidence(marks, elapsed=lambda: made.now_s, max_copies=3 * UNPROVEN_PART)
        made = Desk(seeded, marks, evidence)
        yield made
        await marks.close()


async def test_a_call_that_began_before_the_answer_was_sent_shows_nothing_of_it(desk: Desk) -> None:
    wire = await desk.gives(1)
    desk.now_s = 200.0
    wire.sent()

    await desk.acts(began_s=150.0)
    before = desk.shown(1)
    desk.now_s = 300.0
    await desk.acts()

    assert (before, desk.shown(1)) == ([False], [True])


async def test_beyond_its_bound_the_oldest_is_forgotten_and_can_be_handed_over_again(desk: Desk) -> None:
    for message_id in (1, 2, 3, 4):
        (await desk.gives(message_id)).sent()
    desk.now_s = 200.0
    await desk.acts()
    first = desk.shown(1, 2, 3, 4)

    (await desk.gives(1)).sent()
    desk.now_s = 300.0
    await desk.acts()

    assert (first, desk.shown(1)) == ([False, True, True, True], [True])


async def test_what_is_forgotten_takes_no_room_though_its_connection_stays_open(desk: Desk) -> None:
    wires = [await desk.gives(message_id) for message_id in (1, 2, 3, 4)]
    for wire in wires:
        wire.sent()

    assert [_kept(wire) for wire in wires] == [(), (2,), (3,), (4,)]


async def test_a_session_in_doubt_keeps_nothing_of_its_answers(desk: Desk) -> None:
    wire = await desk.gives(1, 2)
    wire.sent()

    await desk.acts(agent=desk.seeded.green)

    assert _kept(wire) == ()


async def test_a_session_in_doubt_takes_no_room_of_others(desk: Desk) -> None:
    doubted = Session()
    await desk.acts(session=doubted)
    await desk.acts(agent=desk.seeded.green, session=doubted)
    (await desk.gives(1)).sent()
    (await desk.gives(2, 3, 4, session=doubted)).sent()

    desk.now_s = 200.0
    await desk.acts()

    assert desk.shown(1) == [True]


async def test_a_session_that_acts_in_more_projects_than_it_may_proves_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PROJECTS_EACH", 1)
    (await desk.gives(1)).sent()
    desk.now_s = 200.0

    await desk.acts(agent=desk.seeded.fox)
    await desk.acts()

    assert desk.shown(1) == [False]


def _kept(wire: Wire) -> tuple[int, ...]:
    """The messages that the promises of its answer hold."""
    (promise,) = wire.promises
    (answer,) = (one for one in gc.get_referents(*(promise.sent.__closure__ or ())) if isinstance(one, _Answer))
    return answer.message_ids


async def test_of_one_session_the_last_answers_are_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ANSWERS_EACH", 1)
    for message_id in (1, 2):
        (await desk.gives(message_id)).sent()

    desk.now_s = 200.0
    await desk.acts()

    assert desk.shown(1, 2) == [False, True]


async def test_a_session_that_is_gone_keeps_nothing(desk: Desk) -> None:
    wire = await desk.gives(1, session=Session())
    wire.sent()
    gc.collect()

    await desk.gives(2)

    assert _kept(wire) == ()


async def test_what_is_got_at_a_word_pushes_out_nothing_that_is_proven(desk: Desk) -> None:
    proven = replace(desk.credentials(), agent_token="t-red")
    (await desk.given_to(proven, desk.seeded.red, 1)).sent()
    for message_id in range(10, 30):
        (await desk.gives(message_id, session=Session())).sent()

    desk.now_s = 200.0
    await desk.acts(credentials=proven)

    assert desk.shown(1) == [True]


async def test_what_is_proven_is_bounded_too(desk: Desk) -> None:
    proven = replace(desk.credentials(), agent_token="t-red")
    wires = [await desk.given_to(proven, desk.seeded.red, message_id) for message_id in range(3 * UNPROVEN_PART + 1)]
    for wire in wires:
        wire.sent()

    assert [_kept(wire) == () for wire in wires[:2]] == [True, False]


async def test_an_answer_that_was_not_read_shows_nothing(desk: Desk) -> None:
    wire = await desk.gives(1)
    wire.sent(is_read=False)
    for promise in wire.promises:
        promise.unread()

    desk.now_s = 200.0
    await desk.acts()

    assert desk.shown(1) == [False]
    assert _kept(wire) == ()


async def test_what_another_agent_reads_by_its_own_token_is_not_handed_over(desk: Desk) -> None:
    green = Caller(kind=CallerKind.AGENT, auth=AgentAuth.OPEN, agent_id=desk.seeded.green.id)

    wire = await desk.given_to(desk.credentials(), desk.seeded.red, 1, caller=green)

    assert wire.promises == []


async def test_a_call_that_names_nobody_and_brings_no_token_shows_nothing(desk: Desk) -> None:
    (await desk.gives(1)).sent()
    desk.now_s = 200.0

    await desk.acts(credentials=replace(desk.credentials(), in_arguments=False))

    assert desk.shown(1) == [False]


async def test_without_sessions_the_agents_that_called_last_are_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PROOFS", 2)
    red, green, blue = desk.seeded.red, desk.seeded.green, desk.seeded.blue
    first = await desk.given_to(PLAIN, red, 1)
    second = await desk.given_to(PLAIN, green, 2)
    for wire in (first, second):
        wire.sent()
    await desk.acts(credentials=PLAIN, began_s=50.0)

    (await desk.given_to(PLAIN, blue, 3)).sent()
    desk.now_s = 200.0
    await desk.acts(credentials=PLAIN)

    assert (_kept(first), _kept(second)) == ((), ())
    assert desk.shown(1) == [True], "it had called again meanwhile"


async def test_what_is_shown_is_promised_no_more(desk: Desk) -> None:
    (await desk.gives(1)).sent()
    desk.now_s = 200.0
    await desk.acts()

    assert (await desk.gives(1)).promises == []
