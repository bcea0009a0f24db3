"""What bare words are looked for when too little holds all of them."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.search.expansion import MAX_TERMS, expressions, terms_of
from mcp_agent_mail.domain.search.query import SearchQuery, read_query


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


def test_the_number_of_terms_is_bounded() -> None:
    assert len(terms_of(read(" ".join(f"word{number}" for number in range(100))))) == MAX_TERMS
    assert len(terms_of(read("\u691c\u7d22\u6a5f\u80fd" * 20))) <= MAX_TERMS
