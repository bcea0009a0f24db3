"""What feeds need beside the requests."""

from __future__ import annotations

import pytest

from mcp_agent_mail.features.delivery.waiters import WaiterKind
from mcp_agent_mail.features.delivery.worker import FeedWorker
from tests.features.delivery.harness import DeliveryHarness, refused

DAY_S = 24 * 3_600


async def test_events_older_than_are_kept_go_and_their_cursors_have_expired(harness: DeliveryHarness) -> None:
    worker = FeedWorker(harness.seeded.store, keep_days=2)
    old = await harness.sent_id()
    await harness.call("acknowledge_message", agent_name="RedStone", message_id=old)
    cursor = (await harness.feed("BlueLake", position_now=True))["next_cursor"]
    await worker.keep_up()
    harness.seeded.clock.step(DAY_S)
    fresh = await harness.sent_id()
    await harness.call("acknowledge_message", agent_name="RedStone", message_id=fresh)
    await worker.keep_up()
    assert ("acknowledged", old) in await harness.events("BlueLake")

    harness.seeded.clock.step(DAY_S)
    await worker.keep_up()

    assert await harness.events("BlueLake") == [("read", fresh), ("acknowledged", fresh)]
    assert await harness.events("RedStone") == [("delivered", fresh)]
    expired = await refused(harness.feed("BlueLake", after=cursor - 1))
    assert (expired.code, expired.data["oldest_available_cursor"]) == ("CURSOR_EXPIRED", cursor)


async def test_a_note_of_how_far_feeds_are_is_made_once_an_hour_whatever_the_restarts(
    harness: DeliveryHarness,
) -> None:
    for _ in range(3):
        await FeedWorker(harness.seeded.store, keep_days=30).keep_up()
    harness.seeded.clock.step(3_599)
    await FeedWorker(harness.seeded.store, keep_days=30).keep_up()
    assert len(harness.rows("SELECT * FROM feed_marks")) == 1

    harness.seeded.clock.step(1)
    await FeedWorker(harness.seeded.store, keep_days=30).keep_up()

    assert len(harness.rows("SELECT * FROM feed_marks")) == 2


async def test_mail_expires_though_nobody_reads_or_writes_and_its_sender_is_woken(harness: DeliveryHarness) -> None:
    waiters = harness.service.waiters
    await waiters.hear()
    await harness.sent_id(valid_until=harness.in_seconds(5))
    worker = FeedWorker(harness.seeded.store, keep_days=30)
    with waiters.place(harness.seeded.blue.id, WaiterKind.STREAM) as waiter:
        harness.seeded.clock.step(5)
        worker.start()

        await waiter.woken(60)

        assert waiter.is_changed
        await worker.stop()
    assert harness.rows("SELECT event FROM feed ORDER BY cursor") == [("expired",), ("expired",)]


async def live_on(harness: DeliveryHarness, worker: FeedWorker, days: int) -> int:
    """So many days with a receipt and an upkeep each; how far the feed was before them."""
    tail = harness.service.feed_tail()
    for _ in range(days):
        sent = await harness.sent_id()
        await harness.call("mark_message_read", agent_name="RedStone", message_id=sent)
        harness.seeded.clock.step(DAY_S)
        await worker.keep_up()
    return tail


@pytest.mark.parametrize("ahead_days", [1, 365])
async def test_a_clock_that_was_ahead_keeps_no_feed_from_being_shortened(
    harness: DeliveryHarness, ahead_days: int
) -> None:
    worker = FeedWorker(harness.seeded.store, keep_days=2)
    harness.seeded.clock.step(ahead_days * DAY_S)
    await live_on(harness, worker, 1)
    harness.seeded.clock.step(-(ahead_days + 1) * DAY_S)

    before = await live_on(harness, worker, 4 + ahead_days % 365)

    assert (await harness.seeded.store.read(lambda view: view.feed.ends())).floor >= before
    assert harness.rows("SELECT count(*) FROM feed WHERE cursor <= ?", before) == [(0,)]
    assert harness.rows("SELECT count(*) FROM feed_marks WHERE ts > ?", harness.seeded.clock.now) == [(0,)]


@pytest.mark.parametrize("behind_days", [1, 365])
async def test_a_clock_that_was_behind_lets_nothing_go_early(harness: DeliveryHarness, behind_days: int) -> None:
    worker = FeedWorker(harness.seeded.store, keep_days=2)
    await live_on(harness, worker, 1)
    fresh = await harness.sent_id()
    await harness.call("mark_message_read", agent_name="RedStone", message_id=fresh)
    harness.seeded.clock.step(-behind_days * DAY_S)
    await worker.keep_up()
    harness.seeded.clock.step(behind_days * DAY_S + 3_600)

    await worker.keep_up()
    harness.seeded.clock.step(DAY_S)
    await worker.keep_up()

    assert ("read", fresh) in await harness.events("BlueLake")
