"""Which project a directory is, through the tools, over real repositories with work trees."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.domain.project_identity import MARKER_FILE, PRIVATE_MARKER, IdentityMode
from tests.features.identity.harness import PROFILE, IdentityHarness, open_identity
from tests.workspace.code_repository import begin, commit, git, write

UID = "shared-project-1"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A repository `code` with a remote, and its work tree `feature` beside it."""
    repository = begin(tmp_path / "code")
    write(repository, "src/app.py")
    commit(repository)
    git(repository, "remote", "add", "origin", "git@example.org:team/app.git")
    git(repository, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "feature"))
    return repository


@asynccontextmanager
async def desk_of(tmp_path: Path, mode: IdentityMode) -> AsyncIterator[IdentityHarness]:
    async with open_identity(tmp_path / "store", mode=mode) as harness:
        yield harness


async def ensure(harness: IdentityHarness, path: Path | str, mode: str | None = None) -> dict[str, object]:
    found: dict[str, object] = await harness.call("ensure_project", human_key=str(path), identity_mode=mode)
    return found


@pytest.mark.parametrize("mode", ["git-remote", "git-common-dir"])
async def test_a_checkout_and_its_work_tree_are_one_project_known_by_the_path_first_ensured(
    mode: str, code: Path, tmp_path: Path
) -> None:
    async with desk_of(tmp_path, IdentityMode(mode)) as harness:
        there = await ensure(harness, tmp_path / "feature" / "src")
        here = await ensure(harness, code)
        listed = await harness.read("resource://projects")

    assert here["id"] == there["id"]
    assert here["human_key"] == str(tmp_path / "feature" / "src")
    assert (here["identity_mode_used"], here["worktree_name"], there["worktree_name"]) == (mode, None, "feature")
    assert [project["id"] for project in listed] == [here["id"]]


async def test_a_top_level_is_one_project_and_its_work_tree_another(code: Path, tmp_path: Path) -> None:
    async with desk_of(tmp_path, IdentityMode.GIT_TOPLEVEL) as harness:
        inner, root, other = [await ensure(harness, path) for path in (code / "src", code, tmp_path / "feature")]

    assert inner["id"] == root["id"] != other["id"]


async def test_the_mode_dir_makes_every_directory_its_own_and_says_nothing_more(code: Path, tmp_path: Path) -> None:
    async with desk_of(tmp_path, IdentityMode.DIR) as harness:
        here, there = await ensure(harness, code), await ensure(harness, tmp_path / "feature")

    assert here["id"] != there["id"]
    assert sorted(here) == ["archive_path", "created_at", "human_key", "id", "slug"]


async def test_a_mode_can_be_given_with_the_call(code: Path, tmp_path: Path) -> None:
    async with desk_of(tmp_path, IdentityMode.DIR) as harness:
        here = await ensure(harness, code, "GIT-Remote")
        there = await ensure(harness, tmp_path / "feature", "git-remote")

        with pytest.raises(InvalidInput, match="identity_mode"):
            await ensure(harness, code, "git")

    assert here["id"] == there["id"]
    assert here["normalized_remote"] == "example.org/team/app"


async def test_two_clones_with_one_committed_marker_are_one_project_in_every_mode(code: Path, tmp_path: Path) -> None:
    write(code, MARKER_FILE, content=f"{UID}\n")
    commit(code)
    git(tmp_path, "clone", "--quiet", str(code), "clone")

    async with desk_of(tmp_path, IdentityMode.DIR) as harness:
        made = await ensure(harness, code)
        clone = await ensure(harness, tmp_path / "clone" / "src")
        shown = await ensure(harness, tmp_path / "clone", "git-toplevel")

    assert made == clone
    assert (shown["id"], shown["project_uid"], shown["identity_source"]) == (made["id"], UID, "marker")


async def test_a_directory_that_is_a_project_stays_one_and_is_told_what_it_could_be(code: Path, tmp_path: Path) -> None:
    async with desk_of(tmp_path, IdentityMode.DIR) as harness:
        own = await ensure(harness, tmp_path / "feature")
        joined = await ensure(harness, code, "git-common-dir")
        still = await ensure(harness, tmp_path / "feature", "git-common-dir")

    assert joined["id"] != own["id"] == still["id"]
    notices = still["notices"]
    assert isinstance(notices, list)
    assert f"am projects adopt {own['slug']} {joined['slug']}" in notices[0]


