"""What is asked of a repository has a time limit, and may be large."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.archive.months import files_of_month
from mcp_agent_mail.archive.recovery import restore_files
from mcp_agent_mail.archive.repository import BRANCH, READ_UNASKED, ArchiveRepository, GitContentTooLarge, GitRun
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.core.git.process import GitFailed
from tests.archive.one_archive import add_commit, begin


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


def test_a_content_is_told_piece_by_piece(path: Path) -> None:
    data = bytes(READ_UNASKED) + b"and more"
    repository = begin(path)
    add_commit(repository, {"large": data, "empty": b""})
    told: list[bytes] = []

    repository.tell_blob(f"{BRANCH}:large", told.append)
    repository.tell_blob(f"{BRANCH}:empty", told.append)

    assert b"".join(told) == data
    assert max(map(len, told)) <= READ_UNASKED
    with pytest.raises(GitFailed, match="does not have all of"):
        repository.tell_blob(f"{BRANCH}:none", told.append)


def test_another_git_directory_is_another_identity(path: Path, tmp_path: Path) -> None:
    repository = ArchiveRepository(path)
    assert repository.identity() is None
    repository.create()
    before = repository.identity()

    (path / ".git").rename(tmp_path / "before")
    repository.create()

    assert before is not None
    assert repository.identity() != before


def test_a_content_is_read_whole_up_to_its_bound_and_not_at_all_beyond(path: Path) -> None:
    repository = begin(path)
    add_commit(repository, {"text": b"four\n", "empty": b""})

    assert repository.content(f"{BRANCH}:text", 5) == b"four\n"
    assert repository.content(f"{BRANCH}:empty", 0) == b""
    with pytest.raises(GitContentTooLarge):
        repository.content(f"{BRANCH}:text", 4)
    with pytest.raises(GitFailed, match="does not have"):
        repository.content(f"{BRANCH}:none", 4)


@pytest.mark.parametrize("name", ["HEAD", BRANCH, "packed-refs"])
def test_a_file_of_git_that_is_no_plain_one_tells_nothing_and_is_not_waited_for(path: Path, name: str) -> None:
    repository = begin(path)
    add_commit(repository, {"file": b"x"})
    (path / ".git" / BRANCH).unlink()
    (path / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(path / ".git" / name)

    assert repository.written_tip() == ""
    assert repository.is_checked_out() is (name != "HEAD")
