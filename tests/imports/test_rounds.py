from __future__ import annotations

from pathlib import Path

from tests.imports.rounds import KillRounds

FEW = 2


def test_after_a_few_kills_nothing_is_missing_or_there_twice(tmp_path: Path) -> None:
    rounds = KillRounds(tmp_path, 3, messages=200)

    rounds.play(FEW)

    assert rounds.faults == []
    assert rounds.done["kills of the command"] == rounds.done["kills of the server"] == FEW // 2
    assert rounds.done["messages in the end"] > 200
