from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from mcp_agent_mail.store.engine.disk_usage import SETTLED_NS, FolderSizes, bytes_on_disk

ALL_AT_ONCE = 10**6
LATER = 10 * SETTLED_NS


def later() -> int:
    """When all that was written just now has settled."""
    return time.time_ns() + LATER


def write(path: Path, size: int = 10_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def du(folder: Path) -> int:
    """What the system's own program counts."""
    counted = subprocess.run(["du", "-s", "-B1", str(folder)], check=True, capture_output=True, text=True)
    return int(counted.stdout.split()[0])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    for name in ("top", "projects/a/one", "projects/a/two", "projects/b/deep/er/three"):
        write(folder / name)
    return folder


def count(sizes: FolderSizes, now_ns: int) -> int:
    sizes.step(ALL_AT_ONCE, now_ns)
    return sizes.bytes


def test_a_round_counts_what_du_counts(root: Path) -> None:
    sizes = FolderSizes(root)

    assert count(sizes, later()) == du(root)
    assert sizes.is_whole


def test_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "large", 1_000_000)
    (root / "away").symlink_to(tmp_path / "elsewhere")
    (root / "round").symlink_to(root)

    assert count(FolderSizes(root), later()) == du(root) < 1_000_000


def test_what_is_left_out_is_not_counted(root: Path) -> None:
    whole = du(root)
    database = write(root / "mail.sqlite3", 100_000)

    assert count(FolderSizes(root, but=[database]), later()) == whole


def test_so_many_looks_at_a_time_come_to_the_same(root: Path) -> None:
    sizes = FolderSizes(root)
    counted = []
    while not sizes.is_whole:
        sizes.step(2, later())
        counted.append(sizes.bytes)

    assert len(counted) > 3
    assert counted == sorted(counted)
    assert counted[-1] == du(root)


def test_what_comes_and_goes_is_noticed_in_the_next_round(root: Path) -> None:
    sizes = FolderSizes(root)
    before = count(sizes, later())
    new = write(root / "projects" / "a" / "new", 200_000)
    larger = count(sizes, later())
    assert larger == du(root) > before
    new.unlink()

    assert count(sizes, later()) == before


def test_a_smaller_count_holds_only_once_its_round_has_ended(root: Path) -> None:
    sizes = FolderSizes(root)
    before = count(sizes, later())
    (root / "projects" / "a" / "one").unlink()
    sizes.step(2, later())
    meanwhile = sizes.bytes
    sizes.step(ALL_AT_ONCE, later())

    assert meanwhile == before
    assert sizes.bytes == du(root)


def test_a_folder_as_it_was_is_not_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    scandir = os.scandir

    def note(path: str) -> object:
        read.append(os.path.relpath(path, root))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", note)
    sizes = FolderSizes(root)
    count(sizes, later())
    first = sorted(read)
    read.clear()
    write(root / "projects" / "b" / "new")
    count(sizes, later())

    assert first == [".", "projects", "projects/a", "projects/b", "projects/b/deep", "projects/b/deep/er"]
    assert sorted(read) == [".", "projects/b"]


def test_a_folder_that_was_changed_just_now_is_read_again(root: Path) -> None:
    """It may change once more within one tick of the file system's clock."""
    sizes = FolderSizes(root)
    folder = root / "projects" / "a"
    count(sizes, time.time_ns())
    changed = folder.stat()
    write(folder / "new", 200_000)
    os.utime(folder, ns=(changed.st_atime_ns, changed.st_mtime_ns))

    assert count(sizes, later()) == du(root)


def test_beyond_what_is_remembered_folders_are_read_anew(root: Path) -> None:
    sizes = FolderSizes(root, remembered=2)
    count(sizes, later())

    assert count(sizes, later()) == du(root)
    assert len(sizes._known) == 2


def test_what_cannot_be_read_and_what_is_gone_count_as_nothing(tmp_path: Path) -> None:
    sizes = FolderSizes(tmp_path / "missing")

    assert count(sizes, later()) == 0
    assert sizes.is_whole


def test_one_file_takes_its_blocks_and_a_missing_one_nothing(tmp_path: Path) -> None:
    assert bytes_on_disk(write(tmp_path / "file", 10_000)) == du(tmp_path / "file")
    assert bytes_on_disk(tmp_path / "missing") == 0
