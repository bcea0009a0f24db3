"""A server that cannot start for want of room says which disk, and what to do."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.command_line import am
from tests.faults.disks import fill_disk, small_disk
from tests.served import Served


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


def test_however_few_bytes_are_left_a_start_goes_on_or_names_the_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "store", size_kib=6_144) as root:
        server = Served(root, HOME=str(tmp_path))
        server.start()
        server.stop()
        ballast = fill_disk(root)
        for free_kib in (4, 8, 12, 24, 40):
            os.truncate(ballast, ballast.stat().st_size - free_kib * 1024)
            server.log.write_bytes(b"")
            server.spawn()
            is_up = server.await_ready()
            said = server.log.read_text()
            server.kill()

            assert "Traceback" not in said, (free_kib, said)
            assert is_up or said.startswith(f"The disk mounted at {root}, which holds {root}, is full"), (
                free_kib,
                said,
            )
            fill_disk_again(ballast)


def fill_disk_again(ballast: Path) -> None:
    with ballast.open("ab", buffering=0) as file, suppress(OSError):
        while file.write(b"\0" * 512) == 512:
            pass
