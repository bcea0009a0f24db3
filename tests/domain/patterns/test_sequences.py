"""Sequences with gaps, against enumeration: what two have in common is looked for among all short ones."""

from __future__ import annotations

import re
from itertools import product

from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.sequences import Piece, meet

LETTERS = "ab"
PIECES = ("", "a", "b", "?")
SEQUENCES = [pieces for count in (1, 2, 3) for pieces in product(PIECES, repeat=count)]
LONGEST = 6
"""No two of these sequences need more letters: three pieces of one letter each."""
WORDS = ["".join(letters) for length in range(LONGEST + 1) for letters in product(LETTERS, repeat=length)]


def fits(one: str, other: str, work: WorkBudget) -> bool:
    work.spend(1)
    return one == other or "?" in (one, other)


def never(one: str, other: str, work: WorkBudget) -> bool:
    raise AssertionError((one, other, work))


def as_piece(text: str) -> Piece:
    """As names are read: a string where all is plain."""
    return tuple(text) if "?" in text else text


def words_of(pieces: tuple[str, ...]) -> frozenset[str]:
    pattern = re.compile(".*".join(piece.replace("?", ".") for piece in pieces))
    return frozenset(word for word in WORDS if pattern.fullmatch(word))


def test_two_sequences_meet_exactly_when_some_word_fits_both() -> None:
    words = {pieces: words_of(pieces) for pieces in SEQUENCES}
    work = WorkBudget(10**9)

    for one, other in product(SEQUENCES, repeat=2):
        a, b = ([as_piece(piece) for piece in pieces] for pieces in (one, other))
        assert meet(a, b, fits, work) is bool(words[one] & words[other]), (one, other)


def test_plain_text_is_searched_as_text() -> None:
    work = WorkBudget()

    assert meet(["abcabc"], ["a", "ca", "c"], never, work)
    assert not meet(["abcabc"], ["a", "x", "c"], never, work)
    assert not meet(["ab", ""], ["ba", ""], never, work)


def test_parts_of_a_fixed_sequence_are_found_one_behind_the_other() -> None:
    work = WorkBudget()

    assert meet(["xabab"], ["x", "ab", "ab"], fits, work)
    assert not meet(["xab"], ["x", "ab", "ab"], fits, work)
    assert not meet(["aba"], ["ab", "ba"], fits, work)


def test_a_long_search_in_plain_text_costs_more_than_a_short_one_and_less_than_its_length() -> None:
    short, long = WorkBudget(), WorkBudget()

    meet(["x" * 100], ["", "y", ""], fits, short)
    meet(["x" * 10_000], ["", "y", ""], fits, long)

    assert short.spent * 10 < long.spent < 1_000
