from __future__ import annotations

import sqlite3
import unicodedata
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.domain.search.expansion import Term, terms_of
from mcp_agent_mail.domain.search.query import Phrase, read_query, spaced_out
from mcp_agent_mail.domain.search.ranking import (
    SNIPPET_CHARACTERS,
    RankedText,
    excerpt,
    first_match,
    folded,
    pattern_of,
    ranked,
)


def phrases_of(query: str) -> tuple[Phrase, ...]:
    read = read_query(query)
    assert read is not None
    return read.phrases


def order(query: str, *texts: RankedText) -> list[int]:
    return ranked(texts, [Term(phrase) for phrase in phrases_of(query)])


def test_a_word_in_the_subject_outweighs_words_in_the_body() -> None:
    assert order("plan", RankedText("News", "plan plan plan"), RankedText("The plan", "news")) == [1, 0]


def test_more_mentions_rank_higher_and_equal_ones_keep_their_order() -> None:
    texts = [RankedText("a", "plan x x"), RankedText("a", "plan plan x"), RankedText("a", "plan x x")]

    assert order("plan", *texts) == [1, 0, 2]


def test_a_short_text_outranks_a_long_one_with_as_many_mentions() -> None:
    assert order("plan", RankedText("a", "plan " + "x " * 500), RankedText("a", "plan x")) == [1, 0]


def test_a_text_is_short_or_long_beside_the_others_and_more_mentions_outweigh_a_little_length() -> None:
    once, twice = RankedText("a", "plan " + "x " * 50), RankedText("a", "plan plan " + "x " * 150)

    assert order("plan", once, twice) == [1, 0]


def test_a_rare_word_outweighs_a_common_one() -> None:
    texts = [*(RankedText("a", "common common x") for _ in range(9)), RankedText("a", "rare x x x x x")]

    assert order("common OR rare", *texts)[0] == 9


def test_only_the_column_asked_for_counts() -> None:
    assert order("body:plan OR news", RankedText("plan plan", "x"), RankedText("x", "plan")) == [1, 0]


def test_a_word_counts_only_where_it_stands_alone() -> None:
    assert order("app", RankedText("a", "apple webapp webapp webapp"), RankedText("a", "my app is long")) == [1, 0]


def test_what_is_not_wanted_does_not_rank() -> None:
    assert phrases_of("plan NOT draft") == phrases_of("plan")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cafe", "Caf\u00e9"),
        ("caf\u00e9", "CAFE\u0301"),
        ("src/app.py", "see src app py"),
        ("\u672c\u8a9e", "\u65e5\u672c\u8a9e"),
        ("abc", "\u691c\u7d22abc\u6a5f\u80fd"),
        ("\u6a5f\u80fd", "\u691c\u7d22abc\u6a5f\u80fd"),
        ("tes*", "testing"),
        ("c++", "in C too"),
    ],
)
def test_what_the_index_finds_is_found_in_the_text(query: str, text: str) -> None:
    assert order(query, RankedText("", "nothing"), RankedText("", text)) == [1, 0]


def test_a_phrase_without_a_word_is_found_nowhere_and_one_with_accents_in_no_ascii() -> None:
    assert pattern_of(Phrase("--")) is None
    assert pattern_of(Phrase("caf\u00e9 \u672c"), for_ascii=True) is None


def test_another_words_of_a_word_counts_less_than_the_word_and_more_than_none() -> None:
    read = read_query("build")
    assert read is not None
    texts = [RankedText("a", "nothing"), RankedText("a", "builds"), RankedText("a", "build")]

    assert ranked(texts, terms_of(read)) == [2, 1, 0]


def test_another_form_counts_less_than_the_word_in_a_text_as_long() -> None:
    texts = [RankedText("a", "builds x"), RankedText("a", "build xx")]

    assert ranked(texts, [Term(Phrase("build"), "build", ("builds",))]) == [1, 0]


@pytest.mark.parametrize("more", ["x", "\u65e5"])
@pytest.mark.parametrize("found", ["builds", "webbuild", "mybuild"])
def test_forms_and_every_name_of_a_word_count_in_whatever_script_the_text_is(found: str, more: str) -> None:
    texts = [RankedText("a", f"{'-' * len(found)} {more}"), RankedText("a", f"{found} {more}")]

    assert ranked(texts, [Term(Phrase("build"), "build", ("builds",), ("webbuild", "mybuild"))]) == [1, 0]


def test_no_texts_have_no_order() -> None:
    assert order("plan") == []


_WORDS = st.lists(st.sampled_from(["plan", "plans", "build", "test", "a"]), min_size=1, max_size=12).map(" ".join)


@given(
    st.lists(st.tuples(_WORDS, _WORDS), min_size=1, max_size=8), st.sampled_from(["plan", "build", "test*", '"a plan"'])
)
def test_found_by_the_index_is_counted_here(letters: list[tuple[str, str]], query: str) -> None:
    read = read_query(query)
    assert read is not None
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE fts USING fts5 (subject, body_md)")
        connection.executemany("INSERT INTO fts VALUES (?, ?)", letters)
        rows = connection.execute("SELECT rowid FROM fts WHERE fts MATCH ? ORDER BY rowid", (read.expression,))
        found = {rowid - 1 for (rowid,) in rows}
    pattern = pattern_of(read.phrases[0])

    assert pattern is not None
    assert found == {at for at, letter in enumerate(letters) if any(pattern.search(text) for text in letter)}


