"""The resources that list projects, and tell what a directory is."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.domain.identity.caller import AgentAuth, TokenMissing
from mcp_agent_mail.domain.project_identity import IdentityMode
from tests.features.identity.harness import (
    OPERATOR,
    PROJECT,
    open_identity,
)
from tests.features.projects.harness import ensured, open_desk


async def test_archived_projects_are_listed_only_when_asked_for_and_stay_readable(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        for key in ("/a", "/b", "/c"):
            await harness.call("ensure_project", human_key=key)
        await harness.call("archive_project", project_key="/b")

        listed = await harness.read("resource://projects")
        everything = await harness.read("resource://projects?include_archived=true")
        page = await harness.read("resource://projects?limit=1&after_id=1")
        shown = await harness.read("resource://project//b")

    assert [project["human_key"] for project in listed] == ["/a", "/c"]
    assert [project["human_key"] for project in everything] == ["/a", "/b", "/c"]
    assert [project["human_key"] for project in page] == ["/c"]
    assert sorted(listed[0]) == ["created_at", "human_key", "id", "slug"]
    assert shown["archived_at"] == everything[1]["archived_at"]


async def test_the_identity_of_a_project_is_read_without_writing_anything(code: Path, tmp_path: Path) -> None:
    async with open_desk(tmp_path, IdentityMode.GIT_REMOTE) as harness:
        made = await ensured(harness, code)
        await ensured(harness, tmp_path / "feature")
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


async def test_in_strict_mode_only_the_proven_have_git_asked_about_a_directory(tmp_path: Path) -> None:
    async with open_identity(tmp_path, auth=AgentAuth.STRICT) as harness:
        await harness.call("ensure_project", human_key=PROJECT)

        with pytest.raises(TokenMissing):
            await harness.read(f"resource://identity/{PROJECT}")

        assert (await harness.read(f"resource://identity/{PROJECT}", by=OPERATOR))["human_key"] == PROJECT
