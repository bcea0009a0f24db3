from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.archive.worktree import WorkTree


def test_a_file_that_holds_what_it_should_is_left_as_it_is_on_disk(tmp_path: Path) -> None:
    """Else a loss of power could take it, and no commit says that it was written: it changed nothing."""
    tree = WorkTree(tmp_path / "tree", tmp_path / "scratch", lambda _: True)
    for folder in ("tree", "scratch"):
        (tmp_path / folder).mkdir()
    file = tmp_path / "tree" / "archive.json"
    tree.write({"archive.json": b"first"})
    written = file.stat()

    tree.write({"archive.json": b"first"})
    again = file.stat()
    tree.write({"archive.json": b"other"})

    assert (again.st_ino, again.st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    assert file.read_bytes() == b"other"


def test_what_cannot_be_written_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "files/taken/mine").mkdir(parents=True)
    (tmp_path / "scratch").mkdir()
    tree = WorkTree(tmp_path / "files", tmp_path / "scratch", lambda _: True)

    tree.put(b"new", ["taken"])

    assert tree.blocked == {"taken"}
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_blocked_file_that_is_removed_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "files/taken").mkdir(parents=True)
    (tmp_path / "scratch").mkdir()
    tree = WorkTree(tmp_path / "files", tmp_path / "scratch", lambda _: True)

    tree.put(b"new", ["taken"])
    tree.remove("taken")

    assert tree.blocked == set()


def tell(say: Callable[[bytes], object]) -> None:
    say(b"in two ")
    say(b"pieces")


def test_what_is_large_is_written_piece_by_piece_in_place_of_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "hidden").touch()
    (tmp_path / "scratch").mkdir()
    tree = WorkTree(tmp_path / "files", tmp_path / "scratch", lambda path: not path.startswith("hidden"))
    tree.write({"a/b": b"before"})

    tree.put_large("a/b", tell)
    tree.put_large("hidden", tell)

    assert (tmp_path / "files/a/b").read_bytes() == b"in two pieces"
    assert (tmp_path / "files/hidden").read_bytes() == b""
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_stands_in_its_way_is_noted_and_what_cannot_be_told_is_not_begun(tmp_path: Path) -> None:
    (tmp_path / "files/taken").mkdir(parents=True)
    (tmp_path / "scratch").mkdir()
    tree = WorkTree(tmp_path / "files", tmp_path / "scratch", lambda _: True)

    def fail(say: Callable[[bytes], object]) -> None:
        say(b"half")
        raise OSError("the disk")

    tree.put_large("taken", tell)
    with pytest.raises(OSError, match="the disk"):
        tree.put_large("new", fail)

    assert tree.blocked == {"taken"}
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["taken"]
    assert list((tmp_path / "scratch").iterdir()) == []


def _say_new(say: Callable[[bytes], object]) -> None:
    say(b"new")


def test_in_somebody_elses_folder_nothing_is_written_or_removed_but_what_is_ours(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("mine")
    tree = WorkTree(tmp_path, tmp_path, lambda _: True)
    strange = [".bashrc", ".ssh/authorized_keys", "README.md", "messages", "messages/.GIT/config"]

    tree.put(b"new", [*strange, "archive.json", "messages/2026/one.md"])
    tree.put_large("notes.bin", _say_new)
    tree.remove(".bashrc")

    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {".bashrc", "archive.json", "messages/2026/one.md"}
    assert (tmp_path / ".bashrc").read_text() == "mine"
