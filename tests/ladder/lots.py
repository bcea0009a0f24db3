"""Histories by the dozen against one server, each with people of its own."""

from __future__ import annotations

from pathlib import Path

from tests.ladder.killed import open_killed
from tests.ladder.play import play
from tests.ladder.served import open_hosted
from tests.ladder.tally import Tally


async def play_lot(directory: Path, first: int, number: int) -> tuple[list[str], Tally]:
    """What was wrong, and what was done. The same seeds take the same steps."""
    tally, faults = Tally(), []
    async with open_hosted(directory) as server:
        for seed in range(first, first + number):
            played = await play(server, await server.people(f"h{seed}"), seed, tally)
            faults += [f"history {seed}: {fault}" for fault in played.faults]
            assert server.witness is not None
            server.witness.forget()
    return faults, tally


KILLS_EACH = 1
"""Of one history at most: a start takes as long as all its calls."""


async def play_killed(directory: Path, first: int, number: int) -> tuple[list[str], Tally]:
    """The same against a process that is killed between calls and within answers."""
    tally, faults = Tally(), []
    with open_killed(directory / "store") as server:
        for seed in range(first, first + number):
            server.allow(KILLS_EACH)
            played = await play(server, server.people(f"h{seed}"), seed, tally, dies=True)
            faults += [f"history {seed}: {fault}" for fault in played.faults]
        tally.done["servers killed"] += server.kills
        tally.done["starts with a clock set back"] += server.clocks_set_back
    return faults, tally
