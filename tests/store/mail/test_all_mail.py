from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import Importance, NewRecipient, RecipientKind
from mcp_agent_mail.store.mail import all_mail
from mcp_agent_mail.store.mail.all_mail import MailQuery, MailSlice
from mcp_agent_mail.store.transaction import View
from tests.seeded_store import SeededStore, open_seeded_store

ANY = MessageId(MOST_NUMBER)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def post(seeded: SeededStore, sender: Agent, to: Sequence[NewRecipient], **given: Any) -> MessageId:
    rest = {name: given.pop(name) for name in ("is_system", "is_private") if name in given}
    message, _ = await seeded.post(replace(seeded.letter(sender, **given), **rest), *to)
    return message.id


async def found(seeded: SeededStore, limit: int = 9, **wish: Any) -> MailSlice:
    query = MailQuery(limit=limit, **wish)
    return await seeded.store.read(lambda view: view.all_mail.page(query))


async def ids(seeded: SeededStore, limit: int = 9, **wish: Any) -> list[MessageId]:
    return [head.id for head in (await found(seeded, limit, **wish)).heads]


async def test_mail_of_all_projects_is_newest_first_page_by_page(seeded: SeededStore) -> None:
    to_red, to_fox = seeded.addressed([seeded.red]), seeded.addressed([seeded.fox])
    sent = [
        await post(seeded, *one) for one in ((seeded.blue, to_red), (seeded.lib_blue, to_fox), (seeded.blue, to_red))
    ]

    first = await found(seeded, 2)
    second = await found(seeded, 2, before=first.next_before)

    assert [head.id for head in first.heads] == sent[:0:-1]
    assert [head.id for head in second.heads] == sent[:1]
    assert second.next_before is None


async def test_each_way_to_walk_finds_the_same_mail_with_each_filter(seeded: SeededStore) -> None:
    to = seeded.addressed([seeded.red])
    plain = await post(seeded, seeded.blue, to)
    loud = await post(seeded, seeded.blue, to, importance=Importance.URGENT, topic="Release")
    told = await post(seeded, seeded.blue, to, is_system=True, importance=Importance.URGENT, topic="release")
    await post(seeded, seeded.lib_blue, seeded.addressed([seeded.fox]))
    ways: list[dict[str, Any]] = [
        {"projects": {seeded.app.id}},
        {"senders": [seeded.blue.id]},
        {"senders": [seeded.blue.id], "projects": {seeded.app.id}},
    ]

    for way in ways:
        assert await ids(seeded, **way) == [loud, plain], way
        assert await ids(seeded, **way, importance=Importance.URGENT) == [loud], way
        assert await ids(seeded, **way, topic="RELEASE") == [loud], way
        assert await ids(seeded, **way, is_system=True) == [told], way
        assert await ids(seeded, **way, is_system=True, topic="other") == [], way
        assert await ids(seeded, **way, before=loud) == [plain], way
    assert await ids(seeded, is_system=True) == [told]
    assert await ids(seeded, is_system=True, topic="other") == []
    assert await ids(seeded, topic="release") == [loud]


async def test_a_sender_of_another_project_is_not_of_this_one(seeded: SeededStore) -> None:
    await post(seeded, seeded.lib_blue, seeded.addressed([seeded.fox]))

    assert await ids(seeded, senders=[seeded.lib_blue.id], projects={seeded.app.id}) == []
    assert await ids(seeded, senders=[]) == []
    assert await ids(seeded, projects=set()) == []


async def test_of_a_project_is_what_was_sent_from_there_or_came_there(seeded: SeededStore) -> None:
    away: dict[str, Any] = {"projects": {seeded.lib.id}}
    here: dict[str, Any] = {"projects": {seeded.app.id}}
    both: dict[str, Any] = {"projects": [seeded.app.id, seeded.lib.id]}
    of_blue: dict[str, Any] = {"senders": [seeded.blue.id]}
    root = await post(seeded, seeded.blue, seeded.addressed([seeded.fox]))
    answer = await post(seeded, seeded.fox, seeded.addressed([seeded.blue]), thread_id=str(root))
    await post(seeded, seeded.blue, seeded.addressed([seeded.red]))
    hidden = await post(seeded, seeded.blue, seeded.addressed([seeded.fox]), is_private=True)

    assert await ids(seeded, **away) == [answer, root]
    assert await ids(seeded, **away, **of_blue) == [root]
    assert await ids(seeded, **away, thread_id=str(root)) == [answer, root]
    assert await ids(seeded, **away, **of_blue, with_closed=True) == [root]
    assert hidden in await ids(seeded, **here, **of_blue, with_closed=True)
    assert await ids(seeded, **both, thread_id=str(root)) == [answer, root]


