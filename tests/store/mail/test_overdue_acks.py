from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.messages import NewRecipient, RecipientKind
from mcp_agent_mail.store.mail.overdue_acks import SilentRecipient
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def ask(seeded: SeededStore, *to: NewRecipient, ack_required: bool = True) -> MessageId:
    """From BlueLake, a second after the one before."""
    seeded.clock.step()
    message, _ = await seeded.post(seeded.letter(seeded.blue, ack_required=ack_required), *to)
    return message.id


async def due(seeded: SeededStore, until: int | None = None, limit: int = 9) -> list[tuple[int, MessageId]]:
    at = seeded.clock.now if until is None else until
    return await seeded.store.read(lambda view: view.overdue.due(Micros(at), limit))


async def silent(seeded: SeededStore, message_id: MessageId, limit: int = 9) -> list[SilentRecipient]:
    return await seeded.store.read(lambda view: view.overdue.silent(message_id, seeded.clock.now, limit))


async def test_due_is_what_asks_and_is_not_acknowledged(seeded: SeededStore) -> None:
    asked = await ask(seeded, *seeded.addressed([seeded.red, seeded.green]))
    await ask(seeded, *seeded.addressed([seeded.red]), ack_required=False)
    await ask(seeded, replace(seeded.addressed([seeded.fox])[0], held_code="CONTACT_REQUIRED"))
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, asked, tx.now))

    assert await due(seeded) == [(2, asked)]


async def test_due_ends_where_mail_is_younger_than_asked_for(seeded: SeededStore) -> None:
    first = await ask(seeded, *seeded.addressed([seeded.red]))
    at = seeded.clock.now
    second = await ask(seeded, *seeded.addressed([seeded.red]))

    assert await due(seeded, at - 1) == []
    assert await due(seeded, at) == [(1, first)]
    assert await due(seeded) == [(1, first), (2, second)]
    assert await due(seeded, limit=1) == [(1, first)]


async def test_what_was_looked_through_is_not_due_again_and_the_mark_never_falls(seeded: SeededStore) -> None:
    ids = [await ask(seeded, *seeded.addressed([seeded.red])) for _ in range(3)]

    await seeded.store.write(lambda tx: tx.overdue.advance(2))
    await seeded.store.write(lambda tx: tx.overdue.advance(1))

    assert await due(seeded) == [(3, ids[2])]


async def test_the_silent_are_named_in_the_order_addressed_with_what_they_read(seeded: SeededStore) -> None:
    message_id = await ask(
        seeded,
        *seeded.addressed([seeded.green, seeded.fox]),
        *seeded.addressed([seeded.red], RecipientKind.BCC),
        *seeded.addressed([seeded.lib_blue], RecipientKind.CC),
    )
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.fox.id, message_id, tx.now))
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.lib_blue.id, message_id, tx.now))

    found = await silent(seeded, message_id)

    app, lib = (seeded.app.id, "code-app"), (seeded.lib.id, "code-lib")
    assert found == [
        SilentRecipient("GreenField", *app, RecipientKind.TO, None),
        SilentRecipient("QuietFox", *lib, RecipientKind.TO, seeded.clock.now),
        SilentRecipient("RedStone", *app, RecipientKind.BCC, None),
    ]
    assert await silent(seeded, message_id, limit=1) == found[:1]
    assert await seeded.store.read(lambda view: view.overdue.count_silent(message_id, view.now)) == (3, 1)


async def test_nobody_is_silent_before_it_has_had_the_mail_so_long(seeded: SeededStore) -> None:
    message_id = await ask(seeded, *seeded.addressed([seeded.red]))
    just_before = Micros(seeded.clock.now - 1)

    assert await seeded.store.read(lambda view: view.overdue.silent(message_id, just_before, 9)) == []
    assert await seeded.store.read(lambda view: view.overdue.count_silent(message_id, just_before)) == (0, 0)


async def test_a_notice_is_noted_for_its_message_alone(seeded: SeededStore) -> None:
    noted, other = [await ask(seeded, *seeded.addressed([seeded.red])) for _ in range(2)]

    await seeded.store.write(lambda tx: tx.overdue.note(noted, tx.now, None))

    assert await seeded.store.read(lambda view: [view.overdue.is_noted(one) for one in (noted, other)]) == [True, False]
