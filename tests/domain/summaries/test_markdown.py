"""How a body is taken apart: what is the sender's own, where a sentence ends, what only labels."""

from __future__ import annotations

from mcp_agent_mail.domain.summaries.markdown import Section, pieces_of, sentences_of


def test_what_follows_the_mark_of_a_signature_is_left_out() -> None:
    assert [piece.text for piece in pieces_of("The lexer is done.\n--\nBlueLake, build team")] == ["The lexer is done."]


def test_an_abbreviation_ends_no_sentence() -> None:
    assert sentences_of("Use a cache, e.g. Redis. Then measure.") == ["Use a cache, e.g. Redis.", "Then measure."]


def test_a_short_line_with_a_colon_announces_a_section_and_a_long_one_does_not() -> None:
    def section_of(label: str) -> Section:
        return [*pieces_of(f"{label}:\n- keep SQLite\n")][-1].section

    assert section_of("Our decisions") is Section.DECISIONS
    assert section_of("we made no such decisions") is Section.NONE
