from __future__ import annotations

import hashlib
import json
import shutil
import stat
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.features.recovery.backups.backup import ArchiveMissing, BackupMaker, BackupUnfit
from mcp_agent_mail.features.recovery.backups.backup_folder import list_backups
from mcp_agent_mail.features.recovery.backups.manifest import check_backup, read_manifest
from tests.archive.one_archive import add_commit, begin
from tests.archive_harness import Killed, killed_at
from tests.features.recovery.backups.harness import Stored
from tests.on_disk import OnDisk
from tests.workspace.lending import lent_below

POINTS = [FailPoint.BACKUP_DATABASE, FailPoint.BACKUP_FILE, FailPoint.BACKUP_WRITTEN, FailPoint.BACKUP_VERIFIED]


def test_a_backup_is_whole_verified_and_its_owners_alone(stored: Stored, tmp_path: Path) -> None:
    made = stored.back_up(tmp_path / "backups")

    manifest = read_manifest(made.path)
    assert (made.verified, made.projects, made.messages, made.findings) == (True, 2, 1, ())
    assert (manifest.store_id, manifest.bytes) == (stored.harness.store_id, made.bytes)
    assert list(check_backup(made.path, manifest)) == []
    assert [one.path for one in list_backups(tmp_path / "backups")] == [made.path]
    for path in (made.path.parent, made.path, *made.path.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_backup_is_on_disk_with_its_folders_and_its_name(
    stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk = OnDisk(monkeypatch)

    made = stored.back_up(tmp_path / "backups")

    assert on_disk.lacks(made.path) == []
    assert on_disk.has(made.path.parent)


def test_of_adopted_archives_those_of_this_store_alone_are_taken_and_no_copy_beside_an_archive(
    stored: Stored, tmp_path: Path
) -> None:
    root, own = stored.harness.root, stored.harness.path(stored.project)
    for place in ("projects", "adopted"):
        shutil.copytree(own, root / place / f"{place}-own")
        other = begin(root / place / f"{place}-of-another")
        add_commit(other, {"archive.json": json.dumps({"store_id": "another"}).encode()})
        add_commit(begin(root / place / f"{place}-of-nobody"), {"notes.md": b"notes"})

    made = stored.back_up(tmp_path / "backups")

    adopted = {archive.slug for archive in read_manifest(made.path).archives if archive.is_adopted}
    assert adopted == {"adopted-own"}
    assert {path.stem for path in (made.path / "adopted").iterdir()} == adopted


def test_nothing_of_a_backup_is_lent_in_a_directory_of_a_project_nor_while_it_is_made(
    stored: Stored, tmp_path: Path
) -> None:
    target = tmp_path / "code" / "backups"
    target.mkdir(parents=True, mode=0o700)
    meanwhile: set[str] = set()

    def look(_point: FailPoint) -> None:
        meanwhile.update(lent_below(tmp_path / "code"))

    made = BackupMaker(place=stored.place, fault_hook=look).make(target, keep=7)
    (tmp_path / "code" / "notes.txt").touch()

    assert {path.name for path in made.path.iterdir()} >= {"mail.sqlite3", "archives", "manifest.json"}
    assert meanwhile <= {"backups/.lock"}
    assert lent_below(tmp_path / "code") == {"backups/.lock", "notes.txt"}
    (made.path / "mail.sqlite3").rename(tmp_path / "code" / "holiday.jpg")
    assert "holiday.jpg" not in lent_below(tmp_path / "code")


def test_what_was_not_in_git_yet_is_in_the_backup_all_the_same(stored: Stored, tmp_path: Path) -> None:
    stored.harness.send(stored.blue, [stored.red], subject="not in Git")

    assert stored.back_up(tmp_path / "backups").messages == 2


def test_an_archive_that_has_gone_on_since_the_copy_comes_along_as_the_copy_knows_it(
    stored: Stored, tmp_path: Path
) -> None:
    before = stored.harness.connection.execute("SELECT max(last_seq) FROM commits").fetchone()

    def go_on(point: FailPoint) -> None:
        if point is FailPoint.BACKUP_DATABASE and stored.harness.verify().pending_events == 0:
            stored.send("later")

    made = BackupMaker(place=stored.place, fault_hook=go_on).make(tmp_path / "backups", keep=7)

    assert stored.harness.connection.execute("SELECT max(last_seq) FROM commits").fetchone() > before
    assert (made.verified, made.messages) == (True, 1)


@pytest.mark.parametrize("point", POINTS)
def test_a_backup_that_ends_early_leaves_nothing(point: FailPoint, stored: Stored, tmp_path: Path) -> None:
    maker = BackupMaker(place=stored.place, fault_hook=killed_at(point))

    with pytest.raises(Killed):
        maker.make(tmp_path / "backups", keep=7)

    assert [path.name for path in (tmp_path / "backups").iterdir()] == [".lock"]


def test_a_store_at_fault_is_not_backed_up_unless_it_is_taken_as_it_is(stored: Stored, tmp_path: Path) -> None:
    stored.harness.connection.execute("UPDATE agents SET unread_count = 7 WHERE name = 'BlueLake'")

    with pytest.raises(BackupUnfit, match="counters wrong"):
        stored.back_up(tmp_path / "backups")

    assert not list_backups(tmp_path / "backups")
    made = BackupMaker(place=stored.place, takes_faults=True).make(tmp_path / "backups", keep=7)
    assert not made.verified
    assert "its counter says 7" in made.findings[0]


@pytest.mark.parametrize("fault", ["UPDATE agents SET status = 'gone'", "UPDATE agents SET unread_count = 7"])
def test_a_fault_is_told_of_the_store_and_not_of_a_copy_that_is_gone(
    fault: str, stored: Stored, tmp_path: Path
) -> None:
    stored.harness.connection.execute(fault)

    with pytest.raises(BackupUnfit) as refused:
        stored.back_up(tmp_path / "backups")

    assert f": {stored.place.database_path}: agent" in refused.value.message
    assert ".building-" not in f"{refused.value.text} {refused.value.data}"
    assert "Take a backup" not in refused.value.hint


def test_a_content_that_is_nowhere_is_told_of_by_where_the_store_has_it(stored: Stored, tmp_path: Path) -> None:
    stored.harness.send(stored.blue, [stored.red], carried=[b"not in Git yet"])
    sha256 = hashlib.sha256(b"not in Git yet").hexdigest()
    (stored.place.storage_root / "attachments" / sha256[:2] / sha256).unlink()

    made = BackupMaker(place=stored.place, takes_faults=True).make(tmp_path / "backups", keep=7)

    assert any(str(stored.place.storage_root / "attachments") in told for told in made.findings), made.findings
    assert not any(".building-" in told for told in made.findings)


def test_a_lost_archive_is_named(stored: Stored, tmp_path: Path) -> None:
    shutil.rmtree(stored.harness.path(stored.project) / ".git")

    with pytest.raises(ArchiveMissing, match=stored.project.slug):
        stored.back_up(tmp_path / "backups")

    made = BackupMaker(place=stored.place, takes_faults=True).make(tmp_path / "backups", keep=7)
    assert not made.verified
