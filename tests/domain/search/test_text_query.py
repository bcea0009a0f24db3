from __future__ import annotations

import pytest

from mcp_agent_mail.domain.search.query import SearchQuery, read_query
from mcp_agent_mail.domain.search.text_query import has_short_beginning, holds, is_in_subject


def understood(text: str) -> SearchQuery:
    query = read_query(text)
    assert query is not None
    return query


@pytest.mark.parametrize(
    ("text", "is_short"),
    [
        ("p*", True),
        ("plan*", True),
        ("plans*", False),
        ("plan", False),
        ('"the pl" *', True),
        ("plan AND dr*", True),
        ("plan NOT dr*", True),
        ("subject:pl*", True),
        ("^pl*", False),
        ("NEAR(pl* dr*, 5)", False),
        ("pl* AND NEAR(a b)", False),
    ],
)
def test_a_beginning_of_few_letters_is_noticed_where_texts_can_tell(text: str, is_short: bool) -> None:
    assert has_short_beginning(understood(text)) is is_short


@pytest.mark.parametrize(
    ("text", "subject", "body", "is_found"),
    [
        ("pl*", "News", "the Plan", True),
        ("pl*", "News", "explain", False),
        ("pl*", "News", "a_plan", True),
        ("subject:pl*", "News", "the plan", False),
        ("body:pl*", "The plan", "none", False),
        ("pl* dr*", "a plan", "a draft", True),
        ("pl* dr*", "a plan", "none", False),
        ("pl* OR dr*", "none", "a draft", True),
        ("pl* NOT dr*", "a plan", "a draft", False),
        ("pl* NOT dr*", "a plan", "none", True),
        ('"the pl" *', "none", "the plan", True),
        ("pr\u00e9*", "none", "Premier", True),
        ("\u691c*", "none", "\u5168\u6587\u691c\u7d22", True),
    ],
)
def test_a_text_holds_what_the_index_would_find(text: str, subject: str, body: str, is_found: bool) -> None:
    assert holds(understood(text), subject, body) is is_found


def test_a_phrase_of_the_query_in_the_subject_is_told() -> None:
    query = understood("pl* OR dr*")

    assert is_in_subject(query, "A Draft")
    assert not is_in_subject(query, "explain")
