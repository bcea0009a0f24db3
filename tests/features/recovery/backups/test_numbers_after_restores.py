from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.given_numbers import archived_up_to
from mcp_agent_mail.store.engine.sqlite.numbers import GAP, read_numbers
from tests.features.recovery.backups.harness import Stored, faults_in, restorer_of, subjects_in

KINDS = ("messages", "agents", "outbox")


def _lose(database: Path) -> None:
    database.unlink()


def _cut(database: Path) -> None:
    with database.open("r+b") as file:
        file.truncate(4_096)


def _empty(database: Path) -> None:
    database.write_bytes(b"")


def _spoil_archive(database: Path) -> None:
    """And one of its archives with it, by which the rest is still known."""
    database.unlink()
    for pack in (database.parent / "projects").glob("*lib*/.git/objects/pack/*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(b"spoilt")


LOST: dict[str, Callable[[Path], None]] = {
    "gone": _lose,
    "cut": _cut,
    "empty": _empty,
    "gone with an archive": _spoil_archive,
}


@pytest.mark.parametrize("name", LOST)
def test_over_a_lost_database_numbers_go_on_above_what_its_archives_show(
    name: str, went_on: StorePlace, backup: Path
) -> None:
    before = read_numbers(went_on.database_path)
    assert before is not None
    for end in ("-wal", "-shm"):
        went_on.database_path.with_name(f"{went_on.database_path.name}{end}").unlink(missing_ok=True)
    LOST[name](went_on.database_path)

    restorer_of(went_on).restore(backup)

    after = read_numbers(went_on.database_path)
    assert after is not None
    assert all(after.sequences[kind] >= before.sequences[kind] + GAP for kind in KINDS)
    assert all(after.counters[name] >= number + GAP for name, number in before.counters.items())
    assert faults_in(went_on) == []


def test_where_nothing_else_is_known_they_go_on_above_those_of_the_backup(tmp_path: Path, backup: Path) -> None:
    given = read_numbers(backup / "mail.sqlite3")
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    place = StorePlace(storage_root=tmp_path / "elsewhere", database_path=tmp_path / "elsewhere/mail.sqlite3")

    restorer_of(place).restore(backup)

    after = read_numbers(place.database_path)
    assert given is not None
    assert after is not None
    assert all(after.sequences[kind] >= given.sequences[kind] + GAP for kind in KINDS)


def test_numbers_of_a_store_that_was_replaced_before_count_where_the_present_one_is_lost(
    went_on: StorePlace, backup: Path
) -> None:
    restorer = restorer_of(went_on)
    restorer.restore(backup)
    restorer.undo()
    kept = next((went_on.storage_root / "undo").iterdir()) / went_on.database_path.name
    known = read_numbers(kept)
    went_on.database_path.unlink()
    shutil.rmtree(went_on.storage_root / "projects")

    restorer.restore(backup)

    after = read_numbers(went_on.database_path)
    assert known is not None
    assert after is not None
    assert after.sequences["messages"] >= known.sequences["messages"] + GAP


def test_going_back_after_the_database_was_lost_gives_no_number_twice(went_on: StorePlace, backup: Path) -> None:
    restorer = restorer_of(went_on)
    restorer.restore(backup)
    given = read_numbers(went_on.database_path)
    went_on.database_path.unlink()

    restorer.undo()

    after = read_numbers(went_on.database_path)
    assert given is not None
    assert after is not None
    assert after.sequences["messages"] > given.sequences["messages"]
    assert subjects_in(went_on) == ["Plan", "after the backup"]


def test_an_older_copy_in_place_does_not_hide_what_archives_show(stored: Stored, backup: Path, tmp_path: Path) -> None:
    stored.harness.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(stored.harness.database, tmp_path / "older")
    stored.send("lost with the database")
    place, up_to = stored.place, archived_up_to(stored.place.storage_root)
    for end in ("", "-wal", "-shm"):
        place.database_path.with_name(f"{place.database_path.name}{end}").unlink(missing_ok=True)
    shutil.copy(tmp_path / "older", place.database_path)

    restorer_of(place).restore(backup)

    after = read_numbers(place.database_path)
    assert after is not None
    assert after.sequences["outbox"] >= up_to + GAP


def test_a_second_restore_goes_on_above_the_first_one_though_the_database_between_knows_all_archives(
    went_on: StorePlace, backup: Path
) -> None:
    restorer = restorer_of(went_on)
    whole = went_on.database_path.read_bytes()
    restorer.restore(backup)
    given = read_numbers(went_on.database_path)
    restorer.undo()
    went_on.database_path.write_bytes(whole)

    restorer.restore(backup)

    after = read_numbers(went_on.database_path)
    assert given is not None
    assert after is not None
    assert all(after.sequences[kind] >= given.sequences[kind] + GAP for kind in KINDS)
    assert all(after.counters[name] >= number + GAP for name, number in given.counters.items())
