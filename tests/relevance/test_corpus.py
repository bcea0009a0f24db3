"""The judged corpus is frozen: what is measured against it was judged before."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from tests.relevance.corpus import HERE, judgements, letters
from tests.relevance.measure import HALVES, PlainFts5, judged, ndcg


def test_the_corpus_is_the_one_that_was_judged() -> None:
    frozen = json.loads((HERE / "judgements.json").read_text(encoding="utf-8"))

    assert judgements(letters()) == frozen


def test_halves_are_of_one_size_and_share_no_matter() -> None:
    queries = judged()

    tuning, held_out = ([one for one in queries if one.half == half] for half in HALVES)

    assert len(tuning) == len(held_out) == 36
    assert not {one.matter for one in tuning} & {one.matter for one in held_out}


def test_plain_fts5_agrees_with_the_judgements_as_recorded() -> None:
    recorded = json.loads((HERE / "baseline.json").read_text(encoding="utf-8"))

    with closing(PlainFts5(letters())) as plain:
        measured = plain.figures(judged())

    for name, halves in recorded.items():
        assert measured[name] == pytest.approx(halves, abs=0.005)


@pytest.mark.parametrize(("found", "worth"), [([1, 2], 1.0), ([2, 1], 0.71), ([7, 1], 0.58), ([], 0.0)])
def test_ndcg_rewards_what_is_worth_most_first(found: list[int], worth: float) -> None:
    assert ndcg(found, {1: 3, 2: 1}) == pytest.approx(worth, abs=0.01)
