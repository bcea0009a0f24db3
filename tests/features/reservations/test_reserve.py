"""Reserving: what is granted, what is not, and that a refused call leaves no trace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import (
    InvalidInput,
    PermissionDenied,
)
from tests.features.reservations.claims import Claims, open_claims


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


def ids(answer: Any) -> list[int]:
    return [grant["id"] for grant in answer["granted"]]


async def test_a_folder_of_the_workspace_counts_as_one_and_that_is_kept(claims: Claims, tmp_path: Path) -> None:
    root = tmp_path / "code"
    (root / "src").mkdir(parents=True)
    claims.root = str(root)
    await claims.open_project()
    await claims.hold("BlueLake", "src")
    (root / "src").rmdir()

    wildcard = await claims.reserve("RedStone", "*.py")
    elsewhere = await claims.reserve("RedStone", "docs")

    assert (ids(wildcard), len(elsewhere["granted"])) == ([], 1)


async def test_without_a_folder_there_a_name_is_one_path(claims: Claims) -> None:
    await claims.hold("BlueLake", "src")

    wildcard = await claims.reserve("RedStone", "*.py")

    assert len(wildcard["granted"]) == 1


async def test_a_path_named_twice_is_one_lease(claims: Claims) -> None:
    answer = await claims.reserve("BlueLake", "src/app.py", "./src/app.py", "/code/app/src/app.py")

    assert [grant["path_pattern"] for grant in answer["granted"]] == ["src/app.py"]


@pytest.mark.parametrize("path", ["../other", "/etc/passwd", "a/../../b", "src/[", " "])
async def test_an_unreadable_path_refuses_the_whole_call(claims: Claims, path: str) -> None:
    with pytest.raises(InvalidInput):
        await claims.reserve("BlueLake", "src/app.py", path)

    assert claims.rows("SELECT count(*) FROM leases") == [(0,)]


async def test_no_path_at_all_is_refused(claims: Claims) -> None:
    with pytest.raises(InvalidInput):
        await claims.reserve("BlueLake")


async def test_nobody_reserves_as_the_overseer(claims: Claims) -> None:
    with pytest.raises(PermissionDenied):
        await claims.reserve("Human", "src")


async def test_of_many_at_once_one_gets_it(claims: Claims) -> None:
    agents = ["BlueLake", "RedStone", "GreenField"]

    answers = await asyncio.gather(
        *(claims.reserve(agents[n % 3], f"src/{'*' if n % 2 else 'a.py'}") for n in range(30))
    )

    holders = {agents[n % 3] for n, answer in enumerate(answers) if answer["granted"]}
    assert len(holders) == 1
    losers = [answer for answer in answers if not answer["granted"]]
    assert {one["holders"][0]["agent"] for answer in losers for one in answer["conflicts"]} == holders
