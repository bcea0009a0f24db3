from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import Importance, NewRecipient, RecipientKind
from mcp_agent_mail.store.mail.delivery import draw_deliveries
from mcp_agent_mail.store.mail.inboxes import InboxPage, MailFilter
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


def held(seeded: SeededStore, *agents: Agent) -> list[NewRecipient]:
    return [replace(one, held_code="CONTACT_REQUIRED") for one in seeded.addressed(agents)]


async def unread(seeded: SeededStore, agent: Agent) -> tuple[int, int]:
    """All of it, and what others may know of."""
    sql = "SELECT unread_count, open_unread_count FROM agents WHERE id = ?"
    ((count, open_count),) = await seeded.rows(sql, agent.id)
    return count, open_count


async def topic_keys(seeded: SeededStore) -> list[tuple[str | None, str | None]]:
    sql = """SELECT m.topic_key, r.topic_key FROM message_projects m JOIN recipients r USING (message_id)
             ORDER BY message_id"""
    return [(one, other) for one, other in await seeded.rows(sql)]


async def test_delivery_numbers_rise_over_all_recipients_and_messages(seeded: SeededStore) -> None:
    _, first = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red, seeded.green]))
    _, second = await seeded.post(seeded.letter(seeded.red), *seeded.addressed([seeded.blue]))

    assert [r.delivery_seq for r in (*first, *second)] == [1, 2, 3]


async def test_delivery_times_never_fall_though_the_clock_does(seeded: SeededStore) -> None:
    _, first = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    seeded.clock.step(-3_600)

    message, second = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

    assert second[0].delivered_ts == first[0].delivered_ts
    assert message.created_ts == seeded.clock.now


async def test_a_message_is_open_to_the_projects_of_its_sender_and_of_those_addressed_openly(
    seeded: SeededStore,
) -> None:
    openly, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.fox]))
    blindly, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.fox], RecipientKind.BCC))

    async def open_to(message_id: MessageId) -> list[bool]:
        return await seeded.store.read(
            lambda view: [view.messages.is_open_to(message_id, project.id) for project in (seeded.app, seeded.lib)]
        )

    assert await open_to(openly.id) == [True, True]
    assert await open_to(blindly.id) == [True, False]
    both, lib = [openly.id, blindly.id], seeded.lib.id
    assert await seeded.store.read(
        lambda view: (view.messages.open_projects(both, [lib]), view.messages.open_projects([blindly.id], [lib]))
    ) == (frozenset({lib}), frozenset())


async def test_a_blind_copy_to_another_project_is_in_the_search_scope_of_its_recipient_alone(
    seeded: SeededStore,
) -> None:
    message, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.fox], RecipientKind.BCC))

    rows = await seeded.rows("SELECT scope FROM messages WHERE id = ?", message.id)

    assert [scope for (scope,) in rows] == [f"p{seeded.app.id} b{seeded.fox.id}"]


async def test_what_is_answered_is_what_is_stored(seeded: SeededStore) -> None:
    new = replace(seeded.letter(seeded.blue, importance=Importance.HIGH, ack_required=True), subject="Plan B")

    message, recipients = await seeded.post(new, *seeded.addressed([seeded.red, seeded.green]))

    assert await seeded.store.read(lambda view: view.messages.find(message.id)) == message
    assert await seeded.store.read(lambda view: view.messages.recipients(message.id)) == recipients
    assert [(one.name, one.position, one.status) for one in recipients] == [
        ("RedStone", 0, "delivered"),
        ("GreenField", 1, "delivered"),
    ]


async def test_whoever_is_held_gets_no_number_and_the_others_are_numbered_without_it(seeded: SeededStore) -> None:
    everyone = [*seeded.addressed([seeded.red]), *held(seeded, seeded.fox), *seeded.addressed([seeded.green])]

    _, recipients = await seeded.post(seeded.letter(seeded.blue), *everyone)

    assert [(one.delivery_seq, one.held_code) for one in recipients] == [
        (1, None),
        (None, "CONTACT_REQUIRED"),
        (2, None),
    ]
    assert [one.delivered_ts is None for one in recipients] == [False, True, False]
    assert await unread(seeded, seeded.fox) == (0, 0)


async def test_mail_is_open_to_a_project_only_once_somebody_there_has_got_it(seeded: SeededStore) -> None:
    partly, _ = await seeded.post(
        seeded.letter(seeded.blue), *seeded.addressed([seeded.red]), *held(seeded, seeded.fox)
    )
    wholly, _ = await seeded.post(seeded.letter(seeded.blue), *held(seeded, seeded.red, seeded.fox))

    open_to = await seeded.store.read(
        lambda view: [
            view.messages.is_open_to(message.id, project.id)
            for message in (partly, wholly)
            for project in (seeded.app, seeded.lib)
        ]
    )

    assert open_to == [True, False, False, False]


async def test_a_private_message_is_no_projects_mail(seeded: SeededStore) -> None:
    new = replace(seeded.letter(seeded.blue), is_private=True)

    message, _ = await seeded.post(new, *seeded.addressed([seeded.red]))

    found = await seeded.store.read(lambda view: view.messages.find(message.id))
    assert found == message
    assert found is not None
    assert found.is_private
    assert not await seeded.store.read(lambda view: view.messages.is_open_to(message.id, seeded.app.id))


async def test_each_recipient_has_it_unread_and_only_open_copies_are_counted_for_others(seeded: SeededStore) -> None:
    await seeded.post(
        seeded.letter(seeded.blue),
        *seeded.addressed([seeded.red]),
        *seeded.addressed([seeded.green], RecipientKind.BCC),
    )
    await seeded.post(replace(seeded.letter(seeded.blue), is_private=True), *seeded.addressed([seeded.red]))

    assert await unread(seeded, seeded.red) == (2, 1)
    assert await unread(seeded, seeded.green) == (1, 0)
    assert await unread(seeded, seeded.blue) == (0, 0)


async def test_topics_are_kept_by_their_key_with_the_project_and_with_the_copy(seeded: SeededStore) -> None:
    await seeded.post(seeded.letter(seeded.blue, topic="Build-2"), *seeded.addressed([seeded.red]))
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

    assert await topic_keys(seeded) == [("build-2", "build-2"), (None, None)]


async def test_an_urgent_copy_is_found_among_the_urgent_ones(seeded: SeededStore) -> None:
    urgent, _ = await seeded.post(
        seeded.letter(seeded.blue, importance=Importance.HIGH), *seeded.addressed([seeded.red])
    )
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

    entries = await seeded.store.read(
        lambda view: view.inboxes.page(seeded.red.id, InboxPage(limit=9, keep=MailFilter.URGENT))
    )

    assert [entry.head.id for entry in entries] == [urgent.id]


async def test_drawn_numbers_are_nobody_elses(seeded: SeededStore) -> None:
    now = seeded.clock.now

    first, _ = await seeded.store.write(lambda tx: draw_deliveries(tx.messages._connection, 3, now))
    second, _ = await seeded.store.write(lambda tx: draw_deliveries(tx.messages._connection, 1, now))

    assert (first, second) == (1, 4)
