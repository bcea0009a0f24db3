from __future__ import annotations

import pytest

from mcp_agent_mail.cli.gateway.asked_wait import LONGEST_S, seconds_in, whole_seconds_in

ENDLESS = "9" * 400


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (3, 3.0),
        (0.5, 0.5),
        (-1, 0.0),
        (int(ENDLESS), LONGEST_S),
        (-int(ENDLESS), 0.0),
        (float("inf"), LONGEST_S),
        (float("nan"), None),
        (True, None),
        ("3", None),
        (None, None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_number_of_seconds_is_bounded_before_it_is_converted(said: object, seconds: float | None) -> None:
    assert seconds_in(said) == seconds


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("9", 9),
        ("0", 0),
        ("000000000012", 12),
        ("86401", LONGEST_S),
        (ENDLESS, LONGEST_S),
        ("9" * 5_000, LONGEST_S),
        ("", None),
        ("-1", None),
        ("\u0663", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_header_says_whole_seconds_or_nothing_that_is_read(header: str, seconds: int | None) -> None:
    assert whole_seconds_in(header) == seconds