@pytest.mark.parametrize("way", [{}, {"thread_id": "T"}])
async def test_mail_of_other_projects_pushes_none_of_its_own_off_a_page(
    seeded: SeededStore, way: dict[str, Any]
) -> None:
    own = await post(seeded, seeded.fox, seeded.addressed([seeded.lib_blue]), thread_id="T")
    came = [await post(seeded, seeded.blue, seeded.addressed([seeded.fox]), thread_id="T") for _ in range(4)]

    pages, before = list[MessageId](), None
    while not pages or before is not None:
        page = await found(seeded, 2, before=before, projects={seeded.lib.id}, **way)
        pages += [head.id for head in page.heads]
        before = page.next_before

    assert pages == [*reversed(came), own]


@pytest.mark.parametrize("way", ["everywhere", "project", "sender"])
async def test_held_and_private_mail_is_not_there(seeded: SeededStore, way: str) -> None:
    held = [replace(one, held_code="CONTACT_REQUIRED") for one in seeded.addressed([seeded.fox])]
    await post(seeded, seeded.blue, held)
    private = await post(seeded, seeded.blue, seeded.addressed([seeded.red]), is_private=True)
    ways: dict[str, dict[str, Any]] = {
        "everywhere": {},
        "project": {"projects": {seeded.app.id}},
        "sender": {"senders": [seeded.blue.id]},
    }

    assert await ids(seeded, **ways[way]) == []
    if way != "project":
        assert await ids(seeded, **ways[way], with_closed=True) == [private]


async def test_a_page_looks_back_no_further_than_its_reach(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_mail, "REACH", 3)
    to = seeded.addressed([seeded.red])
    rare = await post(seeded, seeded.blue, to, importance=Importance.URGENT)
    for _ in range(5):
        await post(seeded, seeded.blue, to)

    first = await found(seeded, importance=Importance.URGENT)
    second = await found(seeded, importance=Importance.URGENT, before=first.next_before)

    assert (first.heads, first.next_before) == ([], 4)
    assert ([head.id for head in second.heads], second.next_before) == ([rare], None)


async def test_a_project_that_has_no_older_mail_is_not_looked_through_further(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_mail, "REACH", 3)
    for _ in range(6):
        await post(seeded, seeded.blue, seeded.addressed([seeded.red]))

    assert await found(seeded, projects={seeded.lib.id}) == MailSlice([], None)
    assert (await found(seeded, projects={seeded.app.id})).next_before == 4


async def test_there_is_nothing_in_an_empty_store(seeded: SeededStore) -> None:
    assert await found(seeded) == MailSlice([], None)
    assert await found(seeded, before=ANY) == MailSlice([], None)


async def human_of(seeded: SeededStore) -> Agent:
    human = await seeded.store.read(lambda view: view.agents.find_by_name(seeded.app.id, "Human"))
    assert human is not None
    return human


async def test_what_a_person_has_to_read_and_to_acknowledge(seeded: SeededStore) -> None:
    human = await human_of(seeded)
    asks = await post(seeded, seeded.blue, seeded.addressed([human]), ack_required=True)
    tells = await post(seeded, seeded.blue, seeded.addressed([human, seeded.red]))
    await post(seeded, seeded.blue, seeded.addressed([seeded.red]), ack_required=True)

    unread = await seeded.store.read(lambda view: view.all_mail.unread_by_person(9, ANY))
    owed = await seeded.store.read(lambda view: view.all_mail.owed_by_person(9, ANY))
    one = await seeded.store.read(lambda view: view.all_mail.unread_by_person(1, tells))

    assert [mail.head.id for mail in unread] == [tells, asks]
    assert [mail.head.id for mail in owed] == [asks]
    assert [mail.head.id for mail in one] == [asks]
    assert await seeded.store.read(lambda view: view.all_mail.count_to_person()) == (2, 1)


async def test_what_the_person_acknowledged_waits_no_more_and_says_when(seeded: SeededStore) -> None:
    human = await human_of(seeded)
    asks = await post(seeded, seeded.blue, seeded.addressed([human]), ack_required=True)
    blind = await post(seeded, seeded.blue, seeded.addressed([human], RecipientKind.BCC))
    other = await post(seeded, seeded.blue, seeded.addressed([seeded.red]))
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(human.id, asks, tx.now))

    states = await seeded.store.read(lambda view: view.all_mail.states_of_person([asks, blind, other]))

    assert states == {asks: (seeded.clock.now, seeded.clock.now), blind: (None, None)}
    assert await seeded.store.read(lambda view: view.all_mail.owed_by_person(9, ANY)) == []
    assert await seeded.store.read(lambda view: view.all_mail.count_to_person()) == (1, 0)


