"""Mail whose time has passed has ended for everybody who asks, however long it takes to write that down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.ladder import LadderStep
from mcp_agent_mail.domain.messages import Importance, Message, Terms
from mcp_agent_mail.store.checks.integrity import find_faults
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.feed import FeedEntry
from mcp_agent_mail.store.ladder import EXPIRED_AT_ONCE
from mcp_agent_mail.store.mail.inboxes import InboxCounts, InboxPage, MailFilter
from mcp_agent_mail.store.mail.message_events import end_expired, end_expired_of, post
from mcp_agent_mail.store.mail.passed_ends import EndCounts
from mcp_agent_mail.store.transaction import Tx, View
from tests.faults.test_store_faults import Trouble, io_error
from tests.seeded_store import SeededStore, open_seeded_store

LIFE_S = 10
GONE = {MailFilter.UNREAD, MailFilter.URGENT_UNREAD, MailFilter.STANDING, MailFilter.URGENT_STANDING}


def _events(view: View, seeded: SeededStore, limit: int) -> list[FeedEntry]:
    return view.feed.after(seeded.red.id, 0, limit, is_proven=True)


def letter_of(seeded: SeededStore, **terms: Micros | MessageId | None) -> Terms:
    return Terms(valid_until=Micros(seeded.clock.now + LIFE_S * SECOND), **terms)  # type: ignore[arg-type]


def posted(tx: Tx, seeded: SeededStore, terms: Terms | None = None) -> Message:
    new = seeded.letter(seeded.blue, importance=Importance.URGENT, ack_required=True)
    new = replace(new, terms=letter_of(seeded) if terms is None else terms)
    tx.note_expiry(Micros(seeded.clock.now + LIFE_S * SECOND))
    return post(tx, new, seeded.addressed([seeded.red, seeded.green]))[0]


@pytest.fixture
async def lagging(tmp_path: Path) -> AsyncIterator[SeededStore]:
    """A store in which one message was read and one was not, both passed; nothing can be written since."""
    trouble = Trouble(FailPoint.BEFORE_COMMIT, io_error())
    async with open_seeded_store(tmp_path) as seeded:
        pass
    async with Store(tmp_path / "mail.sqlite3", clock=seeded.clock, fault_hook=trouble) as store:
        opened = replace(seeded, store=store)
        for reads in (True, False):
            sent = await store.write(lambda tx: posted(tx, opened))
            if reads:
                await store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, sent.id, tx.now))  # noqa: B023
        seeded.clock.step(LIFE_S)
        trouble.is_on = True
        yield opened
        assert [entry.event for entry in store.read_now(lambda view: _events(view, seeded, 9))] == [
            "delivered",
            "delivered",
        ]


async def test_no_list_of_what_is_unread_has_it_and_a_list_of_all_says_that_it_expired(lagging: SeededStore) -> None:
    def look(view: View) -> dict[MailFilter, list[tuple[MessageId, bool]]]:
        return {
            keep: [
                (entry.head.id, entry.expired_ts is not None)
                for entry in view.inboxes.page(lagging.red.id, InboxPage(limit=9, keep=keep))
            ]
            for keep in MailFilter
        }

    lists = await lagging.store.read(look)

    read, unread = MessageId(1), MessageId(2)
    both = [(unread, True), (read, False)]
    assert lists[MailFilter.ANY] == lists[MailFilter.URGENT] == both
    assert lists[MailFilter.UNREAD] == lists[MailFilter.URGENT_UNREAD] == []
    for keep in (MailFilter.STANDING, MailFilter.URGENT_STANDING, MailFilter.UNACKNOWLEDGED):
        assert lists[keep] == [(read, False)]


async def test_no_count_and_no_signal_has_it(lagging: SeededStore) -> None:
    def look(view: View) -> tuple[InboxCounts, InboxCounts, int, bool]:
        (inbox,) = view.unread.inboxes([lagging.green.id])
        blind = view.unread.blind_from(lagging.blue.id, lagging.green.id, 9)
        counts = [view.inboxes.counts(one.id) for one in (lagging.red, lagging.green)]
        return counts[0], counts[1], blind, inbox.newest is None

    red, green, blind, is_silent = await lagging.store.read(look)

    assert red == InboxCounts(total=2, unread=0, ack_pending=1, urgent_unread=0)
    assert green == InboxCounts(total=2, unread=0, ack_pending=0, urgent_unread=0)
    assert (blind, is_silent) == (0, True)


async def test_what_others_may_count_of_it_is_known_apart(lagging: SeededStore) -> None:
    red, green = [
        await lagging.store.read(lambda view: view.unread.passed(one.id))  # noqa: B023  # run at once
        for one in (lagging.red, lagging.green)
    ]

    assert red == EndCounts(unread=1, ack_pending=1, urgent_unread=1, open=1)
    assert green == EndCounts(unread=2, ack_pending=2, urgent_unread=2, open=2)


async def test_its_sender_is_told_when_it_expired_and_what_was_read_in_time_never_did(lagging: SeededStore) -> None:
    copies = await lagging.store.read(lambda view: view.ladder.copies(MessageId(2)))
    read, *_ = await lagging.store.read(lambda view: view.ladder.copies(MessageId(1)))

    assert [copy.progress.steps.get(LadderStep.EXPIRED) for copy in copies] == [lagging.clock.now] * 2
    assert read.progress.status == "read"


async def test_a_unit_of_work_can_neither_read_nor_acknowledge_it(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        sent = await seeded.store.write(lambda tx: posted(tx, seeded))
        seeded.clock.step(LIFE_S)

        def late(tx: Tx) -> list[Micros | None]:
            states = [
                tx.inboxes.mark_read(seeded.red.id, sent.id, tx.now),
                tx.inboxes.acknowledge(seeded.green.id, sent.id, tx.now),
            ]
            return [state.expired_ts for state in states if state is not None and state.read_ts is None]

        assert await seeded.store._writer.write(late) == [seeded.clock.now] * 2
        await seeded.store.end_expired()
        assert find_faults(seeded.store.path) == []


async def test_one_unit_ends_a_bounded_number_and_meanwhile_nobody_sees_the_others(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        messages = EXPIRED_AT_ONCE // 2 + 3

        def send_many(tx: Tx) -> None:
            for _ in range(messages):
                posted(tx, seeded)

        await seeded.store.write(send_many)
        seeded.clock.step(LIFE_S)

        async def ended() -> int:
            events = await seeded.store.read(lambda view: _events(view, seeded, 10_000))
            return [entry.event for entry in events].count("expired")

        first = seeded.store.read_now(lambda view: view.inboxes.counts(seeded.red.id))
        more = await seeded.store.end_expired()
        between = seeded.store.read_now(lambda view: view.inboxes.counts(seeded.red.id))
        told = len(seeded.store.read_now(lambda view: _events(view, seeded, 10_000))) - messages
        none_left = await seeded.store.end_expired()

        nothing = InboxCounts(total=messages, unread=0, ack_pending=0, urgent_unread=0)
        assert first == between == nothing
        assert (more, told, none_left) == (True, EXPIRED_AT_ONCE // 2, False)
        assert await ended() == messages
        assert find_faults(seeded.store.path) == []


@pytest.mark.parametrize("end", ["withdrawn", "superseded"])
async def test_what_ends_a_passed_copy_in_another_way_lets_it_expire_before(tmp_path: Path, end: str) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        sent = await seeded.store.write(lambda tx: posted(tx, seeded))
        seeded.clock.step(LIFE_S)

        def other_end(tx: Tx) -> None:
            if end == "superseded":
                posted(tx, seeded, Terms(supersedes=sent.id))
            else:
                end_expired_of(tx, [sent.id])
                tx.ladder.withdraw(sent.id, tx.now, None)

        await seeded.store._writer.write(other_end)

        events = await seeded.store.read(lambda view: _events(view, seeded, 9))
        assert [one.event for one in events if one.message_id == sent.id] == ["delivered", "expired", "withdrawn"]
        assert find_faults(seeded.store.path) == []


async def test_an_end_that_is_told_of_in_archives_is_told_in_the_unit_that_writes_it(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        await seeded.store.write(lambda tx: posted(tx, seeded))
        seeded.clock.step(LIFE_S)

        await seeded.store._writer.write(end_expired)

        pending = await seeded.store.read(lambda view: view.outbox.pending(seeded.app.id))
        assert len(pending) == 2
        assert [one["expired_ts"] is not None for one in pending[-1].snapshot["recipients"]] == [True, True]
