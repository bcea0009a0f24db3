from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import LinkStatus
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.store.mail import held_mail
from mcp_agent_mail.store.mail.held_mail import HeldAmount
from mcp_agent_mail.store.mail.inboxes import InboxPage
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def hold(
    seeded: SeededStore,
    target: Agent,
    *,
    sender: Agent | None = None,
    also: Agent | None = None,
    kind: RecipientKind = RecipientKind.TO,
    body: str = "body",
) -> MessageId:
    """From BlueLake unless said otherwise, with the request that a held copy comes with."""
    source = sender or seeded.blue
    copy = replace(seeded.addressed([target], kind)[0], held_code="CONTACT_REQUIRED")
    others = [] if also is None else seeded.addressed([also])
    seeded.clock.step()
    message, _ = await seeded.post(seeded.letter(source, body=body, thread_id="T", topic="Build"), copy, *others)
    await seeded.store.write(
        lambda tx: tx.contacts.put(
            source.id, target.id, status=LinkStatus.PENDING, reason="", expires_ts=None, now=tx.now
        )
    )
    return message.id


async def inbox(seeded: SeededStore, agent: Agent) -> list[MessageId]:
    entries = await seeded.store.read(lambda view: view.inboxes.page(agent.id, InboxPage(limit=9, oldest_first=True)))
    return [entry.head.id for entry in entries]


async def deliver(seeded: SeededStore, source: Agent, target: Agent) -> list[MessageId]:
    return await seeded.store.write(lambda tx: tx.held.deliver(source.id, target.id, tx.now))


async def refuse(seeded: SeededStore, source: Agent, target: Agent) -> list[MessageId]:
    return await seeded.store.write(lambda tx: tx.held.refuse(source.id, target.id, tx.now))


async def waiting_for(seeded: SeededStore, target: Agent) -> int:
    return await seeded.store.read(lambda view: view.held.count_for(target.id))


async def open_to(seeded: SeededStore, message_id: MessageId) -> list[ProjectId]:
    projects = (seeded.app.id, seeded.lib.id)
    return await seeded.store.read(
        lambda view: [project for project in projects if view.messages.is_open_to(message_id, project)]
    )


async def unread(seeded: SeededStore, agent_id: AgentId) -> tuple[int, int]:
    sql = "SELECT unread_count, open_unread_count FROM agents WHERE id = ?"
    ((count, open_count),) = await seeded.rows(sql, agent_id)
    return count, open_count


async def test_how_much_of_a_pair_waits_is_told_with_all_copies_of_those_messages(seeded: SeededStore) -> None:
    await hold(seeded, seeded.fox, body="four")
    await hold(seeded, seeded.fox, body="caf\u00e9", also=seeded.red)
    await hold(seeded, seeded.fox, sender=seeded.red)

    amount = await seeded.store.read(lambda view: view.held.waiting(seeded.blue.id, seeded.fox.id))

    assert amount == HeldAmount(messages=2, body_bytes=9, copies=3)
    assert await waiting_for(seeded, seeded.fox) == 3
    assert await seeded.store.read(lambda view: view.held.waiting(seeded.fox.id, seeded.blue.id)) == (0, 0, 0)


async def test_what_waits_of_a_pair_is_delivered_in_the_order_of_holding(seeded: SeededStore) -> None:
    first, second = [await hold(seeded, seeded.fox) for _ in range(2)]
    of_another = await hold(seeded, seeded.fox, sender=seeded.red)
    before = await inbox(seeded, seeded.fox)

    delivered = await deliver(seeded, seeded.blue, seeded.fox)

    assert before == []
    assert delivered == await inbox(seeded, seeded.fox) == [first, second]
    assert await open_to(seeded, of_another) == []
    assert await unread(seeded, seeded.fox.id) == (2, 2)
    assert await waiting_for(seeded, seeded.fox) == 1


async def test_a_delivery_is_behind_all_that_came_before_it(seeded: SeededStore) -> None:
    late = await hold(seeded, seeded.fox)
    early, _ = await seeded.post(seeded.letter(seeded.lib_blue), *seeded.addressed([seeded.fox]))
    seeded.clock.step()

    await deliver(seeded, seeded.blue, seeded.fox)

    assert await inbox(seeded, seeded.fox) == [early.id, late]
    (*_, copy) = await seeded.store.read(lambda view: view.messages.recipients(late))
    assert (copy.delivery_seq, copy.delivered_ts) == (2, seeded.clock.now)


