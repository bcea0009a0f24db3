from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, MessageId
from mcp_agent_mail.domain.attachments import Attachment, StoredContent
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.store.mail import past_mail
from mcp_agent_mail.store.mail.past_mail import DAY, MailDay
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store

_NOTES = Attachment(
    content=StoredContent(sha256="a" * 64, bytes=3, extension="txt"), name="notes.txt", media_type="text/plain"
)


def _carry(message_id: MessageId, tx: Tx) -> None:
    tx.attachments.add(message_id, [_NOTES])


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def test_days_count_what_was_sent_since_then(seeded: SeededStore) -> None:
    first = seeded.clock() // DAY
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    seeded.clock.step(2 * 86_400)
    for _ in range(3):
        await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

    all_days = await seeded.store.read(lambda view: view.past_mail.days(seeded.app.id, Micros(0), 9))
    newest = await seeded.store.read(lambda view: view.past_mail.days(seeded.app.id, Micros((first + 1) * DAY), 9))

    assert all_days == [MailDay(first + 2, 3), MailDay(first, 1)]
    assert newest == [MailDay(first + 2, 3)]


async def test_pairs_leave_out_blind_copies_and_the_servers_mail_and_count_most_first(seeded: SeededStore) -> None:
    for _ in range(2):
        await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    blind = seeded.addressed([seeded.green], RecipientKind.BCC)
    message, _ = await seeded.post(seeded.letter(seeded.red), *seeded.addressed([seeded.blue, seeded.fox]), *blind)

    told = replace(seeded.letter(seeded.green), is_system=True)
    await seeded.post(told, *seeded.addressed([seeded.red]))

    found = await seeded.store.read(lambda view: view.past_mail.pairs(seeded.app.id, 9))

    assert [(one.sender, one.recipient, one.recipient_slug, one.messages) for one in found] == [
        ("BlueLake", "RedStone", "code-app", 2),
        ("RedStone", "BlueLake", "code-app", 1),
        ("RedStone", "QuietFox", "code-lib", 1),
    ]
    assert found[1].newest == message.id


async def test_carriers_are_mail_with_attachments_below_one(seeded: SeededStore) -> None:
    ids = []
    for has_one in (True, False, True):
        message, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
        ids.append(message.id)
        if has_one:
            await seeded.store.write(partial(_carry, message.id))

    everything = await seeded.store.read(
        lambda view: view.past_mail.carriers(seeded.app.id, MessageId(MOST_NUMBER), limit=9)
    )
    older = await seeded.store.read(lambda view: view.past_mail.carriers(seeded.app.id, ids[2], limit=9))
    elsewhere = await seeded.store.read(
        lambda view: view.past_mail.carriers(seeded.lib.id, MessageId(MOST_NUMBER), limit=9)
    )

    assert [one.id for one in everything] == [ids[2], ids[0]]
    assert [one.id for one in older] == [ids[0]]
    assert elsewhere == []


async def test_mail_that_carries_nothing_and_what_others_carry_is_leapt_over(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_mail, "REACH", 6)
    carriers = []
    for _ in range(2):
        own, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
        carriers.append(own.id)
        for _ in range(5):
            other, _ = await seeded.post(seeded.letter(seeded.fox), *seeded.addressed([seeded.fox]))
            await seeded.store.write(partial(_carry, other.id))
        for _ in range(5):
            await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    for one in carriers:
        await seeded.store.write(partial(_carry, one))

    everything = await seeded.store.read(
        lambda view: view.past_mail.carriers(seeded.app.id, MessageId(MOST_NUMBER), limit=9)
    )
    newest = await seeded.store.read(
        lambda view: view.past_mail.carriers(seeded.app.id, MessageId(MOST_NUMBER), limit=1)
    )

    assert [one.id for one in everything] == carriers[::-1]
    assert [one.id for one in newest] == carriers[1:]


async def test_mail_that_came_before_the_days_is_not_looked_up(seeded: SeededStore) -> None:
    """What no clock makes shows that: mail that was sent after it came."""
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    since = Micros(seeded.clock() // DAY * DAY)
    came = "UPDATE message_projects SET delivered_ts = ?"

    counted = await seeded.store.read(lambda view: view.past_mail.days(seeded.app.id, since, 9))
    await seeded.store.write(lambda tx: tx.past_mail._connection.execute(came, (since - 1,)).rowcount)
    uncounted = await seeded.store.read(lambda view: view.past_mail.days(seeded.app.id, since, 9))

    assert (counted, uncounted) == ([MailDay(since // DAY, 1)], [])


async def test_mail_that_was_held_is_of_the_day_when_it_was_sent(seeded: SeededStore) -> None:
    sent = seeded.clock() // DAY
    held = [replace(one, held_code="CONTACT_REQUIRED") for one in seeded.addressed([seeded.fox])]
    await seeded.post(seeded.letter(seeded.blue), *held)
    seeded.clock.step(2 * 86_400)
    delivered = await seeded.store.write(lambda tx: tx.held.deliver(seeded.blue.id, seeded.fox.id, tx.now))

    all_days = await seeded.store.read(lambda view: view.past_mail.days(seeded.lib.id, Micros(0), 9))
    newest = await seeded.store.read(lambda view: view.past_mail.days(seeded.lib.id, Micros((sent + 1) * DAY), 9))

    assert len(delivered) == 1
    assert (all_days, newest) == ([MailDay(sent, 1)], [])


async def test_what_carries_something_is_looked_for_as_far_back_as_so_many_leaps(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    await seeded.store.write(partial(_carry, own.id))
    for _ in range(4):
        await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
        other, _ = await seeded.post(seeded.letter(seeded.fox), *seeded.addressed([seeded.fox]))
        await seeded.store.write(partial(_carry, other.id))

    async def found() -> list[MessageId]:
        heads = await seeded.store.read(
            lambda view: view.past_mail.carriers(seeded.app.id, MessageId(MOST_NUMBER), limit=9)
        )
        return [one.id for one in heads]

    monkeypatch.setattr(past_mail, "REACH", 4)
    assert await found() == []
    monkeypatch.setattr(past_mail, "REACH", 5)
    assert await found() == [own.id]
