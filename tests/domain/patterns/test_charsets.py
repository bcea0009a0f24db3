"""Brackets are read as Git reads them, over all of Unicode."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.domain.patterns.charsets import (
    ANY,
    CharSet,
    atoms_meet,
    fold,
    holds,
    merged,
    read_bracket,
    shared,
    without,
)

SETS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40))).map(merged)


def members(charset: CharSet) -> set[int]:
    return {code for low, high in charset for code in range(low, high + 1)}


@given(SETS, SETS)
def test_sets_meet_and_lose_as_sets_do(a: CharSet, b: CharSet) -> None:
    assert members(shared(a, b)) == members(a) & members(b)
    assert members(without(a, b)) == members(a) - members(b)
    assert atoms_meet(a, b) is bool(members(a) & members(b))


def test_folding_knows_every_letter_of_unicode_with_one_lower_case_form() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        lower = character.lower()
        if len(lower) == 1 and lower != character:
            everything_else = read_bracket(f"[!{lower}]", ignore_case=True)
            assert not holds(everything_else, character), hex(code)


def test_folding_keeps_the_length() -> None:
    assert fold("\u0130\u00c9A") == "\u0130\u00e9a"


@pytest.mark.parametrize("bracket", ["[A]", "[a]", "[Aa]", "[[:upper:]]", "[A-C]", "[!b]", "[^B]", "[!B-Z]"])
def test_case_does_not_matter_in_a_bracket_where_it_does_not_in_the_repository(bracket: str) -> None:
    assert holds(read_bracket(bracket, ignore_case=True), "a")


@pytest.mark.parametrize("bracket", ["[!A]", "[^a]", "[![:upper:]]", "[!A-C]", "[b]", "[B-Z]"])
def test_nor_in_a_negated_one(bracket: str) -> None:
    assert not holds(read_bracket(bracket, ignore_case=True), "a")


@pytest.mark.parametrize(
    ("bracket", "inside", "outside"),
    [
        ("[]a]", "]a", "["),
        ("[!]a]", "b", "]a"),
        ("[a-]", "a-", "b"),
        ("[--0]", "-.0", "/,"),
        ("[\\]a]", "]a", "\\"),
        ("[a\\-c]", "a-c", "b"),
        ("[[:digit:]x]", "5x", ":d"),
        ("[[:x]", "[:x", "]"),
        ("[\u00e0-\u00ff]", "\u00e9", "e"),
        ("[!a]", "b", "/a"),
    ],
)
def test_a_bracket_holds_what_git_says(bracket: str, inside: str, outside: str) -> None:
    atom = read_bracket(bracket, ignore_case=False)

    assert all(holds(atom, character) for character in inside)
    assert not any(holds(atom, character) for character in outside)


def test_any_character_is_every_one_but_the_slash() -> None:
    assert not holds(ANY, "/")
    assert holds(ANY, "\U0010ffff")
