"""Names of code in text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.domain.search.identifiers import MAX_NAMES, identifiers_in, part_of_name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("call reparseToken(x), then parse_token.", ["reparsetoken", "parse_token"]),
        ("src/store/messageIndex.py __init__ self._cache", ["messageindex", "__init__"]),
        ("plain words, API, README and I", []),
        ("sha256Sum SHA_256", ["sha256sum", "sha_256"]),
        ("a" * 60 + "Bcdefg", []),
    ],
)
def test_names_are_words_with_a_sign_inside(text: str, names: list[str]) -> None:
    assert json.loads(identifiers_in("", text)) == names


def test_their_number_is_bounded() -> None:
    listing = " ".join(f"name_{number}" for number in range(5_000))

    assert len(json.loads(identifiers_in(listing, listing))) == MAX_NAMES


@pytest.mark.parametrize(
    ("text", "part"),
    [("Token", "token"), ("arse_To", "arse_to"), ("a" * 64, "a" * 64), ("a" * 65, None), ("ab", None), ("a.b", None)],
)
def test_what_may_stand_inside_a_name_is_compared_in_small_letters(text: str, part: str | None) -> None:
    assert part_of_name(text) == part


@given(st.text(max_size=300))
def test_any_text_has_names_that_stand_in_it(text: str) -> None:
    for name in json.loads(identifiers_in("", text)):
        assert name in text.lower()
        assert part_of_name(name) == name or len(name) < 3
