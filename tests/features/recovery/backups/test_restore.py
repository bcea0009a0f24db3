from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.features.recovery.backups.manifest import NewerBackup, UnreadableBackup, manifest_checksum
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.backups.restore_refusals import RestoreUnfit
from mcp_agent_mail.features.recovery.backups.source import ForeignBackup
from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.sqlite.numbers import GAP, read_numbers
from tests.archive_harness import Killed, killed_at, open_archive_harness
from tests.features.recovery.backups.harness import Stored, faults_in, files_below, restorer_of, subjects_in

POINTS = [
    *(FailPoint.RESTORE_BUILT, FailPoint.SWAP_BEGUN, FailPoint.SWAP_KEPT),
    *(FailPoint.SWAP_MOVED, FailPoint.SWAP_PLACED),
]


def test_a_restored_store_is_that_of_the_backup_and_clean(went_on: StorePlace, backup: Path) -> None:
    done = restorer_of(went_on).restore(backup)

    assert (done.verified, done.messages, done.projects, done.findings) == (True, 1, 2, ())
    assert subjects_in(went_on) == ["Plan"]
    assert faults_in(went_on) == []
    assert not (went_on.storage_root / "restoring").exists()


def test_no_number_that_the_replaced_store_gave_out_is_given_again(went_on: StorePlace, backup: Path) -> None:
    before = read_numbers(went_on.database_path)
    assert before is not None

    restorer_of(went_on).restore(backup)

    after = read_numbers(went_on.database_path)
    assert after is not None
    assert {name: after.sequences[name] - number for name, number in before.sequences.items()} == dict.fromkeys(
        before.sequences, GAP
    )
    assert after.counters == {name: number + GAP for name, number in before.counters.items()}


def test_mail_goes_on_in_a_restored_store(stored: Stored, went_on: StorePlace, backup: Path) -> None:
    restorer_of(went_on).restore(backup)

    with open_archive_harness(went_on.storage_root) as harness:
        message = harness.send(stored.blue, [stored.red], subject="and on")
        assert harness.archive() == 0

    assert message.id > GAP
    assert faults_in(went_on) == []


def test_an_empty_place_takes_any_backup(tmp_path: Path, backup: Path) -> None:
    root = tmp_path / "elsewhere"
    place = StorePlace(storage_root=root, database_path=root / "mail.sqlite3")

    with StoreLock(root, place.database_path):
        done = restorer_of(place).restore(backup)

    assert (done.undo, faults_in(place)) == (None, [])


def test_a_page_that_was_due_at_the_backup_is_written_in_the_restored_store(tmp_path: Path) -> None:
    with open_archive_harness(tmp_path / "store") as harness:
        project = harness.add_project("/code/app")
        blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
        with harness.drain() as drain:
            for subject in ("One", "Two"):
                harness.send(blue, [red], subject=subject, thread_id="plan")
                harness.clock.step(1)
                drain.step()
                harness.clock.step(1)
                drain.step()
        made = Stored(harness, project, blue, red).back_up(tmp_path / "backups")
    root = tmp_path / "elsewhere"
    place = StorePlace(storage_root=root, database_path=root / "mail.sqlite3")
    with StoreLock(root, place.database_path):
        restorer_of(place).restore(made.path)
    page = root / "projects" / project.slug / "messages" / "threads" / "plan.md"
    assert "Two" not in page.read_text()

    with open_archive_harness(root) as harness:
        assert harness.archive() == 0

    assert "Two" in page.read_text()
    assert faults_in(place) == []


@pytest.mark.parametrize("point", POINTS)
def test_a_restore_that_ends_anywhere_leaves_one_store_whole(
    point: FailPoint, went_on: StorePlace, backup: Path
) -> None:
    restorer = restorer_of(went_on, fault_hook=killed_at(point))

    with pytest.raises(Killed):
        restorer.restore(backup)
    with StoreLock(went_on.storage_root, went_on.database_path):
        found = subjects_in(went_on)

    old, new = ["Plan", "after the backup"], ["Plan"]
    assert found == (old if point is FailPoint.RESTORE_BUILT else new)
    assert faults_in(went_on) == []
    restorer_of(went_on).restore(backup)
    assert faults_in(went_on) == []


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(content)


