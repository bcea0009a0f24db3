from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.offline.backups import (
    back_up_offline,
    list_backups_offline,
    repair_offline,
    restore_offline,
)
from mcp_agent_mail.cli.offline.store_lock import StoreOccupied
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.archiving.lost_database import DatabaseLost
from mcp_agent_mail.features.recovery.backups.backup import BackupMaker, untold
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.archive_harness import open_archive_harness
from tests.cli.shell import Shell


@pytest.fixture
def settings(at_stopped: Shell) -> Settings:
    return at_stopped.context().settings


def test_a_backup_beside_whoever_owns_the_store_is_listed_and_is_what_a_restore_takes(settings: Settings) -> None:
    priority = os.getpriority(os.PRIO_PROCESS, 0)
    with StoreLock(settings.storage_root, settings.database_path):
        made = back_up_offline(settings, None, 7, untold)
        with pytest.raises(StoreOccupied):
            restore_offline(settings, Path(made["path"]), untold)
        with pytest.raises(StoreOccupied):
            repair_offline(settings, dry_run=True, told=untold)

    (listed,) = list_backups_offline(settings, None, reads_all=True)
    restored = restore_offline(settings, Path(made["path"]), untold)

    assert (listed["path"], listed["faults"], listed["messages"]) == (made["path"], [], made["messages"])
    assert (restored["verified"], restored["problem"]) == (True, None)
    assert "to_move_back" not in restored
    assert os.getpriority(os.PRIO_PROCESS, 0) == priority


def test_where_there_is_no_store_there_is_nothing_to_back_up(settings: Settings) -> None:
    settings.database_path.unlink()
    with pytest.raises(DatabaseLost):
        back_up_offline(settings, None, 7, untold)
    (settings.storage_root / "projects").rename(settings.storage_root / "elsewhere")

    with pytest.raises(NoServer):
        back_up_offline(settings, None, 7, untold)


@pytest.mark.parametrize(("place", "code"), [("nowhere", "NOT_FOUND"), ("file", "INVALID_INPUT")])
def test_backups_are_looked_for_in_a_folder_that_is_there(
    at_stopped: Shell, tmp_path: Path, place: str, code: str
) -> None:
    (tmp_path / "file").touch()

    named = at_stopped.am("doctor", "backups", "--to", str(tmp_path / place))
    default = at_stopped.am("doctor", "backups")

    assert (named.code, f"Error ({code})" in named.err) == (1, True)
    assert (default.code, default.out) == (0, "")


def test_who_gets_files_into_the_store_that_lay_in_a_directory_is_told_how_they_go_back(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "first").mkdir(mode=0o700)
    with open_archive_harness(tmp_path / "first") as harness:
        harness.in_workspace = True
        project = harness.add_project(str(tmp_path / "code"))
        harness.archive()
    first = StorePlace(storage_root=tmp_path / "first", database_path=harness.database)
    made = BackupMaker(place=first).make(tmp_path / "backups", keep=1)
    root = tmp_path / "empty"
    empty = replace(settings, storage_root=root, database_url=f"sqlite:///{root}/mail.sqlite3")

    restored = restore_offline(empty, made.path, untold)

    assert restored["now_in_store"] == [project.slug]
    assert "`am archive renew`" in restored["to_move_back"]
    assert "ARCHIVE_LOCATION=workspace" in restored["to_move_back"]