async def test_every_name_of_a_project_leads_to_it_in_every_tool(code: Path, tmp_path: Path) -> None:
    write(code, f".git/{PRIVATE_MARKER}", content=f"{UID}\n")
    async with desk_of(tmp_path, IdentityMode.DIR) as harness:
        made = await ensure(harness, code)
        await ensure(harness, tmp_path / "feature")
        plain = await ensure(harness, "/code/plain")
        derived = (await harness.read("resource://identity//code/plain"))["project_uid"]

        for name in (str(code), str(tmp_path / "feature"), made["slug"], UID, UID.upper()):
            found = await harness.call("register_agent", project_key=name, name="BlueLake", **PROFILE)
            assert found["project_id"] == made["id"], name
        found = await harness.call("register_agent", project_key=derived, name="BlueLake", **PROFILE)
        assert found["project_id"] == plain["id"]


async def test_a_directory_never_ensured_is_found_where_the_mode_ties_it_and_nothing_is_written(
    code: Path, tmp_path: Path
) -> None:
    async with desk_of(tmp_path, IdentityMode.GIT_COMMON_DIR) as harness:
        made = await ensure(harness, code)
        before = (
            await harness.rows("SELECT count(*) FROM project_aliases"),
            await harness.rows("SELECT count(*) FROM outbox"),
        )

        read = await harness.read(f"resource://project/{tmp_path / 'feature' / 'src'}")
        after = (
            await harness.rows("SELECT count(*) FROM project_aliases"),
            await harness.rows("SELECT count(*) FROM outbox"),
        )
        registered = await harness.call(
            "register_agent", project_key=str(tmp_path / "feature"), name="BlueLake", **PROFILE
        )
        with pytest.raises(NotFound):
            await harness.call("list_agents", project_key=str(tmp_path / "elsewhere"))

    assert read["id"] == made["id"] == registered["project_id"]
    assert before == after


async def test_with_the_mode_dir_a_link_to_a_project_is_the_project_and_nothing_else_is(
    code: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(code)
    async with desk_of(tmp_path, IdentityMode.DIR) as harness:
        made = await ensure(harness, code)
        by_link = await harness.call("register_agent", project_key=str(link), name="BlueLake", **PROFILE)
        with pytest.raises(NotFound) as caught:
            await harness.call("list_agents", project_key=f"{code}s")

    assert by_link["project_id"] == made["id"]
    assert caught.value.data["nearest"] == [made["human_key"]]


async def test_with_the_mode_dir_a_known_path_is_not_looked_at_again(code: Path, tmp_path: Path) -> None:
    async with desk_of(tmp_path, IdentityMode.DIR) as harness:
        made = await ensure(harness, code)
        write(code, MARKER_FILE, content=f"{UID}\n")

        assert await ensure(harness, code) == made
        assert (await harness.rows("SELECT count(*) FROM project_aliases")) == [(0,)]
        assert (await ensure(harness, code, "dir"))["project_uid"] == UID


async def test_the_identity_of_a_project_is_read_without_writing_anything(code: Path, tmp_path: Path) -> None:
    async with desk_of(tmp_path, IdentityMode.GIT_REMOTE) as harness:
        made = await ensure(harness, code)
        await ensure(harness, tmp_path / "feature")
        count = (
            await harness.rows("SELECT total_changes()"),
            await harness.rows("SELECT * FROM project_aliases ORDER BY alias"),
        )

        shown = await harness.read(f"resource://identity/{made['slug']}")
        elsewhere = await harness.read(f"resource://identity/{tmp_path / 'feature'}")

        assert (
            await harness.rows("SELECT total_changes()"),
            await harness.rows("SELECT * FROM project_aliases ORDER BY alias"),
        ) == count
    assert shown == {
        "slug": made["slug"],
        "identity_mode_used": "git-remote",
        "identity_source": "remote",
        "canonical_path": str(code),
        "human_key": str(code),
        "repo_root": str(code),
        "git_common_dir": str(code / ".git"),
        "branch": "main",
        "worktree_name": None,
        "core_ignorecase": False,
        "normalized_remote": "example.org/team/app",
        "project_uid": made["project_uid"],
        "discovery": None,
        "aliases": [str(tmp_path / "feature"), "remote:example.org/team/app"],
    }
    assert (elsewhere["branch"], elsewhere["worktree_name"]) == ("feature", "feature")


async def test_what_ties_a_project_stands_in_its_archive_but_not_every_directory(code: Path, tmp_path: Path) -> None:
    async with desk_of(tmp_path, IdentityMode.GIT_COMMON_DIR) as harness:
        await ensure(harness, code)
        await ensure(harness, tmp_path / "feature")
        snapshots = [
            json.loads(row[0]) for row in (await harness.rows("SELECT snapshot FROM outbox WHERE kind = 'project'"))
        ]

    assert snapshots[-1]["aliases"] == [{"alias": f"common:{code / '.git'}", "kind": "tie"}]
