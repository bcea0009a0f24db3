"""What a claim answers, where several hold what was asked for."""

from __future__ import annotations

from pathlib import Path

from tests.facades.claims.claims_client import Caller


async def test_the_hint_of_many_conflicts_names_three_holders(claims: Caller, project: Path) -> None:
    names = ["BlueLake", "RedStone", "GrayFox", "GreenCastle", "PinkHill"]
    for number, name in enumerate(names):
        await claims.create(project, name)
        paths = [f"{number}.py"] if name != names[-1] else [f"{one}.py" for one in range(4)]
        claimed = await claims.call("claim_paths", project_key=str(project), agent_name=name, paths=paths)

    assert claimed["granted"] == []
    assert len(claimed["conflicts"]) == 4
    assert claimed["hint"].startswith("Not granted: write to BlueLake, RedStone, GrayFox and the others")
