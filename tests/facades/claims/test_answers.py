"""What a claim answers, where several hold what was asked for."""

from __future__ import annotations

from pathlib import Path

from tests.facades.claims.claims_client import Caller


async def test_the_hint_of_many_conflicts_names_three_holders(claims: Caller, project: Path) -> None:
    holders = ["BlueLake", "RedStone", "GrayFox", "GreenCastle"]
    key = str(project)
    for number, name in enumerate(holders):
        await claims.create(project, name)
        await claims.call("claim_paths", project_key=key, agent_name=name, paths=[f"{number}.py"])
    await claims.create(project, "PinkHill")

    wanted = [f"{number}.py" for number in range(4)]
    claimed = await claims.call("claim_paths", project_key=key, agent_name="PinkHill", paths=wanted)

    assert claimed["granted"] == []
    assert len(claimed["conflicts"]) == 4
    assert claimed["hint"].startswith("Not granted: write to BlueLake, RedStone, GrayFox and the others")