@given(
    st.text("aAb_1 .-", max_size=30),
    st.sampled_from(["a", "ab", "a*", '"a b"', "b1", "1", "a_b", "\u00e9", '"a \u4e2d"']),
)
def test_the_pattern_for_ascii_finds_in_ascii_what_the_full_one_finds(text: str, query: str) -> None:
    read = read_query(query)
    assert read is not None
    full, ascii_only = pattern_of(read.phrases[0]), pattern_of(read.phrases[0], for_ascii=True)

    assert full is not None
    found = [] if ascii_only is None else [match.span() for match in ascii_only.finditer(folded(text))]
    assert found == [match.span() for match in full.finditer(folded(text))]


@given(st.text(max_size=30), st.text(max_size=200))
def test_ranking_takes_every_text(query: str, text: str) -> None:
    read = read_query(query)
    if read is not None:
        texts, terms = [RankedText(text, query), RankedText(query, text)], [Term(phrase) for phrase in read.phrases]
        assert sorted(ranked(texts, terms)) == [0, 1]
        assert sorted(ranked(texts, terms_of(read) or terms)) == [0, 1]
        first_match(text, read.phrases)


def test_a_snippet_shows_the_word_with_its_surroundings_on_one_line() -> None:
    body = "start " * 40 + "here is\nthe plan\n" + "end " * 80

    snippet = excerpt(body, first_match(body, phrases_of("plan")))

    assert "here is the plan end" in snippet
    assert snippet.startswith("\u2026")
    assert snippet.endswith("\u2026")
    assert len(snippet) < SNIPPET_CHARACTERS + 20


def test_a_snippet_is_cut_between_words() -> None:
    body = "elephants " * 30 + "the plan " + "elephants " * 60

    snippet = excerpt(body, first_match(body, phrases_of("plan")))

    assert set(snippet.strip("\u2026").split()) == {"elephants", "the", "plan"}


def test_where_folding_moves_the_letters_no_place_is_told_rather_than_a_wrong_one() -> None:
    assert first_match("Caf\u00e9: plan", phrases_of("plan")) == 6
    assert first_match("Cafe\u0301: plan", phrases_of("plan")) is None


def test_a_short_body_is_its_own_snippet() -> None:
    assert excerpt("All\n of it. ", None) == "All of it."


def test_a_snippet_of_text_without_blanks_is_bounded_too() -> None:
    body = "\u65e5\u672c\u8a9e" * 500

    assert len(excerpt(spaced_out(body).replace(" ", ""), 600)) <= SNIPPET_CHARACTERS + 14


def test_a_snippet_of_one_long_run_is_cut_within_it_however_far_off_the_next_blank_is() -> None:
    body = "a" * 300 + " end"

    assert excerpt(body, 100) == "\u2026" + "a" * SNIPPET_CHARACTERS + "\u2026"
    assert excerpt(body, None) == "a" * SNIPPET_CHARACTERS + "\u2026"


def test_what_the_query_found_as_written_comes_before_what_it_was_widened_to() -> None:
    assert order("plan", RankedText("plan plan", "plan", is_exact=False), RankedText("a", "plan " + "x " * 99)) == [
        1,
        0,
    ]


def test_words_quoted_from_somebody_else_count_less() -> None:
    assert order("plan", RankedText("a", "> the plan\nnow"), RankedText("a", "+ the plan\nnow")) == [1, 0]


def test_the_newer_and_the_more_important_of_equals_comes_first() -> None:
    assert order("plan", RankedText("a", "plan"), RankedText("a", "plan", created_ts=30 * 86_400 * 1_000_000)) == [1, 0]
    assert order("plan", RankedText("a", "plan"), RankedText("a", "plan", importance=Importance.URGENT)) == [1, 0]


def test_messages_of_one_thread_lift_one_another() -> None:
    weak, strong, alone = (
        RankedText("a", "plan x", thread="1"),
        RankedText("plan", "x", thread="1"),
        RankedText("a", "plan x", thread="2"),
    )

    assert order("plan", alone, weak, strong) == [2, 1, 0]


@pytest.mark.parametrize(
    "text", ["\u00c9t\u00e9", "E\u0301te\u0301", "\uac00 a\u1100\u1161", "\u304b\u3099", "\u0130", "\u00df"]
)
def test_long_texts_are_folded_as_short_ones(text: str) -> None:
    assert folded(f"{text} " * 400) == folded(f"{text} ") * 400


def test_marks_on_one_letter_are_put_in_order_by_so_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []
    real = unicodedata.normalize

    def watched(form: Any, text: str) -> str:
        lengths.append(len(text))
        return real(form, text)

    monkeypatch.setattr(unicodedata, "normalize", watched)

    assert folded("a" + "\u0301\u0316" * 2_000) == "a"
    assert max(lengths) <= 256
