from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.staged_file import FileBusy, FileNotWritable, staged_at
from mcp_agent_mail.clients.setup.targets import (
    MAX_PROJECT_BYTES,
    clear_left_name,
    look_at,
    missing_folders,
    remove,
    replace,
    require_writable,
    runnable,
)
from mcp_agent_mail.core.failpoints import FailPoint, no_fault


def test_a_link_stays_a_link_and_the_mode_stays(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("old")
    real.chmod(0o604)
    link = tmp_path / "link.json"
    link.symlink_to("real.json")

    replace(look_at(link), b"new", no_fault)

    assert str(link.readlink()) == "real.json"
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o604


def test_what_a_kill_has_left_beside_a_file_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    staged_at(path).write_text("half")

    replace(look_at(path), b"new", no_fault)

    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_a_folder_that_the_disk_does_not_take_is_no_failure_of_the_write(tmp_path: Path) -> None:
    path = tmp_path / "a.json"

    def refuse(point: FailPoint) -> None:
        if point is FailPoint.SETUP_NAMED:
            raise OSError(5, "Input/output error")

    replace(look_at(path), b"new", refuse)

    assert path.read_bytes() == b"new"
    assert not staged_at(path).exists()


def test_a_file_that_changed_meanwhile_is_neither_replaced_nor_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    target = look_at(path)
    path.write_text("of somebody else")

    with pytest.raises(FileNotWritable, match="just now"):
        replace(target, b"new", no_fault)
    with pytest.raises(FileNotWritable, match="just now"):
        remove(target)

    assert path.read_text() == "of somebody else"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_of_two_at_once_the_second_is_refused_and_the_first_ones_content_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    second = look_at(path)

    def write_too(point: FailPoint) -> None:
        if point is FailPoint.SETUP_STAGED:
            with pytest.raises(FileBusy):
                replace(second, b"second", no_fault, patience_s=0)

    replace(look_at(path), b"first", write_too)

    assert path.read_bytes() == b"first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_the_name_that_a_new_file_has_while_it_is_made_is_cleared_and_no_check_does_so(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("new")
    staged_at(path).hardlink_to(path)

    with pytest.raises(FileNotWritable, match="several names"):
        require_writable(look_at(path))
    before = len(list(tmp_path.iterdir()))
    clear_left_name(look_at(path))
    require_writable(look_at(path))

    assert before == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_another_second_name_is_the_persons_and_stays_as_does_what_is_no_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("new")
    (tmp_path / "b.json").hardlink_to(path)
    staged_at(path).write_text("half")

    clear_left_name(look_at(path))
    clear_left_name(look_at(tmp_path / "none.json"))

    assert len(list(tmp_path.iterdir())) == 3
    with pytest.raises(FileNotWritable, match="several names"):
        require_writable(look_at(path))


def test_what_is_no_plain_file_is_left_alone_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "lost").symlink_to("nowhere/at/all")

    for name in ("fifo", "folder", "lost"):
        with pytest.raises(FileNotWritable):
            look_at(tmp_path / name)
    with pytest.raises(FileNotWritable):
        look_at(tmp_path / "round")


def test_a_projects_file_may_be_a_mebibyte_long_and_ones_own_longer(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b" " * MAX_PROJECT_BYTES)
    assert look_at(path, within=tmp_path).content is not None
    path.write_bytes(b" " * (MAX_PROJECT_BYTES + 1))

    with pytest.raises(FileNotWritable, match="more than the 1,048,576 bytes"):
        look_at(path, within=tmp_path)
    assert look_at(path).content is not None


def test_no_link_leads_out_of_a_project(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (outside / "a.json").write_text("{}")
    (project / ".claude").symlink_to(outside)
    (project / "in.json").write_text("{}")
    (project / ".mcp.json").symlink_to("in.json")

    with pytest.raises(FileNotWritable, match="leads out of"):
        look_at(project / ".claude/a.json", within=project)

    assert look_at(project / ".mcp.json", within=project).content == b"{}"


@pytest.mark.parametrize("folder", [".git/hooks", ".GIT/hooks", "server.git/hooks"])
def test_nothing_lies_in_a_git_directory(folder: str, tmp_path: Path) -> None:
    made = tmp_path / folder
    made.mkdir(parents=True)
    if folder.startswith("server"):
        for name in ("objects", "refs"):
            (made.parent / name).mkdir()
        (made.parent / "HEAD").write_text("ref: refs/heads/main\n")
    (made / "post-checkout").write_text("")
    (tmp_path / "Hook").symlink_to(f"{folder}/post-checkout")

    for within in (tmp_path, None):
        with pytest.raises(FileNotWritable, match="in the Git directory"):
            look_at(tmp_path / "Hook", within=within)


def test_in_a_project_a_link_leads_to_what_is_there_and_for_a_program_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/there").write_text("")
    (tmp_path / "hooks").symlink_to("real")
    (tmp_path / "lost").symlink_to("real/lost")
    project = tmp_path.with_name("project")
    project.symlink_to(tmp_path)

    with pytest.raises(FileNotWritable, match="where nothing is"):
        look_at(tmp_path / "lost", within=tmp_path)
    for name in ("there", "new"):
        with pytest.raises(FileNotWritable, match="through a link"):
            look_at(tmp_path / "hooks" / name, within=tmp_path, follows=False)

    assert look_at(tmp_path / "lost").content is None
    assert look_at(tmp_path / "hooks/there", within=tmp_path).content == b""
    assert look_at(project / "real/there", within=project, follows=False).content == b""


def test_read_only_files_and_folders_are_named_before_anything_is_tried(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    path.chmod(0o444)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)

    with pytest.raises(FileNotWritable, match="read-only"):
        require_writable(look_at(path))
    with pytest.raises(FileNotWritable, match="closed"):
        require_writable(look_at(closed / "deeper/a.json"))


def test_a_file_of_several_names_is_left_alone_since_a_write_would_part_them(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    os.link(path, tmp_path / "dotfiles.json")

    with pytest.raises(FileNotWritable, match="hard links"):
        require_writable(look_at(path))


def test_folders_that_are_missing_are_told_from_the_outside_in(tmp_path: Path) -> None:
    target = look_at(tmp_path / "a/b/c.json")

    assert missing_folders(target) == [tmp_path / "a", tmp_path / "a/b"]


@pytest.mark.parametrize(("mode", "wanted"), [(None, 0o755), (0o640, 0o750), (0o600, 0o700), (0o755, 0o755)])
def test_whoever_may_read_a_program_may_run_it(mode: int | None, wanted: int) -> None:
    assert runnable(mode) == wanted
