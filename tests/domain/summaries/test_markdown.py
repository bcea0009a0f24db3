"""How a body is taken apart: what is the sender's own, where a sentence ends, what only labels."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.summaries.markdown import (
    MAX_PIECE,
    MarkdownPiece,
    Section,
    pieces_of,
    quoted_lines,
    sentences_of,
)


def texts(body_md: str) -> list[str]:
    return [piece.text for piece in pieces_of(body_md)]


def last_section(body_md: str) -> Section:
    return [*pieces_of(body_md)][-1].section


def test_what_follows_the_mark_of_a_signature_is_left_out() -> None:
    assert texts("The lexer is done.\n--\nBlueLake, build team") == ["The lexer is done."]


def test_an_abbreviation_ends_no_sentence() -> None:
    assert sentences_of("Use a cache, e.g. Redis. Then measure.") == ["Use a cache, e.g. Redis.", "Then measure."]


def test_a_sentence_is_cut() -> None:
    assert [len(sentence) for sentence in sentences_of("x" * 500)] == [MAX_PIECE]


def test_a_short_line_with_a_colon_announces_a_section_and_a_long_one_does_not() -> None:
    assert last_section("Our decisions:\n- keep SQLite\n") is Section.DECISIONS
    assert last_section("we made no such decisions:\n- keep SQLite\n") is Section.NONE


@pytest.mark.parametrize(
    ("line", "section"),
    [
        ("# Decisions", Section.DECISIONS),
        ("## Open points ##", Section.QUESTIONS),
        ("### Follow-ups", Section.ACTIONS),
        ("**Done**", Section.DONE),
        ("Next steps:", Section.ACTIONS),
        ("We met at noon. Decisions:", Section.DECISIONS),
        ("# Decisions and actions", Section.ACTIONS),
        ("# Background", Section.NONE),
        ("Background:", Section.NONE),
    ],
)
def test_the_items_below_a_heading_are_what_it_announces(line: str, section: Section) -> None:
    assert last_section(f"{line}\n- keep SQLite") is section


@pytest.mark.parametrize("heading", ["# Decisions", "# Background", "Decisions:"])
def test_a_heading_is_no_piece_itself_and_ends_the_paragraph_above(heading: str) -> None:
    assert texts(f"We met.\n{heading}\nWe keep SQLite.") == ["We met.", "We keep SQLite."]


@pytest.mark.parametrize("between", ["# Background", "All agreed."])
def test_a_section_ends_at_another_heading_and_at_a_paragraph(between: str) -> None:
    assert last_section(f"# Decisions\n- keep SQLite\n\n{between}\n\n- measure") is Section.NONE


def test_an_item_announces_nothing() -> None:
    assert [*pieces_of("- Decisions:\n- keep SQLite")] == [
        MarkdownPiece(text="Decisions:", is_item=True),
        MarkdownPiece(text="keep SQLite", is_item=True),
    ]


def test_lines_of_a_paragraph_and_of_an_item_are_joined_until_something_else_begins() -> None:
    body = "We keep\nSQLite.\n- measure\n  the queue\n- ship\n\nThe end\nis near.\nOwner: RedStone\n"

    assert [(piece.text, piece.is_item) for piece in pieces_of(body)] == [
        ("We keep SQLite.", False),
        ("measure the queue", True),
        ("ship", True),
        ("The end is near.", False),
        ("Owner: RedStone", False),
    ]


def test_an_item_is_one_piece_in_a_section_and_its_sentences_elsewhere() -> None:
    assert texts("# Decisions\n- \n- Keep SQLite. It is enough.") == ["Keep SQLite. It is enough."]
    assert texts("- \n- Keep SQLite. It is enough.") == ["Keep SQLite.", "It is enough."]


def test_a_checkbox_is_told_by_its_state() -> None:
    assert [*pieces_of("- [x] freeze\n- [ ] tag. Then ship.\n- [y] none")] == [
        MarkdownPiece(text="freeze", is_item=True, box=True),
        MarkdownPiece(text="tag. Then ship.", is_item=True, box=False),
        MarkdownPiece(text="[y] none", is_item=True),
    ]


def test_marks_of_stress_are_taken_away_and_those_of_code_stay() -> None:
    assert texts("Keep **SQLite** and __WAL__ here, not src/*.py or 2*3*4.") == [
        "Keep SQLite and WAL here, not src/*.py or 2*3*4."
    ]


@pytest.mark.parametrize(
    "foreign", ["> We use Redis.", "```\nuse(redis)\n~~~\n```", "~~~\nuse(redis)\n~~~", "| Redis | 1 |"]
)
def test_quotes_code_and_tables_are_not_the_senders_words(foreign: str) -> None:
    assert texts(f"We\n{foreign}\nkeep SQLite.") == ["We", "keep SQLite."]


def test_what_follows_a_fence_that_nothing_closes_is_code() -> None:
    assert texts("We keep SQLite.\n```\nuse(redis)\n~~~\nuse(redis)") == ["We keep SQLite."]


def test_quoted_lines_are_told_without_their_marks() -> None:
    assert quoted_lines("Yes.\n> Which port?\n  > > On staging?\n\n8081 > 80") == ["Which port?", "On staging?"]
