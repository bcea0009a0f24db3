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

    def __init__(self, room: ConnectionLimiter) -> None:
        self.held_bytes = 0
        self.is_streaming = False
        self.left_bytes = 0
        self.ended_by: str | None = None
        self._room = room

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


def _entered(room: ConnectionLimiter) -> FakeGuest:
    guest = FakeGuest(room)
    room.enter(guest)
    return guest


def test_the_oldest_unfinished_request_makes_room_for_a_new_one() -> None:
    room = ConnectionLimiter(Clock(), ConnectionLimits(unfinished=2))
    guests = [_entered(room) for _ in range(3)]

    assert [guest.ended_by for guest in guests] == ["evict 408", None, None]


def test_an_idle_connection_goes_before_an_unfinished_one() -> None:
    room = ConnectionLimiter(Clock(), ConnectionLimits(connections=2))
    unfinished, idle = _entered(room), _entered(room)
    room.forget(idle)
    room.idle[idle] = None

    assert room.enter(FakeGuest(room))
    assert (unfinished.ended_by, idle.ended_by) == (None, "idle")


def test_while_all_are_busy_a_newcomer_may_ask_for_health_alone() -> None:
    room = ConnectionLimiter(Clock(), ConnectionLimits(connections=1))
    room.forget(_entered(room))

    assert not room.enter(FakeGuest(room))


def test_a_head_and_a_body_have_their_time() -> None:
    clock = Clock()
    room = ConnectionLimiter(clock)
    slow_head, slow_body = _entered(room), _entered(room)
    room.await_body(slow_body)
    clock.now += HEAD_WITHIN_S
    room.sweep()
    in_time = (slow_head.ended_by, slow_body.ended_by)
    clock.now += BODY_STALLS_S - HEAD_WITHIN_S
    room.sweep()

    assert in_time == ("evict 408", None)
    assert slow_body.ended_by == "evict 408"


def test_who_takes_nothing_of_its_answer_is_cut_off() -> None:
    clock = Clock()
    room = ConnectionLimiter(clock)
    deaf, slow = _entered(room), _entered(room)
    for guest in (deaf, slow):
        room.forget(guest)
        guest.left_bytes = 1
        room.block(guest, 1)
    room.unblock(slow)
    clock.now += room_module.TAKEN_WITHIN_S
    room.sweep()

    assert (deaf.ended_by, slow.ended_by) == ("abort", None)


def test_who_takes_its_answer_slowly_has_its_time_again_and_again() -> None:
    clock = Clock()
    room = ConnectionLimiter(clock)
    slow, slower = _entered(room), _entered(room)
    for guest in (slow, slower):
        room.forget(guest)
        guest.left_bytes = 10 * TAKEN_AT_LEAST_BYTES
        room.block(guest, guest.left_bytes)
    for _ in range(3):
        slow.left_bytes -= TAKEN_AT_LEAST_BYTES
        slower.left_bytes -= TAKEN_AT_LEAST_BYTES - 1
        clock.now += TAKEN_WITHIN_S
        room.sweep()

    assert (slow.ended_by, slower.ended_by) == (None, "abort")
    assert room.untaken_bytes == slow.left_bytes


def test_what_is_streamed_counts_nobody_out() -> None:
    room = ConnectionLimiter(Clock(), ConnectionLimits(untaken_bytes=100))
    streams, whole = [_entered(room) for _ in range(3)], _entered(room)
    for stream in streams:
        stream.is_streaming = True
        room.block(stream, 90)
    room.block(whole, 90)

    assert [guest.ended_by for guest in (*streams, whole)] == [None] * 4
    assert room.untaken_bytes == 90


def test_answers_that_nobody_takes_have_a_bound_together_and_the_deafest_goes_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    room = ConnectionLimiter(Clock(), ConnectionLimits(untaken_bytes=100))
    deaf, taking, last = _entered(room), _entered(room), _entered(room)
    room.block(deaf, 60)
    room.block(taking, 30)
    room.block(last, 20)
    room.unblock(taking)
    room.block(last, 200)

    assert (deaf.ended_by, taking.ended_by, last.ended_by) == ("abort", None, None)
    assert room.untaken_bytes == 200
    assert [record.getMessage() for record in caplog.records] == [
        "clients were turned away: the bound on bytes of answers that nobody takes is reached"
    ]


def test_bodies_have_a_bound_together_and_what_is_answered_counts_no_more() -> None:
    room = ConnectionLimiter(Clock(), ConnectionLimits(bodies_bytes=100))
    old, new = _entered(room), _entered(room)
    fits = room.hold(old, 60) and room.hold(new, 40)
    makes_room = room.hold(new, 10)
    alone = room.hold(new, 60)

    assert (fits, makes_room, alone) == (True, True, False)
    assert (old.ended_by, new.ended_by, room.bodies_bytes) == ("evict 408", None, 110)
    room.release(new)
    assert room.bodies_bytes == 0


