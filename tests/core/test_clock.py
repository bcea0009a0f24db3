from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.clock import (
    SECOND,
    Micros,
    from_datetime,
    from_seconds,
    iso,
    iso_or_none,
    parse_time,
    system_clock,
    to_datetime,
)

AT = Micros(1_800_000_000 * SECOND + 5)
TEXT = "2027-01-15T08:00:00.000005+00:00"


def test_the_system_clock_is_in_microseconds_of_today() -> None:
    assert parse_time("2025-01-01") < system_clock() < parse_time("2200-01-01")


def test_a_time_is_written_with_six_decimals_and_its_offset() -> None:
    assert iso(AT) == TEXT
    assert iso(Micros(0)) == "1970-01-01T00:00:00.000000+00:00"
    assert (iso_or_none(AT), iso_or_none(None)) == (TEXT, None)


@given(st.integers(-(10**15), 10**17))
def test_what_is_written_is_read_back_and_sorts_as_time(number: int) -> None:
    at = Micros(number)

    assert parse_time(iso(at)) == from_datetime(to_datetime(at)) == at
    assert (iso(at) < iso(AT)) is (at < AT)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        " 2027-01-15T08:00:00.000005Z\n",
        "2027-01-15T08:00:00.000005",
        "2027-01-15 10:00:00.000005+02:00",
        "1800000000.000005",
    ],
)
def test_one_instant_can_be_written_in_many_ways(text: str) -> None:
    assert parse_time(text) == AT


def test_a_date_alone_is_its_midnight_and_whole_seconds_are_those_of_the_epoch() -> None:
    assert parse_time("1970-01-02") == parse_time("86400") == 86_400 * SECOND
    assert parse_time("-1") == -SECOND


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2027-13-01",
        "nan",
        "inf",
        "1e300",
        "-1e300",
        "99999999999999",
        "253402300800",
        "9999-12-31T23:59:59-23:59",
        "0001-01-01T00:00:00+00:01",
    ],
)
def test_what_is_no_time_or_beyond_the_calendar_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # whatever the words
        parse_time(text)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59.999999+00:00", "0001-01-01T00:00:00.000000+00:00"])
def test_whatever_is_a_time_can_be_shown(text: str) -> None:
    assert iso(parse_time(text)) == text


def test_a_time_without_zone_is_utc() -> None:
    here = datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))

    assert from_datetime(here) == from_datetime(here.replace(tzinfo=None)) - 7_200 * SECOND == 0


def test_seconds_beyond_the_calendar_are_its_last() -> None:
    assert iso(from_seconds((1 << 64) - 1)) == "9999-12-31T23:59:59.000000+00:00"
    assert from_seconds(2) == 2 * SECOND
