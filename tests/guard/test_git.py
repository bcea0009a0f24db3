"""Git as the guard asks it: what it says, and every way in which it says nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.guard import git as guard_git
from mcp_agent_mail.guard.git import Git, GitRefused, line_of, names_of, open_git
from mcp_agent_mail.guard.repository import look_at_repository
from tests.guard.harness import GuardHarness


@pytest.fixture
def harness(tmp_path: Path) -> GuardHarness:
    harness = GuardHarness(tmp_path)
    harness.base("README.md")
    return harness


@contextmanager
def _opened(harness: GuardHarness, cwd: Path | None = None, **settings: str) -> Iterator[Git]:
    environment = harness.environment(**settings)
    where = str(cwd or harness.code)
    with open_git(environment, look_at_repository(environment, where).foreign, where) as git:
        yield git


def _stand_in(harness: GuardHarness, text: str) -> dict[str, str]:
    """Settings with which another program runs in Git's place."""
    script = harness.root / "bin" / "git"
    harness.write("git", f"#!/bin/sh\n{text}\n", cwd=script.parent)
    script.chmod(0o755)
    return {"PATH": f"{script.parent}:{os.environ['PATH']}"}


def test_it_answers_and_an_error_is_told_with_gits_own_words(harness: GuardHarness) -> None:
    with _opened(harness) as git:
        listed = names_of(git.ask("ls-files", "-z"))
        with pytest.raises(GitRefused, match=r"git rev-parse ended with code 128: fatal: Needed a single revision"):
            git.ask("rev-parse", "--verify", "nothing")

    assert listed == ["README.md"]


def test_an_error_without_a_word_is_told_as_such(harness: GuardHarness) -> None:
    with _opened(harness, cwd=None, **_stand_in(harness, "exit 3")) as git, pytest.raises(GitRefused) as refused:
        git.ask("log")

    assert str(refused.value) == "git log ended with code 3: no message"


def test_a_git_that_is_not_there_is_told(harness: GuardHarness) -> None:
    with _opened(harness, PATH="/nowhere") as git, pytest.raises(GitRefused, match="git cannot be run: No such file"):
        git.try_("log")


def test_a_git_that_hangs_is_given_up(harness: GuardHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_git, "TIMEOUT_S", 0.1)

    with (
        _opened(harness, cwd=None, **_stand_in(harness, "exec sleep 600")) as git,
        pytest.raises(GitRefused, match="took longer"),
    ):
        git.ask("log")


def test_an_answer_without_an_end_is_refused(harness: GuardHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_git, "MAX_ANSWER_BYTES", 4)

    with _opened(harness) as git, pytest.raises(GitRefused, match="git ls-files printed more than"):
        git.ask("ls-files")


def test_the_index_of_a_partial_commit_is_meant_from_where_git_runs_the_hook(harness: GuardHarness) -> None:
    harness.write("second.txt")
    harness.git("add", "second.txt", GIT_INDEX_FILE=str(harness.code / ".git" / "partial"))

    with _opened(harness, GIT_INDEX_FILE=".git/partial") as git:
        partial = names_of(git.ask("ls-files", "-z"))

    assert partial == ["second.txt"]


def test_a_bare_repository_is_asked_without_a_work_tree(harness: GuardHarness) -> None:
    bare = harness.root / "bare.git"
    harness.git("clone", "-q", "--bare", str(harness.code), str(bare))

    with _opened(harness, cwd=bare) as git:
        assert line_of(git.ask("log", "--format=%s")) == "base"


def test_where_no_temporary_folder_can_be_made_that_is_told(
    harness: GuardHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere")

    with pytest.raises(GitRefused, match=r"^/nowhere/.*: No such file or directory"), _opened(harness):
        pass


def test_only_where_objects_are_gets_through_of_what_a_hook_is_told(harness: GuardHarness) -> None:
    told = {"GIT_EXTERNAL_DIFF": "/evil", "GIT_OBJECT_DIRECTORY": str(harness.code / ".git" / "objects")}
    seen = _stand_in(harness, "env")

    with _opened(harness, cwd=None, **seen, **told, GIT_AUTHOR_NAME="Ann", GIT_CONFIG_COUNT="0") as git:
        of_repository, of_committer = git.ask("log").decode(), git.try_as_committer("var")[1].decode()

    assert "GIT_OBJECT_DIRECTORY=" in of_repository
    assert "/evil" not in of_repository + of_committer
    assert ("Ann" in of_repository, "Ann" in of_committer) == (False, True)
