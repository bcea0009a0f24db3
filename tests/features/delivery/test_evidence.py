"""What is handed over and shown, by answers that leave over a real socket through every door."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.tools import Credentials, call_as
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.delivery import evidence as module
from mcp_agent_mail.features.delivery.evidence import DeliveryEvidence, _Answer
from mcp_agent_mail.features.delivery.marks import DeliveryMarks
from tests.features.delivery.served_mail import (
    GREEN,
    RED,
    McpSession,
    ServedMail,
    open_served,
)
from tests.seeded_store import SeededStore, open_seeded_store
from tests.server.whole_app import OPERATOR


@pytest.fixture
async def mail(tmp_path: Path) -> AsyncIterator[ServedMail]:
    async with open_served(tmp_path) as opened:
        yield opened


async def door(mail: ServedMail, name: str) -> McpSession:
    return await mail.session() if name == "session" else mail.stateless()


DOORS = pytest.mark.parametrize("by", ["session", "stateless"])


@DOORS
async def test_what_an_answer_holds_is_handed_over_and_the_next_call_shows_it(mail: ServedMail, by: str) -> None:
    message_id = await mail.send()
    session = await door(mail, by)

    before = await mail.status(message_id)
    await session.inbox()
    read = await mail.status(message_id)
    await session.acts()

    assert (before, read) == ("delivered", "handed_over")
    assert await mail.steps(message_id) == ["delivered", "handed_over", "shown"]
    assert await mail.events() == [("shown", message_id)]


async def test_the_same_holds_for_plain_calls(mail: ServedMail) -> None:
    message_id = await mail.send()

    await mail.rpc("fetch_inbox", agent_name=RED)
    read = await mail.status(message_id)
    await mail.rpc("fetch_inbox", agent_name=RED, limit=0)

    assert (read, await mail.status(message_id)) == ("handed_over", "shown")


async def test_a_token_shows_nothing_of_what_was_handed_to_a_word(mail: ServedMail) -> None:
    message_id = await mail.send()
    await mail.rpc("fetch_inbox", agent_name=RED)

    await mail.rpc("fetch_inbox", agent_name=RED, limit=0, headers=mail.proof(RED))

    assert await mail.status(message_id) == "handed_over"


async def test_another_session_shows_nothing(mail: ServedMail) -> None:
    message_id = await mail.send()
    first, second = await mail.session(), await mail.session()
    await first.inbox()

    await second.acts()
    await mail.stateless().acts()
    await mail.rpc("fetch_inbox", agent_name=RED, limit=0)
    seen = await mail.status(message_id)
    await first.acts()

    assert (seen, await mail.status(message_id)) == ("handed_over", "shown")


async def test_another_agents_call_shows_nothing(mail: ServedMail) -> None:
    message_id = await mail.send()
    session = mail.stateless()
    await session.inbox()

    await session.acts(GREEN)

    assert await mail.status(message_id) == "handed_over"


async def test_a_session_that_acted_as_two_agents_of_a_project_shows_nothing_any_more(mail: ServedMail) -> None:
    first = await mail.send()
    session = await mail.session()
    await session.inbox()

    await session.acts(GREEN)
    await session.acts()
    second = await mail.send()
    await session.inbox()
    await session.acts()

    assert [await mail.status(one) for one in (first, second)] == ["handed_over", "handed_over"]


async def test_one_agent_in_each_of_two_projects_is_no_doubt(mail: ServedMail, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    await mail.client.post("/rpc/ensure_project", json={"human_key": str(other)})
    await mail.rpc("register_agent", project_key=str(other), name=GREEN, program="tests", model="none")
    message_id = await mail.send()
    session = await mail.session()
    await session.inbox()

    await session.tool("fetch_inbox", project_key=str(other), agent_name=GREEN)
    await session.acts()

    assert await mail.status(message_id) == "shown"


async def test_a_call_does_not_show_what_it_hands_over_itself(mail: ServedMail) -> None:
    message_id = await mail.send()
    session = await mail.session()
    await session.acts()

    await session.inbox()

    assert await mail.status(message_id) == "handed_over"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_mail", {"agent_name": RED}),
        ("read_mail", {"agent_name": RED, "include_bodies": "false"}),
        ("wait_for_messages", {"agent_name": RED}),
        ("macro_prepare_thread", {"thread_id": "T-1", "agent_name": RED, "program": "tests", "model": "none"}),
        ("macro_start_session", {"agent_name": RED, "program": "tests", "model": "none"}),
        ("fetch_inbox_product", {"product_key": "shop", "agent_name": RED}),
    ],
)
async def test_every_tool_that_gives_mail_to_its_recipient_hands_it_over(
    mail: ServedMail, tool: str, arguments: dict[str, str]
) -> None:
    message_id = await mail.send(thread_id="T-1")
    await mail.client.post("/rpc/ensure_product", json={"product_key": "shop"})
    await mail.client.post("/rpc/products_link", json={"product_key": "shop", "project_key": mail.project})
    given: dict[str, object] = {"project_key": mail.project, **arguments}
    if tool == "read_mail":
        given["message_id"] = message_id
    if tool == "macro_start_session":
        given = {"human_key": mail.project, **arguments}
    if tool == "fetch_inbox_product":
        given.pop("project_key")

    answer = await mail.client.post(f"/rpc/{tool}", json=given)

    assert answer.status_code == 200, answer.text
    assert await mail.status(message_id) == "handed_over"


@pytest.mark.parametrize("door_of", ["mcp", "rpc"])
@pytest.mark.parametrize(
    "place", ["inbox/RedStone", "mailbox/RedStone", "views/ack-required/RedStone", "message", "T-1"]
)
async def test_a_resource_hands_over_by_a_token_alone(mail: ServedMail, place: str, door_of: str) -> None:
    message_id = await mail.send(thread_id="T-1", ack_required=True)
    path = {"message": f"message/{message_id}", "T-1": "thread/T-1"}.get(place, place)
    uri = f"resource://{path}?project={mail.project}"

    async def read(headers: dict[str, str]) -> None:
        if door_of == "mcp":
            assert "contents" in await mail.stateless(headers).read(uri)
        else:
            await mail.rpc("read_resource", uri=uri, headers=headers)

    await read({})
    unproven = await mail.status(message_id)
    await read(mail.proof(RED))

    assert (unproven, await mail.status(message_id)) == ("delivered", "handed_over")


async def test_what_others_read_of_it_hands_nothing_over(mail: ServedMail) -> None:
    message_id = await mail.send(thread_id="T-1", topic="plans")
    operator = {"Authorization": f"Bearer {OPERATOR}"}

    await mail.rpc("fetch_inbox", agent_name=RED, headers=operator)
    await mail.rpc("read_mail", message_id=message_id)
    await mail.rpc("read_mail", message_id=message_id, agent_name=GREEN)
    await mail.rpc("fetch_topic", topic_name="plans", headers=mail.proof(RED))
    await mail.rpc("search_messages", query="b", headers=mail.proof(RED))
    await mail.rpc("fetch_inbox_events", agent_name=RED, headers=mail.proof(RED))
    await mail.rpc("message_status", message_id=message_id, agent_name=RED)

    assert await mail.status(message_id) == "delivered"


async def test_a_refusal_hands_nothing_over(mail: ServedMail) -> None:
    message_id = await mail.send()
    session = await mail.session()

    refused = await session.inbox(after_id=999)

    assert refused["isError"]
    assert await mail.status(message_id) == "delivered"


class Wire:
    """A call's hearing by hand."""

    def __init__(self, began_s: float) -> None:
        self.began_s = began_s
        self.promises: list[tuple[Callable[[], None], Callable[[], None], Callable[[], None]]] = []

    def watched(self, tell: Callable[[], None]) -> AbstractContextManager[object]:
        raise NotImplementedError

    def unless_heard(self, undo: Callable[[], None]) -> None:
        raise NotImplementedError

    def once_sent(self, sent: Callable[[], None], read: Callable[[], None], unread: Callable[[], None]) -> None:
        self.promises.append((sent, read, unread))

    def sent(self, *, is_read: bool = True) -> None:
        for sent, read, _ in self.promises:
            sent()
            if is_read:
                read()


ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
PLAIN = Credentials(via="rest", in_arguments=True)


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
        evidence = DeliveryEvidence(marks, elapsed=lambda: made.now_s, max_copies=3)
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
    ((sent, _, _),) = wire.promises
    (answer,) = (one for one in gc.get_referents(*(sent.__closure__ or ())) if isinstance(one, _Answer))
    return answer.message_ids


async def test_of_one_session_the_last_answers_are_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ANSWERS_EACH", 1)
    for message_id in (1, 2):
        (await desk.gives(message_id)).sent()

    desk.now_s = 200.0
    await desk.acts()

    assert desk.shown(1, 2) == [False, True]


async def test_a_session_that_is_gone_keeps_nothing_but_within_the_bound(desk: Desk) -> None:
    for message_id in range(10):
        (await desk.gives(message_id, session=Session())).sent()

    assert len(desk.evidence._sessions) <= 3


async def test_an_answer_that_was_not_read_shows_nothing(desk: Desk) -> None:
    wire = await desk.gives(1)
    wire.sent(is_read=False)
    for _, _, unread in wire.promises:
        unread()

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
