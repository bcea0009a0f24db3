"""What waits for one webhook: in order, so many at most, each tried five times in ten minutes."""

from __future__ import annotations

from mcp_agent_mail.notify.webhook_queue import QueuedCall, WebhookQueue


def bodies(queue: WebhookQueue, now_s: float, at_most: int = 100) -> list[bytes]:
    return [call.body for call in queue.take(now_s, at_most)]


def test_what_waits_is_taken_in_its_order_and_once() -> None:
    queue = WebhookQueue(limit=10)
    for body in (b"1", b"2", b"3"):
        queue.add(body, 0.0)

    taken = [bodies(queue, 0.0, 2), bodies(queue, 0.0), bodies(queue, 0.0)]

    assert (taken, len(queue)) == ([[b"1", b"2"], [b"3"], []], 3)


def test_in_a_full_queue_the_oldest_makes_room_and_is_counted() -> None:
    queue = WebhookQueue(limit=10_000)
    for number in range(10_003):
        queue.add(b"%d" % number, 0.0)

    assert (len(queue), queue.counts.dropped, bodies(queue, 0.0, 1)) == (10_000, 3, [b"3"])


def test_five_tries_are_made_within_ten_minutes_and_then_it_counts_as_failed() -> None:
    queue, tries, now_s = WebhookQueue(limit=10), [], 0.0
    queue.add(b"1", now_s)

    while (due_s := queue.next_due_s()) is not None:
        assert bodies(queue, due_s - 0.01) == []
        now_s = due_s
        (call,) = queue.take(now_s, 10)
        tries.append(now_s)
        queue.failed(call, now_s)

    assert tries == [0.0, 5.0, 30.0, 150.0, 600.0]
    assert (len(queue), queue.counts.failed, queue.counts.told) == (0, 1, 0)


def test_what_made_room_while_it_was_under_way_is_not_tried_again() -> None:
    queue = WebhookQueue(limit=1)
    queue.add(b"1", 0.0)
    (call,) = queue.take(0.0, 1)
    queue.add(b"2", 0.0)

    queue.failed(call, 0.0)

    assert (bodies(queue, 1_000.0), queue.counts.dropped, queue.counts.failed) == ([b"2"], 1, 0)


def test_what_made_room_while_it_was_under_way_and_was_told_was_not_dropped() -> None:
    queue = WebhookQueue(limit=1)
    queue.add(b"1", 0.0)
    (call,) = queue.take(0.0, 1)
    queue.add(b"2", 0.0)

    queue.told(call)

    assert (queue.counts.told, queue.counts.dropped, len(queue)) == (1, 0, 1)


def test_what_made_room_while_it_was_under_way_and_never_ended_was_dropped() -> None:
    queue = WebhookQueue(limit=1)
    queue.add(b"1", 0.0)
    queue.take(0.0, 1)
    queue.add(b"2", 0.0)

    queue.begin_anew()

    assert (queue.counts.dropped, bodies(queue, 0.0)) == (1, [b"2"])


def test_what_was_under_way_when_its_task_ended_is_taken_anew() -> None:
    queue = WebhookQueue(limit=10)
    queue.add(b"1", 0.0)
    queue.take(0.0, 1)

    queue.begin_anew()

    assert bodies(queue, 0.0) == [b"1"]


def test_what_has_made_room_leaves_nothing_behind_but_a_bounded_rest() -> None:
    queue = WebhookQueue(limit=10)
    for _ in range(1_000):
        queue.add(b"1", 0.0)

    assert len(queue._due) <= 21


def test_what_is_under_way_while_the_rest_is_cleared_away_is_not_due_again() -> None:
    """Each waits for 6 s: it is tried twice, and leaves a rest that would be due in 25 s."""
    queue, due_at_s, now_s, most = WebhookQueue(limit=240), dict[int, float](), 0.0, 0
    under_way: list[QueuedCall] = []
    for _ in range(2_000):
        under_way += queue.take(now_s, 8 - queue.under_way)
        assert len({call.number for call in under_way}) == len(under_way) == queue.under_way
        assert all(due_at_s.get(call.number, 0.0) <= now_s for call in under_way)
        for _ in range(2):
            queue.add(b"1", now_s)
        now_s += 0.05
        for call in under_way[:6]:
            queue.failed(call, now_s)
            due_at_s[call.number] = call.due_s
        del under_way[:6]
        most = max(most, len(queue._due))

    assert queue.counts.dropped > 3_000
    assert 2 * 240 < most <= 2 * 240 + 1 + 8
