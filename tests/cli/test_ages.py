from __future__ import annotations

import pytest

from mcp_agent_mail.cli.ages import age, exact_time, time_and_age
from mcp_agent_mail.core.clock import SECOND, Micros, iso, parse_time

NOW = parse_time("2026-11-21T20:38:00Z")
DAY = 86_400


def ago(seconds: float) -> str:
    return iso(Micros(NOW - int(seconds * SECOND)))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (0.9, "now"),
        (1, "1 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (119, "1 min"),
        (3_599, "59 min"),
        (3_600, "1 h"),
        (DAY - 1, "23 h"),
        (DAY, "1 d"),
        (60 * DAY - 1, "59 d"),
        (60 * DAY, "2026-09-22"),
        (-0.5, "now"),
        (-90, "in 1 min"),
        (-2 * DAY, "in 2 d"),
        (-400 * DAY, "2027-12-26"),
    ],
)
def test_an_age_is_said_in_its_largest_unit(seconds: float, words: str) -> None:
    assert age(ago(seconds), NOW) == words


@pytest.mark.parametrize("text", ["", "soon", "2026-13-41"])
def test_what_is_no_time_stays_as_it_is(text: str) -> None:
    assert (age(text, NOW), exact_time(text)) == (text, text)


def test_an_exact_time_is_in_utc_and_to_the_second() -> None:
    assert exact_time("2026-11-21T21:38:11.999999+01:00") == "2026-11-21 20:38:11Z"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (125, "2026-11-21 20:35:55Z (2 min ago)"),
        (-125, "2026-11-21 20:40:05Z (in 2 min)"),
        (0, "2026-11-21 20:38:00Z (now)"),
        (100 * DAY, "2026-08-13 20:38:00Z"),
    ],
)
def test_where_there_is_room_a_time_has_its_age_beside_it(seconds: float, said: str) -> None:
    assert time_and_age(ago(seconds), clock=lambda: NOW) == said


def test_no_time_is_none() -> None:
    assert time_and_age(None, clock=lambda: NOW) is None
