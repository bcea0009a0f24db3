"""The proof of the proof: with a guard of the evidence taken out, histories find that senders see more than is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ladder.guards import GUARDS, without
from tests.ladder.lots import play_lot

LOT = 12
LOTS = 25


@pytest.mark.parametrize("guard", GUARDS)
async def test_with_a_guard_taken_out_histories_find_it(tmp_path: Path, guard: str) -> None:
    faults: list[str] = []
    folders = [tmp_path / str(lot) for lot in range(LOTS)]
    for folder in folders:
        folder.mkdir()
    with without(guard):
        for lot, folder in enumerate(folders):
            faults, _ = await play_lot(folder, lot * LOT, LOT)
            if faults:
                break

    assert [fault for fault in faults if "is above the truth" in fault] != [], faults
