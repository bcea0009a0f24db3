"""What the simulated disk keeps and loses."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.power.disk import SECTOR, Disk, OrderedDisk
from tests.power.log import Entry, Kind

THREAD = 1


class Writer:
    """Feeds a disk as a program would."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def do(self, kind: Kind, first: str | None = None, second: str | None = None, *, inode: int = 0) -> None:
        self.disk.feed(Entry(kind, inode, 0, THREAD, first, second, b""))

    def write(self, path: str, data: bytes, *, inode: int) -> None:
        self.do(Kind.OPENED, path, inode=inode)
        self.disk.feed(Entry(Kind.WRITTEN, inode, 0, THREAD, None, None, data))

    def sync(self, folder: str | None = None, *, inode: int = 0) -> None:
        self.do(Kind.SYNC_BEGINS, folder, inode=inode)
        self.do(Kind.SYNC_DONE, folder, inode=inode)

    def left(self, place: Path, *, names_kept: float = 0.0, data_kept: float = 0.0, seed: int = 1) -> dict[str, bytes]:
        image = self.disk.after_loss(random.Random(seed), names_kept=names_kept, data_kept=data_kept)
        image.build(place / "store")
        return {
            path.relative_to(place / "store").as_posix(): path.read_bytes()
            for path in place.rglob("*")
            if path.is_file()
        }


@pytest.fixture
def strict() -> Writer:
    return Writer(Disk())


@pytest.fixture
def ordered() -> Writer:
    return Writer(OrderedDisk())


def test_a_synced_file_without_a_synced_name_is_gone(strict: Writer, tmp_path: Path) -> None:
    strict.write("mail", b"answered", inode=1)
    strict.sync(inode=1)

    assert strict.left(tmp_path) == {}


def test_a_synced_file_with_a_synced_name_stays(strict: Writer, tmp_path: Path) -> None:
    strict.write("mail", b"answered", inode=1)
    strict.sync(inode=1)
    strict.sync("")

    assert strict.left(tmp_path) == {"mail": b"answered"}


def test_a_synced_name_without_synced_content_is_an_empty_file(strict: Writer, tmp_path: Path) -> None:
    strict.write("mail", b"answered", inode=1)
    strict.sync("")

    left = strict.left(tmp_path)

    assert left.keys() == {"mail"}
    assert left["mail"] in (b"", bytes(len(b"answered")), b"answered")


def test_what_was_written_while_a_sync_ran_is_not_covered_by_it(strict: Writer, tmp_path: Path) -> None:
    strict.write("mail", b"old", inode=1)
    strict.do(Kind.SYNC_BEGINS, inode=1)
    strict.write("mail", b"new", inode=1)
    strict.do(Kind.SYNC_DONE, inode=1)
    strict.sync("")

    assert {strict.left(tmp_path / str(seed), seed=seed)["mail"] for seed in range(30)} == {b"old", b"new"}


def test_a_write_is_torn_by_sectors(strict: Writer, tmp_path: Path) -> None:
    strict.write("mail", b"a" * 4 * SECTOR, inode=1)
    strict.sync(inode=1)
    strict.sync("")
    strict.write("mail", b"b" * 4 * SECTOR, inode=1)

    left = [strict.left(tmp_path / str(seed), seed=seed)["mail"] for seed in range(60)]

    assert any(b"a" in content and b"b" in content for content in left)
    assert all(len(set(content[at : at + SECTOR])) == 1 for content in left for at in range(0, 4 * SECTOR, SECTOR))


def test_a_folder_whose_name_is_lost_takes_everything_along(strict: Writer, tmp_path: Path) -> None:
    strict.do(Kind.DIR_MADE, "projects")
    strict.write("projects/mail", b"answered", inode=1)
    strict.sync(inode=1)
    strict.sync("projects")

    assert strict.left(tmp_path) == {}


def test_a_name_removed_and_synced_does_not_come_back(strict: Writer, tmp_path: Path) -> None:
    strict.do(Kind.DIR_MADE, "there")
    strict.sync("")
    strict.write("new", b"x", inode=1)
    strict.sync(inode=1)
    strict.do(Kind.RENAMED, "new", "there/mail")
    strict.sync("there")

    assert strict.left(tmp_path, names_kept=1.0) == {"there/mail": b"x"}


def test_a_name_not_synced_may_be_there_all_the_same_without_an_earlier_one(strict: Writer, tmp_path: Path) -> None:
    strict.write("pack", b"p", inode=1)
    strict.write("branch", b"b", inode=2)

    left = [strict.left(tmp_path / str(seed), names_kept=0.5, seed=seed).keys() for seed in range(30)]

    assert {"branch"} in left


def test_the_ordered_disk_keeps_names_in_their_order(ordered: Writer, tmp_path: Path) -> None:
    ordered.write("pack", b"p", inode=1)
    ordered.write("branch", b"b", inode=2)

    left = [ordered.left(tmp_path / str(seed), names_kept=0.9, seed=seed).keys() for seed in range(30)]

    assert {"pack"} in left
    assert {"branch"} not in left


def test_on_the_ordered_disk_a_file_s_sync_keeps_its_name(ordered: Writer, tmp_path: Path) -> None:
    ordered.write("mail", b"answered", inode=1)
    ordered.sync(inode=1)

    assert ordered.left(tmp_path) == {"mail": b"answered"}


def test_two_names_of_one_file_are_one_file_again(strict: Writer, tmp_path: Path) -> None:
    strict.write("mail", b"x", inode=1)
    strict.do(Kind.LINKED, "mail", "copy")

    strict.left(tmp_path, names_kept=1.0, data_kept=1.0)

    assert (tmp_path / "store/mail").samefile(tmp_path / "store/copy")


def test_a_folder_that_another_thread_notes_too_late_is_one_folder(strict: Writer, tmp_path: Path) -> None:
    strict.write("locks/one", b"", inode=1)
    strict.do(Kind.DIR_MADE, "locks")
    strict.write("locks/two", b"2", inode=2)

    assert strict.disk.live_files() == {"locks/one": b"", "locks/two": b"2"}
    assert strict.left(tmp_path) == {}
    assert strict.left(tmp_path / "kept", names_kept=1.0, data_kept=1.0) == {"locks/one": b"", "locks/two": b"2"}
