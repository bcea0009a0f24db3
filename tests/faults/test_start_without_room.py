"""A server that cannot start for want of room says which disk, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import am
from tests.faults.disks import fill_disk, small_disk


@pytest.mark.parametrize("has_store", [False, True], ids=["a first start", "a later start"])
def test_starting_on_a_full_disk_names_the_disk_and_the_next_step(has_store: bool, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=4096) as disk:
        root = disk / "store"
        if has_store:
            root.mkdir(mode=0o700)
            am("doctor", "check", home=tmp_path, STORAGE_ROOT=str(root))
        fill_disk(disk)

        refused = am("serve", "--port", "0", home=tmp_path, STORAGE_ROOT=str(root))
        left_behind = [path.name for path in root.rglob("*") if path.suffix[1:].isdecimal() or path.suffix == ".new"]

    assert left_behind == []
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"The disk mounted at {disk}, which holds {root}, is full")
    assert "Free some room there" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_database_elsewhere_is_the_one_that_is_named(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=1024) as disk:
        fill_disk(disk)

        refused = am(
            "serve",
            "--port",
            "0",
            home=tmp_path,
            DATABASE_URL=f"sqlite:///{disk}/mail.sqlite3",
            STORAGE_ROOT=str(tmp_path),
        )

    assert str(disk) in refused.stderr
    assert "Traceback" not in refused.stderr
