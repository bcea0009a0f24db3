from __future__ import annotations

from pathlib import Path

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
