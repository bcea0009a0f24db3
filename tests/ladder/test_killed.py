"""The same histories against a server that is killed while it answers: what it knew may be lost, and is not made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ladder.lots import play_killed
from tests.ladder.tally import Record

FEW = 3
FIRST = 100_000
HISTORIES = 300
LOT = 20


async def test_a_few_killed_servers_say_no_more_than_is_true(tmp_path: Path) -> None:
    faults, tally = await play_killed(tmp_path, FIRST, FEW)

    assert faults == []
    assert tally.done["servers killed"] == FEW


@pytest.mark.ladder
@pytest.mark.parametrize("first", range(FIRST + FEW, FIRST + FEW + HISTORIES, LOT))
async def test_killed_servers_say_no_more_than_is_true(tmp_path: Path, first: int, record_property: Record) -> None:
    faults, tally = await play_killed(tmp_path, first, LOT)

    tally.tell(record_property)
    assert faults == []
