from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.workspace import WorkspaceTaken, begin_in_workspace


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "code"
    project.mkdir()
    return project


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store" / "projects" / "code"


def test_a_begin_that_was_cut_off_before_its_git_file_had_its_name_is_gone_on_with(place: Path, project: Path) -> None:
    work_tree = project / ".mcp-mail"
    work_tree.mkdir()
    (work_tree / ".git.0a1b2c3d").write_bytes(b"gitdir: ")

    begin_in_workspace(place, project)

    assert [path.name for path in work_tree.iterdir()] == [".git"]
    assert (work_tree / ".git").read_text() == f"gitdir: {place / '.git'}\n"


@pytest.mark.parametrize("name", [".git.0a1b2c3", ".git.0a1b2c3d.md", "notes.0a1b2c3d"])
def test_what_is_somebodys_stays_and_is_in_the_way(name: str, place: Path, project: Path) -> None:
    theirs = project / ".mcp-mail" / name
    theirs.parent.mkdir()
    theirs.write_bytes(b"mine")

    with pytest.raises(WorkspaceTaken):
        begin_in_workspace(place, project)

    assert theirs.read_bytes() == b"mine"
