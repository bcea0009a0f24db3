"""The files by which a repository says which project it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.domain.project_identity import DISCOVERY_FILE, MARKER_FILE, PRIVATE_MARKER
from mcp_agent_mail.workspace.marks import MAX_BYTES, read_marks
from tests.workspace.code_repository import begin, commit, git, write

UID = "marked-project-1"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    repository = begin(tmp_path / "code")
    write(repository, "src/app.py")
    commit(repository)
    return repository


def test_the_nearest_mark_of_each_kind_counts(code: Path) -> None:
    write(code, MARKER_FILE, content=f"{UID}\n")
    write(code, DISCOVERY_FILE, content="project_uid: uid-of-root\n")
    write(code, f"src/{DISCOVERY_FILE}", content="project_uid: uid-of-src\n")
    write(code, f".git/{PRIVATE_MARKER}", content="uid-private\n")

    marks = read_marks(code / "src")

    assert (marks.committed, marks.discovery, marks.private) == (UID, {"project_uid": "uid-of-src"}, "uid-private")
    assert marks.notices == ()


def test_a_work_tree_has_the_private_marker_of_its_clone(code: Path, tmp_path: Path) -> None:
    git(code, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "feature"))
    write(code, f".git/{PRIVATE_MARKER}", content=f"{UID}\n")

    assert read_marks(tmp_path / "feature").private == UID


def test_above_a_repository_no_mark_counts_and_without_one_only_the_directorys_own(code: Path, tmp_path: Path) -> None:
    write(tmp_path, MARKER_FILE, content=f"{UID}\n")
    (tmp_path / "plain").mkdir()

    assert read_marks(code).committed is None
    assert read_marks(tmp_path / "plain").committed is None
    assert read_marks(tmp_path).committed == UID


def _link(place: Path) -> None:
    secret = place.with_name("secret")
    secret.write_text(UID)
    place.symlink_to(secret)


def _pipe(place: Path) -> None:
    os.mkfifo(place)


def _large(place: Path) -> None:
    place.write_text(UID + "\n" * MAX_BYTES)


def _binary(place: Path) -> None:
    place.write_bytes(b"\xff\xfe" + UID.encode())


def _command(place: Path) -> None:
    place.write_text("$(touch /srv/owned)")


@pytest.mark.parametrize("make", [_link, _pipe, _large, _binary, _command, Path.mkdir])
def test_a_hostile_marker_counts_as_absent_and_is_told(make: object, code: Path) -> None:
    make(code / MARKER_FILE)  # type: ignore[operator]

    marks = read_marks(code)

    assert marks.committed is None
    assert [notice for notice in marks.notices if MARKER_FILE in notice] == list(marks.notices) != []


def test_a_folder_reached_through_a_link_has_the_marks_of_where_it_lies(code: Path, tmp_path: Path) -> None:
    write(code, MARKER_FILE, content=f"{UID}\n")
    write(code, f".git/{PRIVATE_MARKER}", content="uid-private\n")
    (tmp_path / "link").symlink_to(code / "src")

    marks = read_marks(tmp_path / "link")

    assert (marks.committed, marks.private) == (UID, "uid-private")


def test_a_repository_that_cannot_be_read_is_told_and_only_the_directorys_own_mark_counts(code: Path) -> None:
    write(code, MARKER_FILE, content=f"{UID}\n")
    write(code, f".git/{PRIVATE_MARKER}", content="uid-private\n")
    (code / ".git" / "config").write_text("[broken")

    at_top, below = read_marks(code), read_marks(code / "src")

    assert (at_top.committed, at_top.private) == (UID, None)
    assert below.committed is None
    assert [str(code / ".git/config") in notice for notice in (*at_top.notices, *below.notices)] == [True, True]


def test_the_private_marker_of_a_repository_whose_work_tree_is_elsewhere_counts_for_nobody_else(
    code: Path, tmp_path: Path
) -> None:
    write(code, f".git/{PRIVATE_MARKER}", content=f"{UID}\n")
    (tmp_path / "elsewhere").mkdir()
    git(code, "config", "core.worktree", str(tmp_path / "elsewhere"))

    assert read_marks(code).private is None
