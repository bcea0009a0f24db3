"""The tools that make projects and put them aside."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.project_identity import IdentityMode
from tests.features.identity.harness import (
    PROJECT,
    Ticking,
    open_identity,
)
from tests.features.projects.harness import ensured, open_desk


async def test_ensuring_a_project_tells_where_its_archive_is(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        made = await harness.call("ensure_project", human_key="/code/./app/")

    assert sorted(made) == ["archive_path", "created_at", "human_key", "id", "slug"]
    assert made["human_key"] == "/code/app"
    assert made["archive_path"] == str(tmp_path / "projects" / made["slug"])


async def test_archiving_keeps_its_first_time_and_can_be_undone(tmp_path: Path) -> None:
    async with open_identity(tmp_path, clock=Ticking()) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        first = await harness.call("archive_project", project_key=PROJECT)
        again = await harness.call("archive_project", project_key=PROJECT)
        back = await harness.call("unarchive_project", project_key=PROJECT)
        events = await harness.rows("SELECT count(*) FROM outbox WHERE kind = 'project'")

        await harness.register("BlueLake")

    assert first == again
    assert (first["archived"], first["archived_at"] is not None) == (True, True)
    assert (back["archived"], back["archived_at"]) == (False, None)
    assert events == [(3,)]  # created, archived, brought back: the repeat told nothing


async def test_a_mode_can_be_given_with_the_call(code: Path, tmp_path: Path) -> None:
    async with open_desk(tmp_path, IdentityMode.DIR) as harness:
        here = await ensured(harness, code, "GIT-Remote")
        there = await ensured(harness, tmp_path / "feature", "git-remote")

        with pytest.raises(InvalidInput, match="identity_mode"):
            await ensured(harness, code, "git")

    assert here["id"] == there["id"]
    assert here["normalized_remote"] == "example.org/team/app"


@pytest.mark.parametrize("key", ["/code/app/src", "/code/app/src/a.py", "/Code/App", "/code/app/nonexist"])
async def test_a_project_begun_within_another_or_in_another_case_is_told_of_it_once(tmp_path: Path, key: str) -> None:
    async with open_identity(tmp_path) as harness:
        first = await harness.call("ensure_project", human_key="/code/app")
        made = await harness.call("ensure_project", human_key=key)
        again = await harness.call("ensure_project", human_key=key)

    assert made["hint"].endswith("To join them use human_key='/code/app'.")
    assert "hint" not in first
    assert "hint" not in again


async def test_a_project_of_a_directory_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with open_identity(tmp_path / "store") as harness:
        for name in ("wrok", "file"):
            made = await harness.call("ensure_project", human_key=str(tmp_path / name), identity_mode="git-toplevel")
            plain = await harness.call("ensure_project", human_key=str(tmp_path / f"{name}2"))

            assert made["hint"].startswith(f"There is no directory {tmp_path / name} ")
            assert plain["hint"].startswith(f"There is no directory {tmp_path / name}2 ")
        there = await harness.call("ensure_project", human_key=str(tmp_path))
        elsewhere = await harness.call("ensure_project", human_key="/of/another/machine")

    assert "hint" not in there
    assert "hint" not in elsewhere, "its folder is not on this disk either: the agent works on another"


async def test_a_path_that_may_be_a_slip_of_another_projects_is_told_so_once(tmp_path: Path) -> None:
    (tmp_path / "parser").mkdir()
    (tmp_path / "parsers").mkdir()
    async with open_identity(tmp_path / "store") as harness:

        async def hint(key: object) -> str | None:
            found: str | None = (await harness.call("ensure_project", human_key=str(key))).get("hint")
            return found

        first = await hint(tmp_path / "parser")
        gone = await hint(tmp_path / "praser")
        again = await hint(tmp_path / "praser")
        there = await hint(tmp_path / "parsers")
        of_another_machine = [await hint(f"/of/another/{name}") for name in ("worker-1", "worker-2", "wroker-2")]

    assert (first, again) == (None, None)
    assert gone is not None
    assert gone.startswith(f"There is no directory {tmp_path / 'praser'} ")
    assert gone.endswith(f"Did you mean {tmp_path / 'parser'}?")
    assert there == f"A new project. Did you mean {tmp_path / 'parser'}, which is here already?"
    assert of_another_machine[:2] == [None, None]
    assert of_another_machine[2] == "A new project. Did you mean /of/another/worker-2, which is here already?"
