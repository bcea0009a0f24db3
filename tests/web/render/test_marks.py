"""Words that were looked for are marked; whatever else stands in a text stays text."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.search.query import Phrase, read_query
from mcp_agent_mail.web.render.marks import MOST_MARKS, marked


def phrases_of(words: str) -> tuple[Phrase, ...]:
    query = read_query(words)
    assert query is not None
    return query.phrases


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("The Coupon is", "coupon", "The <mark>Coupon</mark> is"),
        ("coupons", "coupon", "coupons"),
        ("coupons", "coupon*", "<mark>coupon</mark>s"),
        ("a bank, a coupon", "coupon bank", "a <mark>bank</mark>, a <mark>coupon</mark>"),
        ("plan b now", '"plan b"', "<mark>plan b</mark> now"),
        ("nothing", "else", "nothing"),
        ("coupons now", "coupon* coupons", "<mark>coupon</mark>s now"),
        ("plan b now", '"plan b" "b now"', "<mark>plan b</mark> now"),
        ("plan b now", '"plan b now" b', "<mark>plan b now</mark>"),
    ],
)
def test_each_place_is_marked_as_search_finds_it(text: str, words: str, shown: str) -> None:
    assert marked(text, phrases_of(words)) == shown


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script> x", "<mark onclick=alert(1)> x", "</mark><img src=x onerror=y> x", "&lt; x"]
)
def test_text_of_peers_is_escaped_inside_and_around_marks(hostile: str) -> None:
    for words in ("x", "script", "mark img"):
        shown = marked(hostile, phrases_of(words))
        left = shown.replace("<mark>", "").replace("</mark>", "")
        assert "<" not in left
        assert "&" in left


def test_reordering_characters_are_made_visible() -> None:
    assert "\u202e" not in marked("a\u202eb x", phrases_of("x"))


def test_marks_are_bounded() -> None:
    assert marked("x " * 500, phrases_of("x")).count("<mark>") == MOST_MARKS
