"""A caller that names a directory of the machine as its project, to learn from warnings which files are there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.reservations import JoinedPaths
from tests.features.reservations.claims import Claims, open_claims
from tests.workspace.code_repository import begin, commit, write

ASKED = (
    "shad*",
    "zzq*",
    "shadw/*.db",
    "{shadow,zzq}",
    "sha{dow,zzq}",
    "shadow passwd",
    "zzq zzr",
    "shadow,passwd",
    "zzq,zzr",
)


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


def fill(root: Path, names: tuple[str, ...]) -> None:
    for name in names:
        write(root, name)


async def told(claims: Claims, root: Path) -> list[Any]:
    claims.root = str(root)
    await claims.open_project()
    answers: list[Any] = []
    for path in ASKED:
        try:
            answers.append((await claims.reserve("BlueLake", path)).get("warnings"))
        except JoinedPaths as refused:
            answers.append(refused.to_wire())
    return answers


async def test_of_a_directory_that_is_no_code_every_answer_is_as_of_an_empty_one(
    claims: Claims, tmp_path: Path
) -> None:
    fill(tmp_path / "etc", ("shadow", "passwd", "shadow,passwd", "shadow passwd", "shadows/a.db"))
    (tmp_path / "empty").mkdir()

    of_etc = await told(claims, tmp_path / "etc")
    of_nothing = await told(claims, tmp_path / "empty")

    assert of_etc == of_nothing


@pytest.mark.parametrize("inside", ["", ".ssh"])
async def test_a_home_is_no_code_though_it_has_a_repository(
    claims: Claims, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    home = begin(tmp_path / "home")
    monkeypatch.setenv("HOME", str(home))
    fill(home / inside, ("shadow", "passwd"))
    commit(home)
    empty = tmp_path / "empty"
    empty.mkdir()

    assert await told(claims, home / inside) == await told(claims, empty)


async def test_a_code_repository_is_told_of(claims: Claims, tmp_path: Path) -> None:
    code = begin(tmp_path / "code")
    write(code, "shadow")
    commit(code)

    answers = await told(claims, code)

    assert (answers[0], answers[1][0]["reason"]) == (None, "no file fits it")
