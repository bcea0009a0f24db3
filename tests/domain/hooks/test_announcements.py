from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.hooks.announcements import MAX_LINE, ImportanceBound, age_s, first_line
from mcp_agent_mail.domain.messages import Importance


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("", ""),
        ("\n \t\n", ""),
        ("  one \ntwo", "one"),
        ("\u200b\n\ufe0f \u3164\nwords", "words"),
        ("\r\n\x0b\u2028 first\u2029second", "first"),
        ("x" * (MAX_LINE + 1), "x" * MAX_LINE),
    ],
)
def test_the_first_line_is_the_first_with_words(body: str, line: str) -> None:
    assert first_line(body) == line


def test_an_age_is_in_whole_seconds_and_never_below_none() -> None:
    now = Micros(10 * SECOND)

    assert [age_s(Micros(at), now) for at in (0, 1, 10 * SECOND, 11 * SECOND)] == [10, 9, 0, 0]


def test_what_may_be_told_begins_with_what_is_urgent() -> None:
    assert {bound.value: bound.order for bound in ImportanceBound} == {
        "urgent": (Importance.URGENT,),
        "high": (Importance.URGENT, Importance.HIGH),
        "any": (Importance.URGENT, Importance.HIGH, None),
    }
