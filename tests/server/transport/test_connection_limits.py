"""Who is let go when room gets short, and how often the log says so."""

from __future__ import annotations

import logging

import pytest

from mcp_agent_mail.server.transport import connection_limits as room_module
from mcp_agent_mail.server.transport.connection_limits import (
    BODY_STALLS_S,
    BODY_WITHIN_S,
    GONE_WITHIN_S,
    HEAD_WITHIN_S,
    RESERVED,
    TAKEN_AT_LEAST_BYTES,
    TAKEN_WITHIN_S,
    ConnectionLimiter,
    ConnectionLimits,
    LimitReached,
)


class FakeGuest:
    """A connection that leaves as soon as it is told to."""

    def __init__(self, limiter: ConnectionLimiter) -> None:
        self.held_bytes = 0
        self.is_streaming = False
        self.left_bytes = 0
        self.ended_by: str | None = None
        self._room = limiter

    def _end(self, how: str) -> None:
        self.ended_by = how
        self._room.leave(self)

    def untaken_bytes(self) -> int:
        return self.left_bytes

    def evict(self, status: int, detail: str) -> None:  # noqa: ARG002  # the protocol's
        self._end(f"evict {status}")

    def close_idle(self) -> None:
        self._end("idle")

    def abort(self) -> None:
        self._end("abort")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def _entered(limiter: ConnectionLimiter) -> FakeGuest:
    guest = FakeGuest(limiter)
    limiter.enter(guest)
    return guest


def test_the_oldest_unfinished_request_makes_room_for_a_new_one() -> None:
    limiter = ConnectionLimiter(Clock(), ConnectionLimits(unfinished=2))
    guests = [_entered(limiter) for _ in range(3)]

    assert [guest.ended_by for guest in guests] == ["evict 408", None, None]


def test_an_idle_connection_goes_before_an_unfinished_one() -> None:
    limiter = ConnectionLimiter(Clock(), ConnectionLimits(connections=2))
    unfinished, idle = _entered(limiter), _entered(limiter)
    limiter.forget(idle)
    limiter.idle[idle] = None

    assert limiter.enter(FakeGuest(limiter))
    assert (unfinished.ended_by, idle.ended_by) == (None, "idle")


def test_while_all_are_busy_a_newcomer_may_ask_for_health_alone() -> None:
    limiter = ConnectionLimiter(Clock(), ConnectionLimits(connections=1))
    limiter.forget(_entered(limiter))

    assert not limiter.enter(FakeGuest(limiter))


def test_a_head_and_a_body_have_their_time() -> None:
    clock = Clock()
    limiter = ConnectionLimiter(clock)
    slow_head, slow_body = _entered(limiter), _entered(limiter)
    limiter.await_body(slow_body)
    clock.now += HEAD_WITHIN_S
    limiter.sweep()
    in_time = (slow_head.ended_by, slow_body.ended_by)
    clock.now += BODY_STALLS_S - HEAD_WITHIN_S
    limiter.sweep()

    assert in_time == ("evict 408", None)
    assert slow_body.ended_by == "evict 408"


def test_who_takes_nothing_of_its_answer_is_cut_off() -> None:
    clock = Clock()
    limiter = ConnectionLimiter(clock)
    stalled, slow = _entered(limiter), _entered(limiter)
    for guest in (stalled, slow):
        limiter.forget(guest)
        guest.left_bytes = 1
        limiter.block(guest, 1)
    limiter.unblock(slow)
    clock.now += room_module.TAKEN_WITHIN_S
    limiter.sweep()

    assert (stalled.ended_by, slow.ended_by) == ("abort", None)


