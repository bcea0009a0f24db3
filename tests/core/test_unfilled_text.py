from __future__ import annotations

import pytest

from mcp_agent_mail.core.unfilled_text import said


@pytest.mark.parametrize("value", ["", "  ", "$AGENT_NAME", "${AGENT_NAME}", " ${AGENT_NAME:-} ", "$"])
def test_a_blank_and_what_was_not_filled_in_say_nothing(value: str) -> None:
    assert said(value) is None


@pytest.mark.parametrize(("value", "text"), [(" BlueLake ", "BlueLake"), ("a$b", "a$b"), ("/code/$app", "/code/$app")])
def test_anything_else_says_what_it_says(value: str, text: str) -> None:
    assert said(value) == text
