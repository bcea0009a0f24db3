"""Random histories: the sender's view is never above what the recipients' clients really got and did."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ladder.lots import play_lot
from tests.ladder.tally import Record

FEW = 40
HISTORIES = 9_700
LOT = 200


async def test_in_a_few_histories_no_sender_sees_more_than_is_true(tmp_path: Path) -> None:
    faults, tally = await play_lot(tmp_path, HISTORIES, FEW)

    assert faults == []
    assert tally.reached["shown"] > 0
    assert tally.reached["answered"] > 0
    assert tally.done["product inboxes"] > 0


@pytest.mark.ladder
@pytest.mark.parametrize("first", range(0, HISTORIES, LOT))
async def test_no_sender_sees_more_than_is_true(tmp_path: Path, first: int, record_property: Record) -> None:
    faults, tally = await play_lot(tmp_path, first, min(LOT, HISTORIES - first))

    tally.tell(record_property)
    assert faults == []
