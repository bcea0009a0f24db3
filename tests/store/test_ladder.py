from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.ladder import LadderStep
from mcp_agent_mail.domain.messages import Importance, Terms
from mcp_agent_mail.store.checks.integrity import find_faults
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def send(seeded: SeededStore, terms: Terms | None = None) -> MessageId:
    """Urgent, and asking for an acknowledgement, to RedStone and GreenField."""
    letter = seeded.letter(seeded.blue, importance=Importance.URGENT, ack_required=True)
    letter = letter if terms is None else replace(letter, terms=terms)
    message, _ = await seeded.post(letter, *seeded.addressed([seeded.red, seeded.green]))
    return message.id


async def statuses(seeded: SeededStore, message_id: MessageId) -> dict[str, str]:
    copies = await seeded.store.read(lambda view: view.ladder.copies(message_id))
    return {copy.name: copy.progress.status for copy in copies}


def is_consistent(seeded: SeededStore) -> bool:
    """Do all counts say what the rows do?"""
    return find_faults(seeded.store.path) == []


async def test_a_withdrawal_ends_what_is_unread_and_every_count_follows(seeded: SeededStore) -> None:
    sent = await send(seeded)
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.green.id, sent, tx.now))

    at = await seeded.store.write(lambda tx: tx.ladder.withdraw(sent, tx.now, "wrong"))

    assert await statuses(seeded, sent) == {"RedStone": "withdrawn", "GreenField": "acknowledged"}
    copies = await seeded.store.read(lambda view: view.ladder.copies(sent))
    assert [copy.progress.steps.get(LadderStep.WITHDRAWN) for copy in copies] == [at, at]
    assert is_consistent(seeded)


async def test_the_time_of_a_withdrawal_never_falls_behind_a_delivery(seeded: SeededStore) -> None:
    sent = await send(seeded)
    delivered = seeded.clock.now
    seeded.clock.step(-60)

    assert await seeded.store.write(lambda tx: tx.ladder.withdraw(sent, tx.now, None)) == delivered


async def test_what_expires_is_found_by_its_time_and_counted_off(seeded: SeededStore) -> None:
    until = Micros(seeded.clock.now + 5 * SECOND)
    sent = await send(seeded, Terms(valid_until=until))
    assert await seeded.store.read(lambda view: view.ladder.earliest_expiry()) == until

    early = await seeded.store.write(lambda tx: tx.ladder.expire_due(Micros(until - 1)))
    due = await seeded.store.write(lambda tx: tx.ladder.expire_due(until))

    assert (early, due) == ([], [sent])
    assert await statuses(seeded, sent) == {"RedStone": "expired", "GreenField": "expired"}
    assert await seeded.store.read(lambda view: view.ladder.earliest_expiry()) is None
    assert is_consistent(seeded)


async def test_whoever_got_the_new_one_has_the_old_one_no_more(seeded: SeededStore) -> None:
    old = await send(seeded)
    letter = replace(seeded.letter(seeded.blue), terms=Terms(supersedes=old))

    await seeded.post(letter, *seeded.addressed([seeded.red]))

    assert await statuses(seeded, old) == {"RedStone": "withdrawn", "GreenField": "delivered"}
    left = await seeded.store.read(lambda view: view.ladder.delivered_to(seeded.green.id, [old]))
    assert left == [old]
    assert await seeded.store.read(lambda view: view.ladder.delivered_to(seeded.red.id, [old])) == []
    assert is_consistent(seeded)


async def test_only_what_was_handed_over_is_shown_and_each_at_its_first_time(seeded: SeededStore) -> None:
    sent = await send(seeded)

    def show(at: int) -> None:
        seeded.store.write_soon(lambda tx: tx.ladder.show(seeded.red.id, [sent], Micros(tx.now + at)))

    show(0)
    await seeded.store.write(lambda tx: tx.ladder.hand_over(seeded.red.id, [sent], tx.now))
    assert await statuses(seeded, sent) == {"RedStone": "handed_over", "GreenField": "delivered"}
    show(1)
    show(2)
    await seeded.store.write(lambda tx: tx.ladder.hand_over(seeded.red.id, [sent], Micros(tx.now + 9)))

    first, _ = await seeded.store.read(lambda view: view.ladder.copies(sent))
    now = seeded.clock.now
    assert (first.progress.steps[LadderStep.HANDED_OVER], first.progress.steps[LadderStep.SHOWN]) == (now, now + 1)