def test_a_bound_that_is_reached_a_thousand_times_is_one_line_and_then_one_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    room = ConnectionLimiter(clock)
    for _ in range(1_000):
        room.note(LimitReached.HEAD)
    at_once = len(caplog.records)
    clock.now += room_module.SAID_EVERY_S
    room.sweep()
    room.sweep()

    assert at_once == 1
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert [record.facts["times"] for record in caplog.records] == [1, 999]  # type: ignore[attr-defined]


def test_a_body_that_is_complete_counts_until_it_is_given_back_whatever_becomes_of_its_guest() -> None:
    room = ConnectionLimiter(Clock(), ConnectionLimits(bodies_bytes=100))
    guest, other = _entered(room), _entered(room)
    room.hold(guest, 60)
    kept_bytes = room.keep(guest)
    room.forget(guest)
    room.leave(guest)
    fits = room.hold(other, 60)
    room.give_back(kept_bytes)

    assert (kept_bytes, fits, room.bodies_bytes, guest.ended_by) == (60, False, 60, None)


def test_what_comes_to_an_untaken_answer_counts_and_gives_its_client_no_more_time() -> None:
    clock = Clock()
    room = ConnectionLimiter(clock)
    deaf = _entered(room)
    room.forget(deaf)
    room.block(deaf, 60)
    clock.now += TAKEN_WITHIN_S
    deaf.left_bytes = 100
    room.block(deaf, 100)
    untaken_bytes = room.untaken_bytes
    room.sweep()

    assert (untaken_bytes, deaf.ended_by, room.untaken_bytes) == (100, "abort", 0)


def test_beyond_what_is_kept_for_health_the_oldest_unfinished_one_is_cut_off() -> None:
    room = ConnectionLimiter(Clock(), ConnectionLimits(connections=1))
    room.forget(_entered(room))

    class Refused(FakeGuest):
        """As a connection that is told, and then stays for a while."""

        def evict(self, status: int, detail: str) -> None:
            pass

    reserved = [Refused(room) for _ in range(RESERVED)]
    for guest in reserved:
        room.enter(guest)
    within = [guest.ended_by for guest in reserved]
    room.enter(Refused(room))

    assert within == [None] * RESERVED
    assert [guest.ended_by for guest in reserved] == ["abort", *[None] * (RESERVED - 1)]


def test_who_goes_on_sending_after_its_refusal_has_its_time() -> None:
    clock = Clock()
    room = ConnectionLimiter(clock)
    refused = _entered(room)
    room.await_leave(refused)
    room.sweep()
    in_time = refused.ended_by
    clock.now += GONE_WITHIN_S
    room.sweep()

    assert (in_time, refused.ended_by) == (None, "abort")


def test_a_body_of_which_nothing_comes_has_stalled_and_one_that_drips_has_its_time_in_all() -> None:
    clock = Clock()
    room = ConnectionLimiter(clock)
    stalled, dripping = _entered(room), _entered(room)
    for guest in (stalled, dripping):
        room.await_body(guest)
    told = []
    for _ in range(3):
        clock.now += BODY_STALLS_S
        room.hold(dripping, 1)
        room.sweep()
        told.append((stalled.ended_by, dripping.ended_by))

    assert told == [("evict 408", None), ("evict 408", None), ("evict 408", "evict 408")]
    assert clock.now == 1_000.0 + BODY_WITHIN_S


def test_little_that_waits_for_its_client_is_found_by_the_sweep_and_ends_as_much_does() -> None:
    clock = Clock()
    room = ConnectionLimiter(clock)
    deaf, idle, late = (_entered(room) for _ in range(3))
    for guest in (deaf, idle, late):
        room.forget(guest)
        guest.is_streaming = guest is deaf
        guest.left_bytes = 0 if guest is idle else 10
        room.note_written(guest)
    room.sweep()
    waiting = room.figures().untaken
    clock.now += TAKEN_WITHIN_S - 1
    late.left_bytes = 0
    room.sweep()
    late.left_bytes = 10
    room.note_written(late)
    room.sweep()
    clock.now += 1
    room.sweep()

    assert waiting == 2
    assert [guest.ended_by for guest in (deaf, idle, late)] == ["abort", None, None]
    assert (room.figures().untaken, room.untaken_bytes) == (1, 10)


def test_figures_say_what_connections_are_at_and_what_was_reached_since_the_start() -> None:
    clock = Clock()
    room = ConnectionLimiter(clock, ConnectionLimits(connections=5))
    _new, idle, blocked, slow = (_entered(room) for _ in range(4))
    for guest in (idle, blocked):
        room.forget(guest)
    room.idle[idle] = None
    room.block(blocked, 1)
    room.note(LimitReached.HEAD)
    room.note(LimitReached.HEAD)
    room.leave(slow)
    figures = room.figures()

    assert (figures.open, figures.idle, figures.unfinished, figures.untaken, figures.limit) == (3, 1, 1, 1, 5)
    assert figures.turned_away == {LimitReached.HEAD: 2}
