"""What is asked of a repository has a time limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.archive.months import files_of_month
from mcp_agent_mail.archive.recovery import restore_files
from mcp_agent_mail.archive.repository import ArchiveRepository, GitRun
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.core.git.process import GitFailed


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArchiveRepository:
    """Its Git never comes back."""
    place = tmp_path / "hanging"
    place.mkdir()
    script = place / "git"
    script.write_text("#!/bin/sh\nexec sleep 600\n")
    script.chmod(0o755)
    repository = ArchiveRepository(tmp_path / "app", run=GitRun(timeout_s=0.2))
    repository.create()
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    return repository


def test_records_that_never_come_are_given_up(hanging: ArchiveRepository) -> None:
    with pytest.raises(GitFailed, match="took too long"):
        list(hanging.records("log", "-z"))


def test_so_is_what_mending_and_care_ask(hanging: ArchiveRepository, tmp_path: Path) -> None:
    tree = WorkTree(tmp_path / "app", tmp_path / "app" / ".git" / "agent-mail", lambda _: True)

    with pytest.raises(GitFailed, match="took too long"):
        restore_files(hanging, tree, lambda _: True)
    with pytest.raises(GitFailed, match="took too long"):
        files_of_month(hanging, "2026-11")
