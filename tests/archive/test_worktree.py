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
