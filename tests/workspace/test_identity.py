from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.domain.project_identity import RepositoryFacts
from mcp_agent_mail.workspace.identity import WorkspaceIdentities
from tests.workspace.code_repository import begin, commit, git, write

UID = "marked-project-1"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    repository = begin(tmp_path / "code")
    write(repository, "src/app.py")
    commit(repository)
    return repository


def look(path: Path) -> RepositoryFacts | None:
    return WorkspaceIdentities().facts(str(path)).repository


def test_a_checkout_and_its_work_tree_share_the_common_directory_and_the_remote(code: Path, tmp_path: Path) -> None:
    git(code, "remote", "add", "origin", "https://me:secret@Example.org/team/app.git")
    git(code, "config", "core.ignorecase", "true")
    git(code, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "feature"))

    here, there = look(code / "src"), look(tmp_path / "feature")

    assert here == RepositoryFacts(
        root=str(code),
        common_dir=str(code / ".git"),
        branch="main",
        worktree=None,
        ignore_case=True,
        remote="example.org/team/app",
    )
    assert there == RepositoryFacts(
        root=str(tmp_path / "feature"),
        common_dir=str(code / ".git"),
        branch="feature",
        worktree="feature",
        ignore_case=True,
        remote="example.org/team/app",
    )


def test_another_remote_can_be_the_one_that_counts(code: Path) -> None:
    git(code, "remote", "add", "up.stream", "git@example.org:team/app")

    found = WorkspaceIdentities(remote="up.stream").facts(str(code)).repository

    assert found is not None
    assert found.remote == "example.org/team/app"
    assert look(code) is not None
    assert look(code).remote is None  # type: ignore[union-attr]


def test_there_are_no_facts_outside_of_a_repository(tmp_path: Path) -> None:
    assert look(tmp_path) is None
    assert look(tmp_path / "gone") is None


def test_a_repository_speaks_only_for_what_is_inside_its_work_tree(code: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    git(code, "config", "core.worktree", str(victim))

    assert look(code) is None


def test_the_remote_of_a_directory_is_that_of_the_repository_around_it(code: Path, tmp_path: Path) -> None:
    git(code, "remote", "add", "origin", "https://me:secret@Example.org/team/app.git")
    (tmp_path / "plain").mkdir()
    identities = WorkspaceIdentities()

    assert identities.remote(str(code / "src")) == "example.org/team/app"
    assert identities.remote(str(tmp_path / "plain")) is None
    assert identities.remote(str(tmp_path / "gone")) is None


def test_a_home_is_no_repository_of_what_lies_in_it(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(code, "remote", "add", "origin", "git@example.org:me/dotfiles")
    monkeypatch.setenv("HOME", str(code))

    assert WorkspaceIdentities().remote(str(code / "src")) is None
