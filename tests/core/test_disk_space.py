from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from mcp_agent_mail.core.disk_space import (
    disk_full,
    free_bytes,
    is_want_of_room,
    nearly_full,
    reserve,
    room_lacking,
)
from tests.faults.disks import fill_disk, small_disk


def test_what_is_free_is_said_of_a_folder_that_is_not_there_yet_too(tmp_path: Path) -> None:
    there = shutil.disk_usage(tmp_path)

    assert 0 < free_bytes(tmp_path / "not" / "yet") <= there.total


def test_what_the_system_says_is_told_from_other_failures() -> None:
    assert is_want_of_room(OSError(errno.ENOSPC, "full"))
    assert is_want_of_room(OSError(errno.EDQUOT, "quota"))
    assert not is_want_of_room(OSError(errno.EACCES, "denied"))
    assert not is_want_of_room(ValueError("full"))


def test_the_first_place_on_a_disk_that_is_nearly_full_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with small_disk(tmp_path / "roomy", size_kib=8_192) as roomy, small_disk(tmp_path / "tight", size_kib=512) as tight:
        assert nearly_full([roomy, tight / "later"]) == tight / "later"
        assert nearly_full([roomy]) is None


@pytest.mark.parametrize(("size_kib", "words"), [(512, r"is full: 0.5 MiB are free\."), (8_192, "again, less than")])
def test_a_full_disk_is_told_with_what_is_free_by_then(tmp_path: Path, size_kib: int, words: str) -> None:
    with small_disk(tmp_path / "disk", size_kib=size_kib) as disk:
        told = disk_full(disk / "new")

    assert words.replace("\\", "") in told.message
    assert told.data["disk"] == str(disk)


def test_what_is_reserved_can_be_written_on_a_disk_that_is_full_by_then(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=512) as disk, TemporaryFile(dir=disk, buffering=0) as file:
        reserve(file, 4_096)
        fill_disk(disk)
        os.lseek(file.fileno(), 0, os.SEEK_SET)

        assert file.write(b"x" * 4_096) == 4_096
        with pytest.raises(OSError, match="No space left"):
            file.write(b"x" * 8_192)


def test_where_nobody_knows_more_the_failure_names_the_place_or_how_to_find_it(tmp_path: Path) -> None:
    named = room_lacking(OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "file")))
    nameless = room_lacking(OSError(errno.ENOSPC, "No space left on device"))

    assert str(tmp_path / "file") in named.message
    assert "df -h" in nameless.hint
