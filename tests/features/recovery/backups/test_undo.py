from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.features.recovery.backups.backup import untold
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.backups.undo import NothingToUndo
from mcp_agent_mail.features.recovery.rebuilt_store import StoreCopyPlan, rebuild_into
from mcp_agent_mail.store.engine.sqlite.schema import ForeignParts
from mcp_agent_mail.store.engine.sqlite.swap_places import SwapRefused
from tests.archive_harness import open_archive_harness
from tests.features.recovery.backups.harness import Stored, faults_in, restorer_of, subjects_in
from tests.names_beside import NamesBeside


def test_undo_brings_back_what_was_replaced_and_can_be_undone(went_on: StorePlace, backup: Path) -> None:
    restorer = restorer_of(went_on)
    first = restorer.restore(backup)

    second = restorer.undo()
    assert subjects_in(went_on) == ["Plan", "after the backup"]
    assert faults_in(went_on) == []

    restorer.undo()
    assert subjects_in(went_on) == ["Plan"]
    assert faults_in(went_on) == []
    assert first.undo != second.undo
    assert len(list((went_on.storage_root / "undo").iterdir())) == 1


def test_a_second_restore_keeps_the_store_that_served_and_a_third_says_what_it_removes(
    went_on: StorePlace, backup: Path
) -> None:
    restorer = restorer_of(went_on)
    first, second = restorer.restore(backup), restorer.restore(backup)
    assert first.undo is not None
    kept = StorePlace(storage_root=first.undo, database_path=first.undo / went_on.database_path.name)

    assert subjects_in(kept) == ["Plan", "after the backup"]
    assert second.removed == ()

    third = restorer.restore(backup)
    assert third.removed == (first.undo,)
    assert set((went_on.storage_root / "undo").iterdir()) == {second.undo, third.undo}


def test_where_nothing_was_replaced_there_is_nothing_to_undo(went_on: StorePlace) -> None:
    with pytest.raises(NothingToUndo):
        restorer_of(went_on).undo()


def test_a_database_that_lies_elsewhere_is_replaced_there(went_on: StorePlace, tmp_path: Path, backup: Path) -> None:
    (tmp_path / "apart").mkdir()
    place = StorePlace(storage_root=went_on.storage_root, database_path=tmp_path / "apart/store.db")
    shutil.move(went_on.database_path, place.database_path)
    names = NamesBeside(place.database_path)
    restorer = restorer_of(place, fault_hook=names)

    restorer.restore(backup)
    assert (subjects_in(place), faults_in(place)) == (["Plan"], [])

    restorer.undo()
    assert subjects_in(place) == ["Plan", "after the backup"]
    assert len([path for path in (tmp_path / "apart").iterdir() if not path.name.endswith(("-wal", "-shm"))]) == 2
    assert names.strangers() == []
    assert {".store.db.restoring"} < {name for name in names.seen if not name.startswith("store.db.undo-")}


def test_whatever_the_clock_says_undo_takes_the_store_that_was_replaced_last(stored: Stored, backup: Path) -> None:
    stored.send("A-mail")
    restorer = stored.restorer()
    replace(restorer, clock=lambda: Micros(system_clock() + 86_400 * SECOND)).restore(backup)
    with open_archive_harness(stored.harness.root) as harness:
        harness.send(stored.blue, [stored.red], subject="B-mail")
        harness.archive()
    restorer.restore(backup)

    back = restorer.undo()

    assert subjects_in(stored.place) == ["Plan", "B-mail"]
    assert (back.messages, back.newest_mail is not None, back.has_database) == (2, True, True)


def test_a_store_without_a_database_is_put_back_and_that_is_told(went_on: StorePlace, backup: Path) -> None:
    went_on.database_path.unlink()
    restorer = restorer_of(went_on)
    restorer.restore(backup)

    back = restorer.undo()

    assert (back.has_database, back.messages) == (False, None)
    restorer.undo()
    assert subjects_in(went_on) == ["Plan"]


def test_a_link_that_was_put_aside_is_gone_back_to_once_what_it_leads_to_is_there(
    went_on: StorePlace, backup: Path, tmp_path: Path
) -> None:
    projects = went_on.storage_root / "projects"
    projects.rename(tmp_path / "another disk")
    projects.symlink_to(tmp_path / "another disk")
    restorer_of(went_on).restore(backup)
    (undo,) = (went_on.storage_root / "undo").iterdir()

    with pytest.raises(SwapRefused, match="not a folder itself") as told:
        restorer_of(went_on).undo()

    assert "put what it leads to in its place" in told.value.hint
    assert (subjects_in(went_on), faults_in(went_on)) == (["Plan"], [])
    (undo / "projects").unlink()
    (tmp_path / "another disk").rename(undo / "projects")
    restorer_of(went_on).undo()
    assert (subjects_in(went_on), faults_in(went_on)) == (["Plan", "after the backup"], [])


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("CREATE TRIGGER heard AFTER INSERT ON messages BEGIN SELECT 1; END", "heard is not of this program"),
        ("DROP INDEX outbox_oldest", "outbox_oldest is missing"),
    ],
)
def test_a_restore_over_a_changed_schema_says_that_undo_is_refused_and_what_to_do_instead(
    stored: Stored, went_on: StorePlace, backup: Path, tmp_path: Path, statement: str, what: str
) -> None:
    stored.harness.connection.execute(statement)
    stored.harness.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    restorer = restorer_of(went_on)

    done = restorer.restore(backup)
    with pytest.raises(ForeignParts, match=what) as refused:
        restorer.undo()

    assert done.undo is not None
    for told in (done.no_undo, refused.value.text):
        assert what in told
        assert f"STORAGE_ROOT={done.undo} am doctor rebuild --into DIR" in told
        assert f"sqlite3 {done.undo}/mail.sqlite3" in told
    rebuild_into(done.undo, tmp_path / "made", StoreCopyPlan(most_files=1_000), told=untold)
    restorer.restore(tmp_path / "made")
    assert subjects_in(went_on) == ["Plan", "after the backup"]


def test_a_restore_over_a_store_of_ours_says_nothing_of_the_way_back(went_on: StorePlace, backup: Path) -> None:
    assert restorer_of(went_on).restore(backup).no_undo == ""
