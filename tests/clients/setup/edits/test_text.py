from __future__ import annotations

import pytest

from mcp_agent_mail.clients.setup.edits.text import UnfitText, indentation_at, newline_of, read_text, unit_of


@pytest.mark.parametrize("content", [b"", b"{}", b"\xef\xbb\xbf{}\r\n", "ü".encode()])
def test_bytes_come_back_as_they_were(content: bytes) -> None:
    held = read_text(content)

    assert held.with_text(held.text) == content


def test_what_is_no_text_is_named_with_its_line() -> None:
    with pytest.raises(UnfitText) as unfit:
        read_text(b'{\n"a": "\xff"\n}')

    assert unfit.value.line == 2


@pytest.mark.parametrize(("text", "newline"), [("", "\n"), ("a\nb\r\n", "\n"), ("a\r\nb\n", "\r\n"), ("\n", "\n")])
def test_the_first_line_says_how_lines_end(text: str, newline: str) -> None:
    assert newline_of(text) == newline


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("{}", "  "),
        ('{\n\t"a": 1}', "\t"),
        ('{\n    "a": 1}', "    "),
        # The second line of a block comment is indented by one more than the file is.
        ("{\n    /* a\n   * b */\n}", "  "),
    ],
)
def test_the_first_line_that_is_indented_says_by_how_much(text: str, unit: str) -> None:
    assert unit_of(text) == unit


def test_a_place_behind_letters_has_no_indentation() -> None:
    assert indentation_at('{\n  "a": 1}', 4) == "  "
    assert indentation_at('{\n  "a": 1}', 9) is None
