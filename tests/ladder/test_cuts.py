"""An answer with mail in it that is cut at every one of its bytes, in every way and through every door."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ladder.cuts import WAYS, cut_everywhere
from tests.ladder.doors import DOORS
from tests.ladder.history import History
from tests.ladder.served import open_hosted
from tests.ladder.tally import Record

FEW = 61
CASES = [(door, way) for door in DOORS for way in WAYS]


async def cut(directory: Path, door: str, way: str, step: int) -> History:
    async with open_hosted(directory) as server:
        return await cut_everywhere(server, await server.people("cut"), door, way, step)


@pytest.mark.parametrize(("door", "way"), CASES)
async def test_no_cut_answer_is_shown_and_none_that_did_not_leave_is_handed_over(
    tmp_path: Path, door: str, way: str
) -> None:
    history = await cut(tmp_path, door, way, FEW)

    assert history.faults == []
    assert history.tally.reached["shown"] == 1, "the one that was read to its end"
    if way != "closed by the kernel":
        # What the kernel had taken whole has left the process, though nobody read it.
        assert (history.tally.reached["handed_over"] > 0) == (way in ("closed", "reset"))


@pytest.mark.ladder
@pytest.mark.parametrize(("door", "way"), CASES)
async def test_an_answer_is_cut_at_every_byte(tmp_path: Path, door: str, way: str, record_property: Record) -> None:
    history = await cut(tmp_path, door, way, 1)

    history.tally.tell(record_property)
    assert history.faults == []
    assert len(history.tally.cut_at) == max(history.tally.cut_at) + 1
