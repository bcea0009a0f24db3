from __future__ import annotations

import pytest

from mcp_agent_mail.core.ids import MOST_NUMBER, read_number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9" * 15, 10**15 - 1)])
def test_a_number_is_ascii_digits(text: str, number: int) -> None:
    assert read_number(text) == number
    assert number < MOST_NUMBER


@pytest.mark.parametrize("text", ["", "9" * 16, "-1", "+1", "1.0", " 1", "1_0", "\u0661", "\u00b2", "x"])
def test_anything_else_is_none(text: str) -> None:
    assert read_number(text) is None
