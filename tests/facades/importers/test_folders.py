"""Folders are read by descriptors: links are not followed, lines and files have a bound, nothing is touched."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from mcp_agent_mail.core.disk_space import DiskFull
from mcp_agent_mail.domain.importing.refusals import SourceInUse, SourceUnreadable
from mcp_agent_mail.facades.importers import folders
from mcp_agent_mail.facades.importers.folders import SourceFolder


def test_lines_come_whole_and_the_last_tells_whether_it_ended(tmp_path: Path) -> None:
    (tmp_path / "box").write_bytes(b"one\n\n" + b"x" * 200_000 + b"\nhalf")

    with SourceFolder.open(tmp_path) as folder:
        lines = list(folder.lines("box"))

    assert [(line.number, len(line.content or b""), line.is_whole) for line in lines] == [
        (1, 3, True),
        (2, 0, True),
        (3, 200_000, True),
        (4, 4, False),
    ]


def test_a_line_beyond_the_bound_is_passed_over_and_the_next_one_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "LONGEST_LINE", 100_000)
    (tmp_path / "box").write_bytes(b"y" * 300_000 + b"\nnext\n" + b"z" * 300_000)

    with SourceFolder.open(tmp_path) as folder:
        lines = list(folder.lines("box"))

    assert [(line.number, line.content) for line in lines] == [(1, None), (2, b"next"), (3, None)]


def test_links_pipes_and_what_is_not_there_are_nothing(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "file").write_text("x")
    below = tmp_path / "below"
    below.mkdir()
    (below / "folder").symlink_to(tmp_path / "secret")
    (below / "file").symlink_to(tmp_path / "secret" / "file")
    os.mkfifo(below / "pipe")

    with SourceFolder.open(below) as folder:
        assert folder.below("folder") is None
        for name in ("file", "pipe", "none", "a\0b"):
            assert folder.read(name, 100) is None
            assert list(folder.lines(name)) == []
        with pytest.raises(SourceUnreadable, match="too long"):
            folder.read("x" * 300, 100)
        assert [(one.name, one.is_folder, one.is_file) for one in folder.names()] == [
            ("file", False, False),
            ("folder", False, False),
            ("pipe", False, False),
        ]


def test_a_file_beyond_the_bound_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 101)

    with SourceFolder.open(tmp_path) as folder:
        assert folder.read("file", 100) is None
        assert folder.read("file", 101) == b"x" * 101


def test_more_names_than_are_kept_in_mind_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MOST_NAMES", 3)
    for number in range(4):
        (tmp_path / f"{number}").touch()

    with SourceFolder.open(tmp_path) as folder, pytest.raises(SourceUnreadable, match="more than 3 names"):
        folder.names()


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    for name in ("file", "none"):
        with pytest.raises(SourceUnreadable, match="cannot be read"):
            SourceFolder.open(tmp_path / name)


class _Growing(SourceFolder):
    """Of a program that adds a line so many times while the file is read."""

    times = 0

    def _copy_open(self, descriptor: int, target: Path) -> None:
        super()._copy_open(descriptor, target)
        if self.times:
            self.times -= 1
            with (self.path / "a.jsonl").open("a") as file:
                file.write("line\n")


@pytest.mark.parametrize("times", [0, 2, 4])
def test_a_file_that_grows_while_it_is_copied_is_copied_again(times: int, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("first\n")
    (tmp_path / "copies").mkdir()

    with _Growing.open(tmp_path) as folder:
        folder.times = times
        assert folder.copy("a.jsonl", tmp_path / "copies")
        assert not folder.copy("b.jsonl", tmp_path / "copies")

    assert (tmp_path / "copies" / "a.jsonl").read_text() == "first\n" + times * "line\n"


def test_one_that_never_rests_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("first\n")
    (tmp_path / "copies").mkdir()

    with _Growing.open(tmp_path) as folder:
        folder.times = 1_000
        with pytest.raises(SourceInUse, match=r"a\.jsonl changes while"):
            folder.copy("a.jsonl", tmp_path / "copies")


def test_a_copy_that_finds_no_room_is_refused_and_not_cut(tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    (tmp_path / "a.jsonl").write_bytes(b"x" * 3_000_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (2_900_000, hard))
    try:
        with SourceFolder.open(tmp_path) as folder, pytest.raises(DiskFull):
            folder.copy("a.jsonl", tmp_path / "copies")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
