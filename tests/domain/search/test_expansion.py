"""What bare words are looked for when too little holds all of them."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.search.expansion import MAX_TERMS, Term, expressions, terms_of
from mcp_agent_mail.domain.search.query import Phrase, SearchQuery, read_query


def read(text: str) -> SearchQuery:
    query = read_query(text)
    assert query is not None
    return query


@pytest.mark.parametrize("text", ['"build plan"', "build AND plan", "build + plan", "pla*", "subject:plan", "a NOT b"])
def test_whoever_writes_operators_means_them(text: str) -> None:
    assert terms_of(read(text)) == []


def test_words_that_say_nothing_are_left_out_unless_nothing_else_is_asked() -> None:
    assert [term.phrase.text for term in terms_of(read("how do we retry"))] == ["retry"]
    assert [term.phrase.text for term in terms_of(read("to be"))] == ["to", "be"]


def test_only_forms_that_the_index_holds_are_asked_for() -> None:
    both, plan, build = expressions(terms_of(read("plan build")), {"plans"})

    assert plan == '({body_md subject} : "plan" OR {body_md subject} : "plans")'
    assert build == '({body_md subject} : "build")'
    assert both == f"({plan} AND ({build}))"


@pytest.mark.parametrize("text", ["src/app.py", "it's", "parse_token"])
def test_a_word_with_a_sign_in_it_has_no_other_forms(text: str) -> None:
    assert terms_of(read(text), {text: ["name"]}) == [Term(Phrase(text), names=("name",))]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("\u691c\u7d22\u6a5f", ["\u691c\u7d22\u6a5f", "\u691c\u7d22", "\u7d22\u6a5f"]),
        ("\u691c\u7d22\u6a5f \u80fd", ["\u691c\u7d22\u6a5f", "\u80fd"]),
        ("\u691c\u7d22", ["\u691c\u7d22"]),
        ("rotate", ["rotate"]),
    ],
)
def test_one_long_word_without_blanks_is_looked_for_by_its_neighbouring_pairs(text: str, asked: list[str]) -> None:
    assert [term.phrase.text for term in terms_of(read(text))] == asked


def test_the_number_of_terms_is_bounded() -> None:
    assert len(terms_of(read(" ".join(f"word{number}" for number in range(100))))) == MAX_TERMS
    assert len(terms_of(read("\u691c\u7d22\u6a5f\u80fd" * 20))) <= MAX_TERMS
