from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.web.render.words import HUES, age, clock, counted, hue_of, initials_of, left, moment, size

NOW = Micros(1_800_000_000 * SECOND)


@pytest.mark.parametrize(
    ("name", "hue"), [("BlueLake", "blue"), ("crimsonFox", "red"), ("GoldenEye", "amber"), ("GreyWolf", "indigo")]
)
def test_an_agent_has_the_hue_that_its_name_says(name: str, hue: str) -> None:
    assert hue_of(name) == hue


def test_a_name_that_says_none_has_always_the_same_of_all() -> None:
    names = [f"agent-{number}" for number in range(200)]

    assert [hue_of(name) for name in names] == [hue_of(name.upper()) for name in names]
    assert {hue_of(name) for name in names} == set(HUES)


def test_a_name_of_half_a_pair_has_one_too() -> None:
    assert hue_of("\ud800") in HUES


@pytest.mark.parametrize(
    ("name", "letters"), [("BlueLake", "BL"), ("blue", "Bl"), ("Blue", "Bl"), ("ABC", "AB"), ("", ""), ("x", "X")]
)
def test_a_tile_has_two_letters_at_most(name: str, letters: str) -> None:
    assert initials_of(name) == letters


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "now"),
        (0, "now"),
        (59, "now"),
        (60, "1m"),
        (3_599, "59m"),
        (3_600, "1h"),
        (86_400, "1d"),
        (364 * 86_400, "364d"),
    ],
)
def test_how_long_ago_is_one_number(seconds: int, words: str) -> None:
    assert age(Micros(NOW - seconds * SECOND), NOW) == words


MINUTE, HOUR, DAY = 60, 3_600, 86_400


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "under 1m"),
        (MINUTE - 1, "under 1m"),
        (MINUTE, "1m"),
        (HOUR - 1, "1h"),
        (80 * MINUTE, "1h 20m"),
        (109 * MINUTE - 30, "1h 49m"),
        (DAY - MINUTE, "23h 59m"),
        (DAY + 5 * MINUTE, "1d"),
        (7 * DAY - 1, "7d"),
        (7 * DAY - HOUR, "6d 23h"),
        (30 * DAY - 1, "30d"),
        (400 * DAY, "400d"),
    ],
)
def test_time_left_has_two_units_and_is_not_cut_down_the_second_it_was_given(seconds: int, words: str) -> None:
    assert left(Micros(NOW + seconds * SECOND), NOW) == words


def test_beyond_a_year_it_is_a_date() -> None:
    assert age(Micros(NOW - 365 * 86_400 * SECOND), NOW) == "2026-01-15"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_024, "1.0 KiB"),
        (12 * 1_024, "12 KiB"),
        (3_565_158, "3.4 MiB"),
        (5 * 1_024**3, "5.0 GiB"),
    ],
)
def test_a_size_has_three_digits_or_so(number: int, words: str) -> None:
    assert size(number) == words


def test_a_count_has_its_noun() -> None:
    assert (counted(1, "message"), counted(1_204, "message"), counted(2, "copy", "copies")) == (
        "1 message",
        "1,204 messages",
        "2 copies",
    )


def test_a_time_is_said_as_people_write_it() -> None:
    assert moment(NOW) == "2027-01-15 08:00:00 UTC"
    assert clock(NOW, NOW) == "15 Jan 08:00 UTC"
    assert clock(Micros(NOW - 86_400 * 31 * SECOND), NOW) == "15 Dec 2026 08:00 UTC"
