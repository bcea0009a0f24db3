"""A repository with a work tree, and the project tools in each mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.code_repository import begin, commit, git, write


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A repository `code` with a remote, and its work tree `feature` beside it."""
    repository = begin(tmp_path / "code")
    write(repository, "src/app.py")
    commit(repository)
    git(repository, "remote", "add", "origin", "git@example.org:team/app.git")
    git(repository, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "feature"))
    return repository
