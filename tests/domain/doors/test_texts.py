from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.domain.doors.texts import MAX_DOOR_SUBJECT, NO_TEXT, shown_text, subject_of
from mcp_agent_mail.domain.messages import parse_subject


@pytest.mark.parametrize(
    ("body", "subject"),
    [
        ("ping", "ping"),
        ("\n \t\n  Build is red  \nsee log", "Build is red"),
        ("one\r\ntwo", "one"),
        ("a\tb", "a b"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("", NO_TEXT),
        (" \n\t ", NO_TEXT),
        ("\x00\nnext", "next"),
        ("x" * 120, "x" * 120),
        ("x" * 121, "x" * 119 + "…"),
        ("x" * 118 + "  yy", "x" * 118 + "…"),
    ],
)
def test_the_subject_is_the_first_line_that_says_something(body: str, subject: str) -> None:
    assert subject_of(body) == subject


@given(st.text(alphabet=st.characters(codec=None), max_size=300))
def test_every_body_has_a_subject_that_is_taken_as_it_is(body: str) -> None:
    subject = subject_of(body)

    assert parse_subject(subject) == subject
    assert len(subject) <= MAX_DOOR_SUBJECT


@given(st.text())
def test_what_a_door_sent_is_shown_byte_for_byte(body: str) -> None:
    assert shown_text(subject_of(body), body, is_from_door=True) == body


@pytest.mark.parametrize(
    ("subject", "body", "shown"),
    [
        ("Build", "is red\n", "Build\n\nis red\n"),
        ("Build", "", "Build"),
        ("Build", " \n", "Build"),
        ("Build", "Build", "Build"),
        ("Build", "Build\nis red", "Build\nis red"),
        ("Build", "Build\r\nis red", "Build\r\nis red"),
        ("Build", "Build is red", "Build\n\nBuild is red"),
        ("Build", "\nBuild", "Build\n\n\nBuild"),
    ],
)
def test_a_native_message_is_shown_under_its_subject_unless_it_begins_with_it(
    subject: str, body: str, shown: str
) -> None:
    assert shown_text(subject, body, is_from_door=False) == shown
