from __future__ import annotations

import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.backups.backup_folder import BackupBusy, BackupsOpenToOthers
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
