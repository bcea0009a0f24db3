"""Searches agree with the judgements: better than plain FTS5, on the queries that nothing was tuned on too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.relevance.corpus import HERE, letters
from tests.relevance.measure import HALVES, figures, judged, ours

MARGIN = 0.05


@pytest.fixture
async def measured(tmp_path: Path) -> dict[str, float]:
    answers = await ours(tmp_path, letters(), [one.query for one in judged()])
    return figures(answers.__getitem__, judged())


async def test_both_halves_are_ranked_better_than_by_plain_fts5(measured: dict[str, float]) -> None:
    plain = json.loads((HERE / "baseline.json").read_text(encoding="utf-8"))

    for half in HALVES:
        assert measured[half] >= MARGIN + max(halves[half] for halves in plain.values())
