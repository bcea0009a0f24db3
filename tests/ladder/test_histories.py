"""Random histories: the sender's view is never above what the recipients' clients really got and did."""

from __future__ import annotations

from pathlib import Path

from tests.ladder.play import play
from tests.ladder.served import open_hosted
from tests.ladder.tally import Tally

FEW = 50


async def play_lot(directory: Path, first: int, number: int) -> tuple[list[str], Tally]:
    tally, faults = Tally(), []
    async with open_hosted(directory) as server:
        for seed in range(first, first + number):
            played = await play(server, await server.people(f"h{seed}"), seed, tally, None)
            faults += [f"history {seed}: {fault}" for fault in played.faults]
            assert server.witness is not None
            server.witness.forget()
    return faults, tally


async def test_in_a_few_histories_no_sender_sees_more_than_is_true(tmp_path: Path) -> None:
    faults, tally = await play_lot(tmp_path, 0, FEW)

    print(tally)  # noqa: T201  # for a person
    assert faults == []