async def test_a_delivery_opens_the_message_to_both_projects_and_a_blind_one_to_the_senders(
    seeded: SeededStore,
) -> None:
    openly = await hold(seeded, seeded.fox)
    blindly = await hold(seeded, seeded.fox, kind=RecipientKind.BCC)

    await deliver(seeded, seeded.blue, seeded.fox)

    assert await open_to(seeded, openly) == [seeded.app.id, seeded.lib.id]
    assert await open_to(seeded, blindly) == [seeded.app.id]
    assert await unread(seeded, seeded.fox.id) == (2, 1)


async def test_a_delivery_keeps_the_place_of_a_message_that_was_open_already(seeded: SeededStore) -> None:
    message_id = await hold(seeded, seeded.fox, also=seeded.red)
    before = await seeded.store.read(lambda view: view.messages.place(seeded.app.id, message_id))

    await deliver(seeded, seeded.blue, seeded.fox)

    assert before is not None
    assert await seeded.store.read(lambda view: view.messages.place(seeded.app.id, message_id)) == before


async def test_a_thread_and_a_topic_hold_what_was_delivered_late(seeded: SeededStore) -> None:
    message_id = await hold(seeded, seeded.fox)

    await deliver(seeded, seeded.blue, seeded.fox)

    of_thread, of_topic = await seeded.store.read(
        lambda view: (
            view.thread_messages.list_(seeded.lib.id, "T", limit=9),
            view.messages.list_topic(seeded.lib.id, "build", limit=9),
        )
    )
    assert [head.id for head in of_thread] == [head.id for head in of_topic] == [message_id]


async def test_where_nothing_waits_nothing_is_delivered_and_no_number_and_no_time_drawn(seeded: SeededStore) -> None:
    seeded.clock.step(60)
    assert await deliver(seeded, seeded.blue, seeded.fox) == []
    seeded.clock.step(-60)

    _, (copy,) = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

    assert (copy.delivery_seq, copy.delivered_ts) == (1, seeded.clock.now)


async def test_what_was_refused_goes_back_and_is_never_delivered(seeded: SeededStore) -> None:
    message_id = await hold(seeded, seeded.fox, also=seeded.red)
    seeded.clock.step()
    assert await refuse(seeded, seeded.blue, seeded.fox) == [message_id]
    refused_ts = seeded.clock.now
    seeded.clock.step()

    again = await refuse(seeded, seeded.blue, seeded.fox)

    assert (again, await deliver(seeded, seeded.blue, seeded.fox)) == ([], [])
    assert await waiting_for(seeded, seeded.fox) == 0
    copies = await seeded.store.read(lambda view: view.messages.recipients(message_id))
    assert {copy.name: copy.refused_ts for copy in copies} == {"QuietFox": refused_ts, "RedStone": None}


async def test_both_sides_list_what_waits_oldest_first_by_pages(seeded: SeededStore) -> None:
    first = await hold(seeded, seeded.fox)
    second = await hold(seeded, seeded.lib_blue)
    third = await hold(seeded, seeded.fox)

    def pages(after: int) -> tuple[list[int], list[int]]:
        view = seeded.store.read_now
        return (
            [one.message_id for one in view(lambda v: v.held.list_for(seeded.fox.id, after_id=after, limit=2))],
            [one.message_id for one in view(lambda v: v.held.list_by(seeded.blue.id, after_id=after, limit=2))],
        )

    assert pages(0) == ([first, third], [first, second])
    assert pages(second) == ([third], [third])
    assert await refuse(seeded, seeded.blue, seeded.fox) == [first, third]
    assert pages(0) == ([], [second])


async def test_a_line_of_the_list_names_both_ends_and_why(seeded: SeededStore) -> None:
    message_id = await hold(seeded, seeded.fox)

    (line,) = await seeded.store.read(lambda view: view.held.list_for(seeded.fox.id, limit=9))

    assert (line.message_id, line.subject, line.code) == (message_id, "Plan", "CONTACT_REQUIRED")
    assert (line.sender, line.sender_project_slug) == ("BlueLake", "code-app")
    assert (line.recipient, line.recipient_project_slug) == ("QuietFox", "code-lib")
    assert (line.created_ts, line.refused_ts) == (seeded.clock.now, None)


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("_OF_PAIR", {"source": 1, "target": 2}),
        ("_COUNT_FOR", (1,)),
        ("_LIST_FOR", {"target": 1, "after": 0, "limit": 1}),
        ("_LIST_BY", {"source": 1, "after": 0, "limit": 1}),
    ],
)
async def test_held_mail_is_found_by_its_index(seeded: SeededStore, sql: str, values: object) -> None:

    plan = seeded.store._reading.execute(f"EXPLAIN QUERY PLAN {getattr(held_mail, sql)}", values).fetchall()  # type: ignore[arg-type]

    assert "recipients_held" in str(plan)
    assert "SCAN m" not in str(plan)
