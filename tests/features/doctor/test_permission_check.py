"""What is said of a store that is mounted read-only, in whole or in part."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.features.doctor.permission_check import find_permissions
from tests.faults.disks import read_only, require_mounts, small_disk


@pytest.fixture
def root(tmp_path: Path) -> Path:
    require_mounts()
    root = tmp_path / "store"
    for slug in ("shop", "ship"):
        (root / "projects" / slug / ".git" / "objects").mkdir(parents=True)
    for name in ("mail.sqlite3", "server.lock"):
        (root / name).touch(mode=0o600)
    root.chmod(0o700)
    return root


def told(root: Path, database: Path | None = None) -> list[tuple[str, str | None]]:
    return [(one.problem, one.path) for one in find_permissions(root, database or root / "mail.sqlite3")]


def test_a_store_that_is_mounted_read_only_is_one_finding(root: Path) -> None:
    with read_only(root):
        (finding,) = find_permissions(root, root / "mail.sqlite3")

    assert (finding.problem, finding.path) == ("read-only", str(root))
    assert finding.evidence.startswith(f"{root} cannot be written")
    assert finding.evidence.endswith("it is mounted read-only.")
    assert finding.next_step.startswith("Mount it for writing")
    assert told(root) == []


def test_it_is_the_mount_that_is_named_and_not_the_store_within(root: Path) -> None:
    with read_only(root.parent):
        assert told(root) == [("read-only", str(root.parent))]


@pytest.mark.parametrize("part", ["projects", "projects/shop", "mail.sqlite3"])
def test_of_a_part_that_is_mounted_read_only_the_part_is_named(root: Path, part: str) -> None:
    with read_only(root / part):
        assert told(root) == [("read-only", str(root / part))]


def test_two_mounts_are_two_findings(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    database = elsewhere / "mail.sqlite3"
    database.touch(mode=0o600)

    with read_only(root / "projects"), read_only(elsewhere):
        assert told(root, database) == [("read-only", str(elsewhere)), ("read-only", str(root / "projects"))]


def test_a_disk_of_its_own_is_named_though_what_it_is_mounted_in_is_read_only_too(tmp_path: Path) -> None:
    require_mounts()
    disk = tmp_path / "disk"
    disk.mkdir()

    with read_only(tmp_path), small_disk(disk, size_kib=64):
        (disk / "mail.sqlite3").touch(mode=0o600)
        with read_only(disk):
            assert told(disk) == [("read-only", str(disk))]