def test_who_takes_its_answer_slowly_has_its_time_again_and_again() -> None:
    clock = Clock()
    limiter = ConnectionLimiter(clock)
    slow, slower = _entered(limiter), _entered(limiter)
    for guest in (slow, slower):
        limiter.forget(guest)
        guest.left_bytes = 10 * TAKEN_AT_LEAST_BYTES
        limiter.block(guest, guest.left_bytes)
    for _ in range(3):
        slow.left_bytes -= TAKEN_AT_LEAST_BYTES
        slower.left_bytes -= TAKEN_AT_LEAST_BYTES - 1
        clock.now += TAKEN_WITHIN_S
        limiter.sweep()

    assert (slow.ended_by, slower.ended_by) == (None, "abort")
    assert limiter.untaken_bytes == slow.left_bytes


def test_what_is_streamed_counts_nobody_out() -> None:
    limiter = ConnectionLimiter(Clock(), ConnectionLimits(untaken_bytes=100))
    streams, whole = [_entered(limiter) for _ in range(3)], _entered(limiter)
    for stream in streams:
        stream.is_streaming = True
        limiter.block(stream, 90)
    limiter.block(whole, 90)

    assert [guest.ended_by for guest in (*streams, whole)] == [None] * 4
    assert limiter.untaken_bytes == 90


def test_answers_that_nobody_takes_have_a_bound_together_and_who_stalled_longest_goes_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    limiter = ConnectionLimiter(Clock(), ConnectionLimits(untaken_bytes=100))
    stalled, taking, last = _entered(limiter), _entered(limiter), _entered(limiter)
    limiter.block(stalled, 60)
    limiter.block(taking, 30)
    limiter.block(last, 20)
    limiter.unblock(taking)
    limiter.block(last, 200)

    assert (stalled.ended_by, taking.ended_by, last.ended_by) == ("abort", None, None)
    assert limiter.untaken_bytes == 200
    assert [record.getMessage() for record in caplog.records] == [
        "clients were turned away: the bound on bytes of answers that nobody takes is reached"
    ]


def test_bodies_have_a_bound_together_and_what_is_answered_counts_no_more() -> None:
    limiter = ConnectionLimiter(Clock(), ConnectionLimits(bodies_bytes=100))
    old, new = _entered(limiter), _entered(limiter)
    fits = limiter.hold(old, 60) and limiter.hold(new, 40)
    makes_room = limiter.hold(new, 10)
    alone = limiter.hold(new, 60)

    assert (fits, makes_room, alone) == (True, True, False)
    assert (old.ended_by, new.ended_by, limiter.bodies_bytes) == ("evict 408", None, 110)
    limiter.release(new)
    assert limiter.bodies_bytes == 0


def test_a_bound_that_is_reached_a_thousand_times_is_one_line_and_then_one_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    limiter = ConnectionLimiter(clock)
    for _ in range(1_000):
        limiter.note(LimitReached.HEAD)
    at_once = len(caplog.records)
    clock.now += room_module.SAID_EVERY_S
    limiter.sweep()
    limiter.sweep()

    assert at_once == 1
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert [record.facts["times"] for record in caplog.records] == [1, 999]  # type: ignore[attr-defined]


def test_a_body_that_is_complete_counts_until_it_is_given_back_whatever_becomes_of_its_guest() -> None:
    limiter = ConnectionLimiter(Clock(), ConnectionLimits(bodies_bytes=100))
    guest, other = _entered(limiter), _entered(limiter)
    limiter.hold(guest, 60)
    kept_bytes = limiter.keep(guest)
    limiter.forget(guest)
    limiter.leave(guest)
    fits = limiter.hold(other, 60)
    limiter.give_back(kept_bytes)

    assert (kept_bytes, fits, limiter.bodies_bytes, guest.ended_by) == (60, False, 60, None)


def test_what_comes_to_an_untaken_answer_counts_and_gives_its_client_no_more_time() -> None:
    clock = Clock()
    limiter = ConnectionLimiter(clock)
    stalled = _entered(limiter)
    limiter.forget(stalled)
    limiter.block(stalled, 60)
    clock.now += TAKEN_WITHIN_S
    stalled.left_bytes = 100
    limiter.block(stalled, 100)
    untaken_bytes = limiter.untaken_bytes
    limiter.sweep()

    assert (untaken_bytes, stalled.ended_by, limiter.untaken_bytes) == (100, "abort", 0)


