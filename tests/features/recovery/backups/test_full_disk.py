from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.features.recovery.backups.manifest import read_manifest
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from tests.faults.disks import fill_disk, small_disk
from tests.features.recovery.backups.harness import Stored, faults_in, files_below, restorer_of, subjects_in


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_a_backup_for_which_there_is_no_room_leaves_nothing(
    share: float, stored: Stored, backup: Path, tmp_path: Path
) -> None:
    size_kib = int(share * read_manifest(backup).bytes) // 1024

    with small_disk(tmp_path / "disk", size_kib=size_kib) as disk:
        with pytest.raises((AgentMailError, OSError)):
            stored.back_up(disk)

        assert [path.name for path in disk.iterdir()] == [".lock"]


def test_a_restore_for_which_there_is_no_room_changes_nothing(backup: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=16 * 1024) as disk:
        root = disk / "store"
        place = StorePlace(storage_root=root, database_path=root / "mail.sqlite3")
        root.mkdir(mode=0o700)
        restorer_of(place).restore(backup)
        before = files_below(root)
        ballast = fill_disk(disk)

        with pytest.raises((AgentMailError, OSError)):
            restorer_of(place).restore(backup)

        assert files_below(root) == before
        ballast.unlink()
        restorer_of(place).restore(backup)
        assert (subjects_in(place), faults_in(place)) == (["Plan"], [])
