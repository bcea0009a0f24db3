from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.workspace.boundary import ProjectBoundary, is_folder


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "code" / "src").mkdir(parents=True)
    (tmp_path / "code" / "src" / "app.py").touch()
    return tmp_path / "code"


def test_a_folder_is_one_and_a_file_or_nothing_is_not(code: Path) -> None:
    found = {path: is_folder(code, path) for path in ("src", "src/", "src/app.py", "gone", "")}

    assert found == {"src": True, "src/": True, "src/app.py": False, "gone": False, "": False}


@pytest.mark.parametrize("path", ["..", "../outside", "src/../../outside", "/etc", "a\0b"])
def test_a_path_out_of_the_workspace_is_no_folder(code: Path, path: str) -> None:
    (code.parent / "outside").mkdir()

    assert is_folder(code, path) is False


def test_no_symbolic_link_leads_out_of_the_workspace(code: Path) -> None:
    (code.parent / "outside" / "deep").mkdir(parents=True)
    (code / "out").symlink_to(code.parent / "outside")
    (code / "in").symlink_to(code / "src")

    found = [is_folder(code, path) for path in ("out", "out/deep", "in")]

    assert found == [False, False, False]


@pytest.mark.parametrize(
    "path", ["", ".", "src/..", "gone", "gone/app.py", "src/app.py/x", "../outside", "src/a\0b", "\0/x"]
)
def test_nothing_is_seen_where_nothing_lies_or_outside(code: Path, path: str) -> None:
    (code.parent / "outside").touch()

    assert ProjectBoundary(code).look(path) is None


def test_a_link_itself_is_seen_and_not_what_it_leads_to(code: Path) -> None:
    (code.parent / "secret").write_text("hidden")
    (code / "link").symlink_to(code.parent / "secret")

    found = ProjectBoundary(code).look("link")

    assert found is not None
    assert found.st_ino == (code / "link").lstat().st_ino


def test_a_folder_whose_name_only_begins_like_the_roots_is_outside(code: Path) -> None:
    beside = code.with_name("code-beside")
    beside.mkdir()
    (beside / "app.py").touch()
    (code / "out").symlink_to(beside)

    assert ProjectBoundary(code).look("out/app.py") is None
    assert ProjectBoundary(code).look("src/app.py") is not None


def test_a_root_that_is_a_link_is_the_folder_it_leads_to(code: Path) -> None:
    link = code.with_name("link")
    link.symlink_to(code)

    assert ProjectBoundary(link).look("src/app.py") is not None
    assert is_folder(link, "src")


def test_a_folder_is_looked_at_once_in_a_search(code: Path) -> None:
    boundary = ProjectBoundary(code)
    boundary.look("src/app.py")
    (code / "src").rename(code.parent / "moved")
    (code / "src").symlink_to(code.parent / "moved")

    assert boundary.look("src/app.py") is not None
    assert ProjectBoundary(code).look("src/app.py") is None
