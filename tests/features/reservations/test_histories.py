"""Random histories: never two holders of what only one may hold, never an agent that was told of a dead lease."""

from __future__ import annotations

from pathlib import Path

from tests.features.reservations.histories import play


async def test_whatever_is_given_up_repeated_and_killed_nobody_is_told_of_a_lease_that_is_dead(tmp_path: Path) -> None:
    played = await play(tmp_path, first=0, count=300)

    assert (played.histories, played.faults) == (300, [])
