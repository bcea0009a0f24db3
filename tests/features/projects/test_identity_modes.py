"""Which project a directory is, through the tools, over real repositories with work trees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_agent_mail.domain.project_identity import MARKER_FILE, PRIVATE_MARKER, IdentityMode
from tests.features.identity.harness import PROFILE
from tests.features.projects.harness import UID, ensured, open_desk
from tests.workspace.code_repository import commit, git, write


@pytest.mark.parametrize("mode", ["git-remote", "git-common-dir"])
async def test_a_checkout_and_its_work_tree_are_one_project_known_by_the_path_first_ensured(
    mode: str, code: Path, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, IdentityMode(mode)) as harness:
        there = await ensured(harness, tmp_path / "feature" / "src")
        here = await ensured(harness, code)
        listed = await harness.read("resource://projects")

    assert here["id"] == there["id"]
    assert here["human_key"] == str(tmp_path / "feature" / "src")
    assert (here["identity_mode_used"], here["worktree_name"], there["worktree_name"]) == (mode, None, "feature")
    assert [project["id"] for project in listed] == [here["id"]]


async def test_a_top_level_is_one_project_and_its_work_tree_another(code: Path, tmp_path: Path) -> None:
    async with open_desk(tmp_path, IdentityMode.GIT_TOPLEVEL) as harness:
        inner, root, other = [await ensured(harness, path) for path in (code / "src", code, tmp_path / "feature")]

    assert inner["id"] == root["id"] != other["id"]


async def test_the_mode_dir_makes_every_directory_its_own_and_says_nothing_more(code: Path, tmp_path: Path) -> None:
    async with open_desk(tmp_path, IdentityMode.DIR) as harness:
        here, there = await ensured(harness, code), await ensured(harness, tmp_path / "feature")

    assert here["id"] != there["id"]
    assert sorted(here) == ["archive_path", "created_at", "human_key", "id", "slug"]


async def test_two_clones_with_one_committed_marker_are_one_project_in_every_mode(code: Path, tmp_path: Path) -> None:
    write(code, MARKER_FILE, content=f"{UID}\n")
    commit(code)
    git(tmp_path, "clone", "--quiet", str(code), "clone")

    async with open_desk(tmp_path, IdentityMode.DIR) as harness:
        made = await ensured(harness, code)
        clone = await ensured(harness, tmp_path / "clone" / "src")
        shown = await ensured(harness, tmp_path / "clone", "git-toplevel")

    assert made == clone
    assert (shown["id"], shown["project_uid"], shown["identity_source"]) == (made["id"], UID, "marker")


async def test_every_name_of_a_project_leads_to_it_in_every_tool(code: Path, tmp_path: Path) -> None:
    write(code, f".git/{PRIVATE_MARKER}", content=f"{UID}\n")
    async with open_desk(tmp_path, IdentityMode.DIR) as harness:
        made = await ensured(harness, code)
        await ensured(harness, tmp_path / "feature")
        plain = await ensured(harness, "/code/plain")
        derived = (await harness.read("resource://identity//code/plain"))["project_uid"]

        for name in (str(code), str(tmp_path / "feature"), made["slug"], UID, UID.upper()):
            found = await harness.call("register_agent", project_key=name, name="BlueLake", **PROFILE)
            assert found["project_id"] == made["id"], name
        found = await harness.call("register_agent", project_key=derived, name="BlueLake", **PROFILE)
        assert found["project_id"] == plain["id"]


async def test_with_the_mode_dir_a_known_path_is_not_looked_at_again(code: Path, tmp_path: Path) -> None:
    async with open_desk(tmp_path, IdentityMode.DIR) as harness:
        made = await ensured(harness, code)
        write(code, MARKER_FILE, content=f"{UID}\n")

        assert await ensured(harness, code) == made
        assert (await harness.rows("SELECT count(*) FROM project_aliases")) == [(0,)]
        assert (await ensured(harness, code, "dir"))["project_uid"] == UID


async def test_what_ties_a_project_is_archived_at_once_and_its_directories_before_long(
    code: Path, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, IdentityMode.GIT_COMMON_DIR) as harness:
        await ensured(harness, code)
        await ensured(harness, tmp_path / "feature")
        snapshots = [
            json.loads(row[0]) for row in (await harness.rows("SELECT snapshot FROM outbox WHERE kind = 'project'"))
        ]

        stale = await harness.rows("SELECT project_id FROM stale_aliases")

    (tie,) = snapshots[-1]["aliases"]
    assert (tie["alias"], tie["kind"]) == (f"common:{code / '.git'}", "tie")
    assert len(stale) == 1