def _change(backup: Path, **fields: object) -> None:
    manifest = backup / "manifest.json"
    said = json.loads(manifest.read_text()) | fields
    manifest.write_text(json.dumps(said | {"sha256": manifest_checksum(said)}))


def _extra(backup: Path) -> None:
    (backup / "attachments/extra").touch()


def _missing(backup: Path) -> None:
    next((backup / "archives").iterdir()).unlink()


def _link(backup: Path) -> None:
    place = backup / "mail.sqlite3"
    place.rename(backup.parent / "moved")
    place.symlink_to(backup.parent / "moved")


def _outside(backup: Path) -> None:
    archive = json.loads((backup / "manifest.json").read_text())["archives"][0]
    _change(backup, archives=[archive | {"slug": "../../elsewhere"}])


BAD = {
    "extra": (_extra, UnreadableBackup),
    "missing": (_missing, UnreadableBackup),
    "a link": (_link, UnreadableBackup),
    "a slug that leads out": (_outside, UnreadableBackup),
    "no manifest": (lambda backup: (backup / "manifest.json").write_text("[]"), UnreadableBackup),
    "newer format": (lambda backup: _change(backup, version=2), NewerBackup),
    "newer schema": (lambda backup: _change(backup, schema_version=9_999), NewerBackup),
    "other store": (lambda backup: _change(backup, store_id="another"), ForeignBackup),
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_newer_or_foreign_source_changes_nothing(name: str, went_on: StorePlace, backup: Path) -> None:
    spoil, error = BAD[name]
    before = files_below(went_on.storage_root)
    spoil(backup)

    with pytest.raises(error):
        restorer_of(went_on).restore(backup)

    assert files_below(went_on.storage_root) == before


def _reseal(backup: Path, **fields: object) -> None:
    """A backup whose files are as its checksums say, whatever is in them."""
    paths = sorted(path for path in files_below(backup) if path not in ("manifest.json", "checksums.txt"))
    lines = []
    for path in paths:
        content = (backup / path).read_bytes()
        lines.append(f"{hashlib.sha256(content).hexdigest()}  {len(content)}  {path}\n")
    listing = backup / "checksums.txt"
    listing.chmod(0o600)
    listing.write_text("".join(lines))
    _change(backup, checksums_sha256=hashlib.sha256(listing.read_bytes()).hexdigest(), **fields)


def _ask(backup: Path, statement: str) -> None:
    database = backup / "mail.sqlite3"
    database.chmod(0o600)
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute(statement)


def _other_hour(backup: Path) -> None:
    _ask(backup, "UPDATE messages SET created_ts = created_ts - 3600000000")


def _other_store(backup: Path) -> None:
    _ask(backup, "UPDATE meta SET value = 'another' WHERE key = 'store_id'")


def _no_pages(backup: Path) -> None:
    database = backup / "mail.sqlite3"
    database.chmod(0o600)
    content = database.read_bytes()
    database.write_bytes(content[:8192] + bytes([255]) * (len(content) - 8192))


def _no_archive(backup: Path) -> None:
    """And the manifest says so."""
    archives = json.loads((backup / "manifest.json").read_text())["archives"]
    next((backup / "archives").glob("code-app*")).unlink()
    _change(backup, archives=[one | {"commit": None} if one["slug"] == "code-app" else one for one in archives])


LYING = {
    "mail of another hour than in its archives": (_other_hour, {}, RestoreUnfit, "is at fault: (?!it)"),
    "no archive of mail that it has": (_no_archive, {}, RestoreUnfit, "code-app"),
    "pages that are none": (_no_pages, {}, RestoreUnfit, "cannot read it"),
    "another store in its database": (_other_store, {}, UnreadableBackup, "of another store than its manifest says"),
    "an older schema": (lambda _: None, {"schema_version": 1}, UnreadableBackup, "than its manifest says"),
}


@pytest.mark.parametrize("name", LYING)
def test_a_backup_that_is_not_what_it_says_changes_nothing_however_right_its_checksums_are(
    name: str, went_on: StorePlace, backup: Path
) -> None:
    spoil, said, error, words = LYING[name]
    before = files_below(went_on.storage_root)
    spoil(backup)
    _reseal(backup, **said)

    with pytest.raises(error, match=words):
        restorer_of(went_on).restore(backup)

    assert files_below(went_on.storage_root) == before
