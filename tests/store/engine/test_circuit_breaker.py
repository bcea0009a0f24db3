from __future__ import annotations

import pytest

from mcp_agent_mail.store.engine.circuit_breaker import (
    FAILURES,
    FIRST_PAUSE_S,
    LAST_PAUSE_S,
    BreakerOpen,
    CircuitBreaker,
)


class Seconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def breaker(seconds: Seconds) -> CircuitBreaker:
    return CircuitBreaker(seconds)


def fail(breaker: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        breaker.note_failure("disk I/O error")


def refused(breaker: CircuitBreaker) -> BreakerOpen:
    with pytest.raises(BreakerOpen) as caught:
        breaker.admit()
    return caught.value


def test_one_failure_less_refuses_nothing(breaker: CircuitBreaker) -> None:
    fail(breaker, FAILURES - 1)

    assert breaker.admit() is False
    assert breaker.problem is None


def test_failures_with_a_commit_between_them_are_not_in_a_row(breaker: CircuitBreaker) -> None:
    fail(breaker, FAILURES - 1)
    breaker.note_commit()
    fail(breaker, FAILURES - 1)

    assert breaker.admit() is False


def test_after_five_in_a_row_calls_are_refused_with_why_and_when_to_come_back(breaker: CircuitBreaker) -> None:
    fail(breaker, 5)

    refusal = refused(breaker)
    assert "5 times in a row (disk I/O error)" in refusal.message
    assert refusal.data == {"retry_after_s": 1}
    assert refusal.hint == "Call again in 1 s; reading goes on. `am doctor check` says what is wrong."
    assert breaker.problem == (
        "The last 5 attempts to write to the store failed: disk I/O error. Writes are refused but for one at a time "
        "that tries again; reading goes on."
    )


def test_one_probe_at_a_time_is_let_through_when_it_is_due(breaker: CircuitBreaker, seconds: Seconds) -> None:
    fail(breaker, FAILURES)
    seconds.now += FIRST_PAUSE_S

    assert breaker.admit() is True
    assert refused(breaker).data["retry_after_s"] == 1
    breaker.probe_ended()
    assert breaker.admit() is True


def test_a_probe_that_is_committed_lets_all_through(breaker: CircuitBreaker, seconds: Seconds) -> None:
    fail(breaker, FAILURES)
    seconds.now += FIRST_PAUSE_S
    breaker.admit()
    breaker.note_commit()
    breaker.probe_ended()

    assert [breaker.admit(), breaker.admit()] == [False, False]
    assert breaker.problem is None


def test_pauses_double_up_to_half_a_minute_and_begin_anew_after_a_commit(
    breaker: CircuitBreaker, seconds: Seconds
) -> None:
    fail(breaker, FAILURES)
    pauses = []
    for _ in range(7):
        pauses.append(refused(breaker).data["retry_after_s"])
        seconds.now += pauses[-1]
        assert breaker.admit() is True
        breaker.note_failure("disk I/O error")
        breaker.probe_ended()
    breaker.note_commit()
    fail(breaker, FAILURES)

    assert pauses == [1, 2, 4, 8, 16, LAST_PAUSE_S, LAST_PAUSE_S]
    assert refused(breaker).data["retry_after_s"] == 1
