"""Buckets: bursts, refilling, whose they are, how many are kept, and that the wait which is told is enough."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from mcp_agent_mail.core.errors import RateLimited
from mcp_agent_mail.server.edge.rates import (
    MAX_BUCKETS,
    NO_RATES,
    Charge,
    Rate,
    RateClass,
    Rates,
    _payer_of,
    address_payer,
)
from tests.server.edge.standing_clock import StandingClock

TOOLS, RESOURCES = RateClass.TOOLS, RateClass.RESOURCES


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


def rates_of(clock: StandingClock, per_minute: int, burst: int = 0, most: int = MAX_BUCKETS) -> Rates:
    return Rates({TOOLS: Rate(per_minute=per_minute, burst=burst)}, now=clock, most=most)


def passed(rates: Rates, payer: str, *, of: int, rate_class: RateClass = TOOLS) -> int:
    return sum(rates.take(payer, rate_class) == 0 for _ in range(of))


@pytest.mark.parametrize(("per_minute", "burst", "at_once"), [(60, 5, 5), (60, 0, 60), (3, 10, 10), (1, 1, 1)])
def test_a_burst_passes_at_once_and_no_more(clock: StandingClock, per_minute: int, burst: int, at_once: int) -> None:
    assert passed(rates_of(clock, per_minute, burst), "server", of=at_once + 5) == at_once


def test_a_bucket_fills_up_at_the_rate_and_to_the_burst(clock: StandingClock) -> None:
    rates = rates_of(clock, 60, 5)
    passed(rates, "server", of=5)

    clock.now_s += 2.0
    after_two_seconds = passed(rates, "server", of=9)
    clock.now_s += 3_600.0
    after_an_hour = passed(rates, "server", of=9)

    assert (after_two_seconds, after_an_hour) == (2, 5)


def test_what_was_refused_costs_nothing(clock: StandingClock) -> None:
    rates = rates_of(clock, 60, 1)
    passed(rates, "server", of=100)

    clock.now_s += 1.0

    assert rates.take("server", TOOLS) == 0


@pytest.mark.parametrize("per_minute", [1, 3, 7, 30, 59, 60, 61, 601, 7_919])
@pytest.mark.parametrize("idle_s", [0.0, 0.001, 0.01, 0.3])
def test_waiting_out_what_is_told_is_enough_and_is_no_second_too_long(
    clock: StandingClock, per_minute: int, idle_s: float
) -> None:
    rates = rates_of(clock, per_minute, 1)
    rates.take("server", TOOLS)

    for _ in range(50):
        clock.now_s += idle_s / per_minute
        wait_s = rates.take("server", TOOLS)
        assert 0 < wait_s <= 60 / per_minute + 0.01
        clock.now_s += wait_s
        assert rates.take("server", TOOLS) == 0


def test_each_payer_and_each_class_has_a_bucket_of_its_own(clock: StandingClock) -> None:
    rates = Rates({TOOLS: Rate(per_minute=2), RESOURCES: Rate(per_minute=3)}, now=clock)

    took = {
        (payer, one): passed(rates, payer, of=9, rate_class=one)
        for payer in ("server", "issued 1")
        for one in (TOOLS, RESOURCES)
    }

    assert took == {
        ("server", TOOLS): 2,
        ("server", RESOURCES): 3,
        ("issued 1", TOOLS): 2,
        ("issued 1", RESOURCES): 3,
    }


def test_zero_a_minute_and_a_class_without_a_rate_are_no_bound(clock: StandingClock) -> None:
    rates = Rates({TOOLS: Rate(per_minute=0, burst=1)}, now=clock)

    assert (passed(rates, "server", of=100), passed(rates, "server", of=100, rate_class=RESOURCES)) == (100, 100)
    assert (rates.are_on, NO_RATES.are_on, len(rates)) == (False, False, 0)


def test_of_too_many_buckets_the_idlest_goes(clock: StandingClock) -> None:
    rates = rates_of(clock, 1, 2, most=3)
    for payer in ("idle", "busy", "third"):
        passed(rates, payer, of=2)
    rates.take("idle", TOOLS)

    rates.take("fourth", TOOLS)

    # `busy` was asked for longest ago: it alone begins anew.
    assert len(rates) == 3
    assert [passed(rates, payer, of=1) for payer in ("idle", "third", "busy")] == [0, 0, 1]


def test_ten_thousand_buckets_are_kept_at_most(clock: StandingClock) -> None:
    rates = rates_of(clock, 1)
    for number in range(MAX_BUCKETS + 50):
        rates.take(f"address {number}", TOOLS)

    assert (MAX_BUCKETS, len(rates)) == (10_000, 10_000)


def test_who_asks_too_often_is_told_how_often_and_when(clock: StandingClock) -> None:
    rates = rates_of(clock, 30, 1)
    rates.require("server", TOOLS)

    with pytest.raises(RateLimited) as refused:
        rates.require("server", TOOLS)

    assert refused.value.message == "Too many tool calls: there may be 30 a minute."
    assert (refused.value.code, refused.value.data) == ("RATE_LIMITED", {"retry_after_s": 2.001})
    assert (rates.limited[TOOLS], rates.limited[RESOURCES]) == (1, 0)


@pytest.mark.parametrize(
    ("address", "payer"),
    [
        ("192.0.2.7", "address 192.0.2.7"),
        ("::ffff:192.0.2.7", "address 192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "address 2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "address 2001:db8:1:2::/64"),
        ("2001:db8:1:3::9", "address 2001:db8:1:3::/64"),
        ("fe80::1%eth0", "address fe80::/64"),
        ("somewhere", "address somewhere"),
        (None, "address -"),
    ],
)
def test_an_address_pays_for_itself_and_of_ipv6_its_network(address: str | None, payer: str) -> None:
    assert address_payer(address) == payer


def test_what_is_too_long_for_an_address_is_not_remembered() -> None:
    """Whoever sends the header chooses how long it is."""
    _payer_of.cache_clear()
    payers = [address_payer("a" * length) for length in (100, 101, 200)]

    assert payers == ["address " + "a" * 100] * 3
    assert _payer_of.cache_info().currsize == 1


def test_what_a_request_counts_as_nothing_is_another_request_and_owed_by_the_next(clock: StandingClock) -> None:
    rates = Rates({RateClass.OTHERS: Rate(per_minute=60, burst=1)}, now=clock)

    def ask() -> None:
        with Charge(rates, "server").settled():
            pass

    ask()
    ask()
    with pytest.raises(RateLimited) as refused:
        ask()
    clock.now_s += refused.value.data["retry_after_s"]
    ask()

    assert rates.limited[RateClass.OTHERS] == 1


def test_what_it_has_counted_is_not_counted_again(clock: StandingClock) -> None:
    rates = Rates({RateClass.OTHERS: Rate(per_minute=60, burst=1), TOOLS: Rate(per_minute=60)}, now=clock)
    for _ in range(5):
        with (charge := Charge(rates, "server")).settled():
            charge(TOOLS)

    assert rates.take("server", RateClass.OTHERS) == 0.0


def test_as_many_at_once_as_may_be_owed_are_answered_and_no_more(clock: StandingClock) -> None:
    """However many send their last byte in the same moment."""
    rates = Rates({RateClass.OTHERS: Rate(per_minute=60, burst=3), TOOLS: Rate(per_minute=60)}, now=clock)
    with ExitStack() as under_way:
        charges = [Charge(rates, "server") for _ in range(6)]
        for charge in charges:
            under_way.enter_context(charge.settled())
        with pytest.raises(RateLimited) as refused, Charge(rates, "server").settled():
            pass
        charges[0](TOOLS)
        under_way.enter_context(Charge(rates, "server").settled())

    with pytest.raises(RateLimited) as owed, Charge(rates, "server").settled():
        pass
    assert (refused.value.data["retry_after_s"], owed.value.data["retry_after_s"]) == (3.001, 3.001)
    clock.now_s += 3.001
    with Charge(rates, "server").settled():
        pass


def test_what_is_counted_before_it_is_answered_keeps_nobody_out_meanwhile(clock: StandingClock) -> None:
    """A stream goes on for hours."""
    rates = Rates({RateClass.OTHERS: Rate(per_minute=60, burst=2)}, now=clock)
    with ExitStack() as streams:
        for _ in range(9):
            clock.now_s += 1.0
            charge = Charge(rates, "server")
            charge(RateClass.OTHERS)
            streams.enter_context(charge.settled())

    assert rates.limited[RateClass.OTHERS] == 0


def test_what_is_owed_is_never_more_than_a_burst(clock: StandingClock) -> None:
    """However much was answered before it was counted, nobody is locked out for long."""
    rates = rates_of(clock, 60, 5)
    for _ in range(1_000):
        rates.overdraw("server", TOOLS)

    with pytest.raises(RateLimited):
        rates.begin("server", TOOLS)
    clock.now_s += 6.0

    assert rates.begin("server", TOOLS) is not None
    assert passed(rates, "server", of=5) == 1
