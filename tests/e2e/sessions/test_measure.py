"""What a session costs, beside what it did."""

from __future__ import annotations

import pytest

from tests.e2e.sessions.measure import SESSIONS, Figures, before, figures_of, share
from tests.e2e.sessions.player import Cost


def figures(turns: int, characters: int, tokens: int | None) -> Figures:
    return Figures(turns=turns, characters=characters, tokens=tokens, mistakes=10, most_extra_turns=1)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (figures(60, 500, None), 0.6),
        (figures(50, 700, None), 0.7),
        (figures(50, 500, 90), 0.9),
    ],
)
def test_the_share_is_the_largest_of_turns_characters_and_tokens(now: Figures, expected: float) -> None:
    assert share(now, figures(100, 1000, 100)) == expected


def test_tokens_count_only_where_both_were_counted() -> None:
    assert share(figures(50, 500, 999), figures(100, 1000, None)) == 0.5


def test_the_figures_of_a_session_are_of_all_its_turns_and_its_dearest_mistake() -> None:
    cost = Cost(turns=7, texts=["ab", "cde"], mistakes={"a": 0, "b": 2})

    told = figures_of(cost)

    assert (told.turns, told.characters, told.mistakes, told.most_extra_turns) == (7, 5, 2, 2)


def test_every_session_has_its_figures_of_before() -> None:
    assert before().keys() == SESSIONS.keys()
