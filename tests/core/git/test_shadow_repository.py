"""Repositories of every kind, asked through a shadow: the same answers as Git itself gives."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.core.git.environment import GitPlace
from mcp_agent_mail.core.git.foreign_repository import UnfitRepository, find_repository
from mcp_agent_mail.core.git.process import run_git
from mcp_agent_mail.core.git.shadow_repository import shadow_of
from tests.workspace.code_repository import begin, commit, git, write


def _plain(code: Path) -> Path:
    return code


def _work_tree(code: Path) -> Path:
    git(code, "worktree", "add", "--quiet", "-b", "feature", str(code.parent / "feature"))
    write(code.parent / "feature", "only/here.py")
    git(code.parent / "feature", "add", "-A")
    return code.parent / "feature"


def _submodule(code: Path) -> Path:
    outer = begin(code.parent / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(code), "part")
    write(outer / "part", "src/new.py")
    git(outer / "part", "add", "-A")
    return outer / "part"


def _packed(code: Path) -> Path:
    git(code, "gc", "--quiet")
    return code


def _split_index(code: Path) -> Path:
    git(code, "update-index", "--split-index")
    write(code, "src/split.py")
    git(code, "add", "-A")
    return code


def _sparse_index(code: Path) -> Path:
    git(code, "sparse-checkout", "set", "--cone", "--sparse-index", "docs")
    return code


def _sha256(code: Path) -> Path:
    other = code.parent / "sha256"
    other.mkdir()
    git(other, "init", "--quiet", "--initial-branch=main", "--object-format=sha256")
    write(other, "src/app.py")
    commit(other)
    write(other, "src/new.py")
    git(other, "add", "-A")
    return other


def _alternates(code: Path) -> Path:
    git(code.parent, "clone", "--quiet", "--shared", str(code), str(code.parent / "clone"))
    return code.parent / "clone"


def _separate(code: Path) -> Path:
    git(code, "init", "--quiet", f"--separate-git-dir={code.parent / 'elsewhere'}")
    return code


def _linked_parts(code: Path) -> Path:
    """As tools lay out many checkouts over one store."""
    (code / ".git").rename(code.parent / "store")
    (code / ".git").mkdir()
    for name in ("config", "objects", "refs", "packed-refs", "info"):
        if (code.parent / "store" / name).exists():
            (code / ".git" / name).symlink_to(code.parent / "store" / name)
    for name in ("HEAD", "index"):
        (code.parent / "store" / name).rename(code / ".git" / name)
    return code


KINDS = (
    *(_plain, _work_tree, _submodule, _packed, _split_index, _sparse_index, _sha256, _alternates, _separate),
    _linked_parts,
)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    repository = begin(tmp_path / "code")
    for path in ("src/app.py", "docs/a.md", "lib/deep/x.py"):
        write(repository, path)
    commit(repository)
    write(repository, "src/staged.py")
    git(repository, "add", "-A")
    return repository


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.strip("_"))
def test_a_shadow_answers_as_the_repository_itself(kind: Callable[[Path], Path], code: Path) -> None:
    top = kind(code)
    questions = (
        ("ls-files", "-z", "--cached"),
        ("diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD", "--"),
        ("rev-list", "--branches", "HEAD", "--"),
    )
    expected = [git(top, *question) for question in questions]

    found = find_repository(str(top / "src" if (top / "src").is_dir() else top))
    assert found is not None
    with shadow_of(found) as shadow:
        place = GitPlace(git_dir=Path(shadow), work_tree=top)
        answers = [os.fsdecode(run_git("-C", str(top), *question, place=place)) for question in questions]

    assert found.top == str(top)
    assert found.git_dir == git(top, "rev-parse", "--absolute-git-dir").strip()
    assert answers == expected
    assert not Path(shadow).exists()


def test_settings_of_the_repository_are_not_there_in_its_shadow(code: Path) -> None:
    git(code, "config", "log.format", "theirs")
    found = find_repository(str(code))
    assert found is not None

    with shadow_of(found) as shadow:
        said = run_git("config", "--default=ours", "--get", "log.format", place=GitPlace(git_dir=Path(shadow)))

    assert said == b"ours\n"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.strip("_"))
def test_a_work_tree_is_named_by_its_git_directory_unless_that_was_put_elsewhere(
    kind: Callable[[Path], Path], code: Path
) -> None:
    found = find_repository(str(kind(code)))

    assert found is not None
    assert found.names_work_tree() == (kind is not _separate)


def test_a_planted_git_file_is_not_named_back(code: Path) -> None:
    git(code, "worktree", "add", "--quiet", "-b", "feature", str(code.parent / "feature"))
    for number, git_dir in enumerate((code / ".git", code / ".git/worktrees/feature")):
        planted = code.parent / f"planted-{number}"
        planted.mkdir()
        (planted / ".git").write_text(f"gitdir: {git_dir}\n")

        found = find_repository(str(planted))

        assert found is not None
        assert not found.names_work_tree()


def test_what_is_neither_file_nor_folder_is_no_git_directory(code: Path) -> None:
    (code / "inner").mkdir()
    os.mkfifo(code / "inner" / ".git")

    with pytest.raises(UnfitRepository, match="no folder and no ordinary file"):
        find_repository(str(code / "inner"))


def test_a_repository_of_an_unknown_kind_is_refused_by_name(code: Path) -> None:
    git(code, "config", "core.repositoryformatversion", "1")
    git(code, "config", "extensions.refStorage", "reftable")

    with pytest.raises(UnfitRepository, match="refstorage = reftable"):
        find_repository(str(code))


def test_a_bare_repository_has_no_work_tree(code: Path) -> None:
    git(code.parent, "clone", "--quiet", "--bare", str(code), str(code.parent / "bare"))

    found = find_repository(str(code.parent / "bare"))

    assert found is not None
    assert found.top is None


def test_outside_of_a_repository_there_is_none(tmp_path: Path) -> None:
    assert find_repository(str(tmp_path)) is None