async def test_mail_with_a_topic_is_found_over_all_projects_page_by_page(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_mail, "_AT_ONCE", 2)
    to_red, to_fox = seeded.addressed([seeded.red]), seeded.addressed([seeded.fox])
    sent = []
    for _ in range(5):
        sent.append(await post(seeded, seeded.blue, to_red, topic="Release"))
        sent.append(await post(seeded, seeded.lib_blue, [*to_fox, *to_red], topic="RELEASE"))
        await post(seeded, seeded.blue, to_red, topic="other", importance=Importance.URGENT)
    loud = await post(seeded, seeded.blue, to_red, topic="release", importance=Importance.URGENT)
    await post(seeded, seeded.blue, to_red)

    first = await found(seeded, 4, topic="release")
    second = await found(seeded, 9, topic="release", before=first.next_before)

    assert [head.id for head in (*first.heads, *second.heads)] == [loud, *reversed(sent)]
    assert second.next_before is None
    assert await ids(seeded, topic="release", importance=Importance.URGENT) == [loud]


async def test_mail_of_a_thread_to_somebody_and_between_times_is_found(seeded: SeededStore) -> None:
    first = await post(seeded, seeded.blue, seeded.addressed([seeded.red]))
    second = await post(seeded, seeded.red, seeded.addressed([seeded.blue]), thread_id=str(first))
    third = await post(seeded, seeded.blue, seeded.addressed([seeded.red], RecipientKind.BCC))
    at = (await found(seeded, 9, with_closed=True)).heads[0].created_ts
    to_red, to_blue = [seeded.red.id], [seeded.blue.id]

    assert await ids(seeded, thread_id=str(first)) == [second, first]
    assert await ids(seeded, thread_id=str(first), senders=[seeded.red.id]) == [second]
    assert await ids(seeded, thread_id=str(first), projects=[ProjectId(99)]) == []
    assert await ids(seeded, recipients=to_red) == [first]
    assert await ids(seeded, recipients=to_red, with_closed=True) == [third, first]
    assert await ids(seeded, recipients=to_blue, senders=[seeded.blue.id]) == []
    assert await ids(seeded, recipients=[*to_red, *to_blue]) == [second, first]
    assert await ids(seeded, begin_ts=Micros(at + 1)) == []
    assert third in await ids(seeded, begin_ts=at, end_ts=Micros(at + 1), with_closed=True)
    assert await ids(seeded, end_ts=Micros(1)) == []


QUERIES = [
    MailQuery(limit=9),
    MailQuery(limit=9, with_closed=True),
    MailQuery(limit=9, is_system=True),
    MailQuery(limit=9, projects=[ProjectId(1)]),
    MailQuery(limit=9, topic="release"),
    MailQuery(limit=9, importance=Importance.URGENT),
    MailQuery(limit=9, thread_id="T-1"),
    MailQuery(limit=9, recipients=[AgentId(1), AgentId(2)]),
    MailQuery(limit=9, begin_ts=Micros(1), end_ts=Micros(2)),
]


@pytest.mark.parametrize("query", QUERIES)
async def test_a_page_of_all_mail_reads_no_table_but_from_its_newest_end(seeded: SeededStore, query: MailQuery) -> None:
    await post(seeded, seeded.blue, seeded.addressed([seeded.red]), topic="release", importance=Importance.URGENT)

    plans = await plans_of(seeded, lambda view: view.all_mail.page(query))

    steps = [step for plan in plans for step in plan if "VIRTUAL TABLE" not in step]
    walks = [step for step in steps if step.startswith("SCAN") and step != "SCAN CONSTANT ROW"]
    assert walks == ([] if query.topic is None else ["SCAN p USING COVERING INDEX projects_plain_slug"])
    if query.topic is not None:
        assert any("message_projects_topic (project_id=? AND topic_key=? AND message_id>?" in step for step in steps)
    by_number = (query.topic, query.recipients, query.thread_id) != (None, None, None)
    assert all("TEMP B-TREE" not in step for step in steps) or by_number


async def plans_of(seeded: SeededStore, query: Callable[[View], object]) -> list[list[str]]:
    """The steps of each statement that `query` runs."""
    statements: list[str] = []
    reading = seeded.store._reading
    reading.set_trace_callback(statements.append)
    await seeded.store.read(query)
    reading.set_trace_callback(None)
    return [
        [row[3] for row in reading.execute(f"EXPLAIN QUERY PLAN {statement}")]
        for statement in statements
        if statement.lstrip().startswith("SELECT")
    ]
