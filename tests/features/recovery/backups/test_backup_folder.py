from __future__ import annotations

import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.features.recovery.backups.backup import BackupMaker
from mcp_agent_mail.features.recovery.backups.backup_folder import BackupBusy, BackupsOpenToOthers, list_backups
from mcp_agent_mail.features.recovery.backups.manifest import manifest_checksum
from tests.features.recovery.backups.harness import Stored


def test_what_a_killed_backup_left_goes_with_the_next(stored: Stored, tmp_path: Path) -> None:
    left = tmp_path / "backups/.building-0123456789abcdef"
    left.mkdir(parents=True)
    (left / "mail.sqlite3").touch()
    (tmp_path / "backups").chmod(0o700)

    made = stored.back_up(tmp_path / "backups")

    assert {path.name for path in (tmp_path / "backups").iterdir()} == {".lock", made.path.name}


def test_the_oldest_of_this_store_beyond_those_kept_go_and_nothing_else_does(stored: Stored, tmp_path: Path) -> None:
    target = tmp_path / "backups"
    first = stored.back_up(target).path
    foreign = target / "of-another-store"
    shutil.copytree(first, foreign)
    manifest = foreign / "manifest.json"
    said = json.loads(manifest.read_text()) | {"store_id": "another"}
    manifest.write_text(json.dumps(said | {"sha256": manifest_checksum(said)}))
    (target / "photographs").mkdir()

    second, third = stored.back_up(target, keep=2).path, stored.back_up(target, keep=2)

    assert third.removed == (first,)
    assert {path.name for path in target.iterdir()} == {
        ".lock",
        "photographs",
        foreign.name,
        second.name,
        third.path.name,
    }


def test_a_second_backup_at_the_same_time_is_refused(stored: Stored, tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir(mode=0o700)
    held = os.open(tmp_path / "backups/.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)

    with pytest.raises(BackupBusy):
        stored.back_up(tmp_path / "backups")

    os.close(held)


def test_a_folder_that_others_look_into_is_refused_with_the_command(stored: Stored, tmp_path: Path) -> None:
    (tmp_path / "shared/photographs").mkdir(parents=True)
    (tmp_path / "shared").chmod(0o755)

    with pytest.raises(BackupsOpenToOthers, match="Other users"):
        stored.back_up(tmp_path / "shared")


def _at(stored: Stored, target: Path, days: int, *, keep: int = 2, takes_faults: bool = False) -> Path:
    def clock() -> Micros:
        return Micros(system_clock() + days * 86_400 * SECOND)

    return BackupMaker(place=stored.place, clock=clock, takes_faults=takes_faults).make(target, keep=keep).path


def test_a_clock_that_was_set_back_changes_nothing_about_which_backups_are_the_newest(
    stored: Stored, tmp_path: Path
) -> None:
    target = tmp_path / "backups"
    _at(stored, target, 30)
    second, third = _at(stored, target, 0), _at(stored, target, -30)

    assert [one.path for one in list_backups(target)] == [third, second]


def test_backups_of_a_store_at_fault_drive_out_none_that_was_verified(stored: Stored, tmp_path: Path) -> None:
    target = tmp_path / "backups"
    good = [_at(stored, target, 0), _at(stored, target, 0)]
    for content in (stored.harness.root / "attachments").glob("??/*"):
        content.write_bytes(b"spoilt")
    for pack in stored.harness.path(stored.project).glob(".git/objects/pack/*"):
        pack.unlink()

    bad = [_at(stored, target, 0, takes_faults=True) for _ in range(3)]

    assert [one.path for one in list_backups(target)] == [*bad[:0:-1], *good[::-1]]
