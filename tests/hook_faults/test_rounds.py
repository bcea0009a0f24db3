from __future__ import annotations

from pathlib import Path

from tests.hook_faults.rounds import Rounds

FEW = 40


def test_in_a_few_rounds_nothing_is_told_twice_handed_over_unprinted_or_lost(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, 4)

    rounds.play(FEW)

    assert rounds.faults == []
    assert rounds.done["told"] > 0
    assert rounds.done["two at once"] > 0
    assert rounds.handed > 0
