"""Every kind of code repository around a project: is the archive's folder tracked there, is it kept out of status?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.archive.code_status import CodeRepositoryRefused, is_tracked, keep_out_of_status
from tests.workspace.code_repository import begin, commit, git, write

FOLDER = ".mcp-mail"

Kind = Callable[[Path], Path]


def plain(tmp_path: Path) -> Path:
    return begin(tmp_path / "code")


def sha256(tmp_path: Path) -> Path:
    code = tmp_path / "code"
    code.mkdir()
    git(code, "init", "--quiet", "--object-format=sha256")
    return code


def with_split_index(tmp_path: Path) -> Path:
    code = begin(tmp_path / "code")
    git(code, "config", "core.splitIndex", "true")
    git(code, "config", "splitIndex.maxPercentChange", "100")
    return code


def linked_work_tree(tmp_path: Path) -> Path:
    code = begin(tmp_path / "code")
    write(code, "main.py")
    commit(code)
    git(code, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "feature"))
    return tmp_path / "feature"


def submodule(tmp_path: Path) -> Path:
    code, above = begin(tmp_path / "code"), begin(tmp_path / "above")
    write(code, "main.py")
    commit(code)
    git(above, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(code), "inner")
    return above / "inner"


def work_tree_below_a_link(tmp_path: Path) -> Path:
    (tmp_path / "real").mkdir()
    linked_work_tree(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    return tmp_path / "link" / "feature"


def work_tree_by_a_link(tmp_path: Path) -> Path:
    linked_work_tree(tmp_path)
    (tmp_path / "link").symlink_to("feature")
    return tmp_path / "link"


def repository_by_a_link(tmp_path: Path) -> Path:
    plain(tmp_path)
    (tmp_path / "link").symlink_to("code")
    return tmp_path / "link"


KINDS = (
    *(plain, sha256, with_split_index, linked_work_tree, submodule),
    *(work_tree_below_a_link, work_tree_by_a_link, repository_by_a_link),
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_tracked_folder_is_known_in_every_kind_of_repository(kind: Kind, tmp_path: Path) -> None:
    project = kind(tmp_path) / "part"
    write(project, "main.py")
    commit(project)

    before = is_tracked(project, FOLDER)
    write(project, f"{FOLDER}/theirs.md")
    git(project, "add", "-A")

    assert (before, is_tracked(project, FOLDER)) == (False, True)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_folder_is_kept_out_of_status_in_every_kind_of_repository(kind: Kind, tmp_path: Path) -> None:
    project = kind(tmp_path) / "part"
    write(project, f"{FOLDER}/ours.md")

    keep_out_of_status(project.resolve(), FOLDER)

    assert git(project, "status", "--porcelain", "--", ".") == ""


def test_a_folder_that_is_tracked_by_nobody_around_is_not(tmp_path: Path) -> None:
    assert not is_tracked(tmp_path, FOLDER)


@pytest.mark.parametrize("broken", ["index", "config"])
def test_what_cannot_be_told_is_refused_with_what_to_do(broken: str, tmp_path: Path) -> None:
    code = plain(tmp_path)
    write(code, f"{FOLDER}/theirs.md")
    commit(code)
    (code / ".git" / broken).write_text("[broken")

    with pytest.raises(CodeRepositoryRefused, match="cannot be told") as refused:
        is_tracked(code, FOLDER)

    assert str(code / ".git" / broken) in refused.value.message
    assert "ARCHIVE_LOCATION=store" in (refused.value.hint or "")


def test_a_repository_that_is_broken_later_stops_no_archive_and_is_not_written_to(tmp_path: Path) -> None:
    code = plain(tmp_path)
    before = (code / ".git/info/exclude").read_text()
    (code / ".git" / "config").write_text("[broken")

    keep_out_of_status(code, FOLDER)

    assert (code / ".git/info/exclude").read_text() == before


def test_a_repository_whose_work_tree_is_elsewhere_says_nothing_of_the_folder(tmp_path: Path) -> None:
    code = plain(tmp_path)
    write(code, f"{FOLDER}/theirs.md")
    commit(code)
    (tmp_path / "elsewhere").mkdir()
    git(code, "config", "core.worktree", str(tmp_path / "elsewhere"))
    before = (code / ".git/info/exclude").read_text()

    keep_out_of_status(code, FOLDER)

    assert not is_tracked(code, FOLDER)
    assert (code / ".git/info/exclude").read_text() == before