def test_beyond_what_is_kept_for_health_the_oldest_unfinished_one_is_cut_off() -> None:
    limiter = ConnectionLimiter(Clock(), ConnectionLimits(connections=1))
    limiter.forget(_entered(limiter))

    class Refused(FakeGuest):
        """As a connection that is told, and then stays for a while."""

        def evict(self, status: int, detail: str) -> None:
            pass

    reserved = [Refused(limiter) for _ in range(RESERVED)]
    for guest in reserved:
        limiter.enter(guest)
    within = [guest.ended_by for guest in reserved]
    limiter.enter(Refused(limiter))

    assert within == [None] * RESERVED
    assert [guest.ended_by for guest in reserved] == ["abort", *[None] * (RESERVED - 1)]


def test_who_goes_on_sending_after_its_refusal_has_its_time() -> None:
    clock = Clock()
    limiter = ConnectionLimiter(clock)
    refused = _entered(limiter)
    limiter.await_leave(refused)
    limiter.sweep()
    in_time = refused.ended_by
    clock.now += GONE_WITHIN_S
    limiter.sweep()

    assert (in_time, refused.ended_by) == (None, "abort")


def test_a_body_of_which_nothing_comes_has_stalled_and_one_that_drips_has_its_time_in_all() -> None:
    clock = Clock()
    limiter = ConnectionLimiter(clock)
    stalled, dripping = _entered(limiter), _entered(limiter)
    for guest in (stalled, dripping):
        limiter.await_body(guest)
    told = []
    for _ in range(3):
        clock.now += BODY_STALLS_S
        limiter.hold(dripping, 1)
        limiter.sweep()
        told.append((stalled.ended_by, dripping.ended_by))

    assert told == [("evict 408", None), ("evict 408", None), ("evict 408", "evict 408")]
    assert clock.now == 1_000.0 + BODY_WITHIN_S


def test_little_that_waits_for_its_client_is_found_by_the_sweep_and_ends_as_much_does() -> None:
    clock = Clock()
    limiter = ConnectionLimiter(clock)
    stalled, idle, late = (_entered(limiter) for _ in range(3))
    for guest in (stalled, idle, late):
        limiter.forget(guest)
        guest.is_streaming = guest is stalled
        guest.left_bytes = 0 if guest is idle else 10
        limiter.note_written(guest)
    limiter.sweep()
    waiting = limiter.figures().untaken
    clock.now += TAKEN_WITHIN_S - 1
    late.left_bytes = 0
    limiter.sweep()
    late.left_bytes = 10
    limiter.note_written(late)
    limiter.sweep()
    clock.now += 1
    limiter.sweep()

    assert waiting == 2
    assert [guest.ended_by for guest in (stalled, idle, late)] == ["abort", None, None]
    assert (limiter.figures().untaken, limiter.untaken_bytes) == (1, 10)


def test_figures_say_what_connections_are_at_and_what_was_reached_since_the_start() -> None:
    clock = Clock()
    limiter = ConnectionLimiter(clock, ConnectionLimits(connections=5))
    _new, idle, blocked, slow = (_entered(limiter) for _ in range(4))
    for guest in (idle, blocked):
        limiter.forget(guest)
    limiter.idle[idle] = None
    limiter.block(blocked, 1)
    limiter.note(LimitReached.HEAD)
    limiter.note(LimitReached.HEAD)
    limiter.leave(slow)
    figures = limiter.figures()

    assert (figures.open, figures.idle, figures.unfinished, figures.untaken, figures.limit) == (3, 1, 1, 1, 5)
    assert figures.turned_away == {LimitReached.HEAD: 2}
