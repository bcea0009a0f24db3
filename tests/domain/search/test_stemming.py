from __future__ import annotations

import pytest

from mcp_agent_mail.domain.search.stemming import forms_of, stem_of


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("rotating", "rotate"),
        ("rotate", "rotation"),
        ("policies", "policy"),
        ("retry", "retries"),
        ("planned", "plan"),
        ("plan", "planning"),
        ("crashes", "crash"),
    ],
)
def test_a_word_has_its_other_forms(word: str, other: str) -> None:
    assert other in forms_of(word)[1:]
    assert all(form.startswith(stem_of(word)) for form in forms_of(word))


@pytest.mark.parametrize("word", ["api", "utf8", "caf\u00e9", "v2", "\u691c\u7d22"])
def test_what_is_no_plain_word_has_no_other_forms(word: str) -> None:
    assert forms_of(word) == (word,)


@pytest.mark.parametrize("word", ["run", "ids", "ca"])
def test_short_words_have_no_other_forms(word: str) -> None:
    assert (stem_of(word), forms_of(word)) == ("", (word,))


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("planned", "plan"),
        ("tests", "test"),
        ("class", "class"),
        ("string", "str"),
        ("ring", "ring"),
        ("falling", "fall"),
        ("migrations", "migr"),
    ],
)
def test_a_known_ending_goes_where_enough_is_left(word: str, stem: str) -> None:
    assert stem_of(word) == stem


def test_a_last_letter_is_doubled_only_after_a_short_vowel() -> None:
    assert "planned" in forms_of("plan")
    assert "testted" not in forms_of("test")
    assert forms_of("plan")[0] == "plan"
    assert len(set(forms_of("plan"))) == len(forms_of("plan"))
