from __future__ import annotations

import pytest

from mcp_agent_mail.cli.commands.send import body_text, subject_from


@pytest.mark.parametrize(
    ("text", "subject"), [("\n# Plan\nrest", "Plan"), ("", ""), ("x" * 200, "x" * 100), ("\n \n", "")]
)
def test_the_first_line_that_says_something_is_the_subject(text: str, subject: str) -> None:
    assert subject_from(text) == subject


def test_a_text_that_is_given_is_taken_as_it_is() -> None:
    assert body_text(" a\n") == " a\n"
