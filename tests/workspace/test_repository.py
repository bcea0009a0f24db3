from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.core.git.foreign_repository import UnfitRepository
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.workspace.repository import branch, find_work_tree, holds_code, ignore_case, open_work_tree
from tests.workspace.code_repository import EPOCH_S, begin, commit, git, write

LONG_S = 60.0


@pytest.fixture
def code(tmp_path: Path) -> Path:
    repository = begin(tmp_path / "code")
    write(repository, "src/app.py")
    write(repository, ".gitignore", content="*.log\n")
    commit(repository)
    return repository


def listed(root: Path, *pathspecs: str) -> list[str]:
    with open_work_tree(root) as tree:
        assert tree is not None
        with tree.listed_files(pathspecs, timeout_s=LONG_S) as names:
            return sorted(map(os.fsdecode, names))


def newest(root: Path, *pathspecs: str, since_s: int | None = None) -> int | None:
    with open_work_tree(root) as tree:
        assert tree is not None
        return tree.newest_commit(pathspecs, since_s=since_s, timeout_s=LONG_S)


def test_letter_case_is_what_the_repository_says(code: Path) -> None:
    git(code, "config", "core.ignorecase", "true")

    assert ignore_case(code) is True


def test_letter_case_matters_where_nothing_says_otherwise(tmp_path: Path) -> None:
    assert ignore_case(tmp_path) is False
    assert ignore_case(tmp_path / "gone") is False


def test_the_branch_is_the_one_checked_out_even_before_its_first_commit(tmp_path: Path) -> None:
    repository = begin(tmp_path / "code")
    git(repository, "checkout", "--quiet", "-b", "feature/x")

    assert branch(repository) == "feature/x"


def test_there_is_no_branch_when_detached_or_without_a_repository(code: Path, tmp_path: Path) -> None:
    git(code, "checkout", "--quiet", "--detach")

    assert branch(code) is None
    assert branch(tmp_path / "gone") is None


def test_a_repository_that_cannot_be_read_has_no_branch_and_its_work_tree_cannot_be_told(code: Path) -> None:
    (code / ".git" / "config").write_text("[broken")

    assert (branch(code), ignore_case(code)) == (None, False)
    with pytest.raises(UnfitRepository):
        find_work_tree(code)


def test_a_work_tree_is_found_from_inside_and_by_nobody_outside(code: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    inside = find_work_tree(code / "src")
    git(code, "config", "core.worktree", str(tmp_path / "victim"))

    assert inside is not None
    assert inside.top == str(code)
    assert find_work_tree(code) is None
    assert find_work_tree(tmp_path) is None


def test_without_a_work_tree_there_is_none_to_open(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "bare")

    for root in (tmp_path, tmp_path / "bare"):
        with open_work_tree(root) as tree:
            assert tree is None


def test_files_are_listed_that_git_knows_or_would_add_relative_to_the_root(code: Path) -> None:
    write(code, "src/new.py")
    write(code, "src/run.log")

    assert listed(code) == [".gitignore", "src/app.py", "src/new.py"]
    assert listed(code / "src", "app.py") == ["app.py"]
    assert listed(code, "gone") == []


def test_very_many_names_come_whole(code: Path) -> None:
    names = sorted(f"many/{number:04}-{'x' * 100}" for number in range(1_000))
    for name in names:
        write(code, name)

    assert listed(code, "many") == names


def test_the_newest_commit_of_a_path_is_told_unless_it_is_too_old(code: Path) -> None:
    write(code, "docs.md")
    commit(code, at_s=EPOCH_S + 500)

    assert [newest(code, path) for path in (".", "src", "gone")] == [EPOCH_S + 500, EPOCH_S, None]
    assert newest(code, "src", since_s=EPOCH_S + 100) is None
    assert newest(code, ".", since_s=EPOCH_S + 100) == EPOCH_S + 500


def test_what_git_cannot_do_fails(code: Path) -> None:
    (code / ".git" / "index").write_bytes(b"no index at all, but a file that is long enough")

    with pytest.raises(GitFailed):
        listed(code)


def test_ignored_paths_are_told_none_where_there_are_none_and_a_question_that_git_refuses_fails(code: Path) -> None:
    write(code, ".gitignore", content="*.log\n")
    (code / "out").symlink_to("/tmp")  # Only a place that the link leads to.

    with open_work_tree(code) as tree:
        assert tree is not None
        assert tree.ignored(["src/x.log", "src/app.py"], timeout_s=30.0) == ["src/x.log"]
        assert tree.ignored(["src/app.py"], timeout_s=30.0) == []
        with pytest.raises(GitFailed):
            tree.ignored(["out/x.log"], timeout_s=30.0)


def test_code_lies_in_a_work_tree_that_is_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = begin(tmp_path / "code")
    (code / "src").mkdir()
    (tmp_path / "plain").mkdir()

    assert [holds_code(path) for path in (code, code / "src", tmp_path / "plain", Path("/"), tmp_path / "none")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    monkeypatch.setenv("HOME", str(code))
    assert [holds_code(path) for path in (code, code / "src")] == [False, False]
