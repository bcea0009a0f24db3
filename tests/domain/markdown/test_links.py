"""Labels, targets and titles, each where it begins."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.markdown.links import (
    MAX_LABEL,
    label_key,
    read_definition,
    read_inline,
    read_label,
    unescaped,
)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("(a)", "a"),
        ("( a 't' )", "a"),
        ('(<a b> "t\n")', "a b"),
        ("(a(b)c)", "a(b)c"),
        ("(a\\))", "a\\)"),
        ("()", ""),
        ("(a\n(t))", "a"),
    ],
)
def test_an_inline_target_is_read_with_its_title(text: str, target: str) -> None:
    found = read_inline(text, 0)

    assert found is not None
    assert text[found.start : found.end] == target
    assert found.after == len(text)


@pytest.mark.parametrize("text", ["a", "(a", "(a b)", "(<a\nb>)", "(a 't)", "(" + "(" * 33 + ")" * 34, "(a\n\n)"])
def test_what_is_no_inline_target_is_not_read(text: str) -> None:
    assert read_inline(text, 0) is None


def test_a_definition_ends_with_its_line_or_with_that_of_its_title() -> None:
    text = "[A  b]: <t> 'title'  \nrest"

    found = read_definition(text, 0)

    assert found is not None
    assert (found.label, text[found.target.start : found.target.end]) == ("a b", "t")
    assert text[found.target.after :] == "rest"


def test_what_looks_like_a_title_on_the_next_line_is_none_when_it_goes_on() -> None:
    found = read_definition("[a]: t\n'title' and more", 0)

    assert found is not None
    assert found.target.after == len("[a]: t\n")


@pytest.mark.parametrize("text", ["[a] : t", "[ ]: t", "[a]:", "[a]: t x", "[a]: t 'x", "a]: t", "[a[]: t"])
def test_what_is_no_definition_is_not_read(text: str) -> None:
    assert read_definition(text, 0) is None


def test_a_label_has_at_most_999_characters() -> None:
    assert read_label(f"[{'a' * MAX_LABEL}]", 0) is not None
    assert read_label(f"[{'a' * (MAX_LABEL + 1)}]", 0) is None


def test_labels_are_compared_without_letter_case_and_by_single_blanks() -> None:
    assert label_key(" Straße\n\tX ") == label_key("STRASSE x")


def test_escapes_and_entities_are_what_they_stand_for() -> None:
    assert unescaped(r"a\_b\c&auml;&hearts;&#65;&#x42;&#0;&nosuch;&copy") == "a_b\\cä♥AB\ufffd&nosuch;&copy"
