from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mcp_agent_mail.archive.contents import MissingContents
from mcp_agent_mail.archive.recovery import LACKED_NOTE
from mcp_agent_mail.core.git.process import GitDiskFull
from mcp_agent_mail.domain.attachments import StoredContent
from mcp_agent_mail.features.archiving.lost_database import DatabaseLost
from mcp_agent_mail.features.recovery.backups.backup_folder import list_backups
from mcp_agent_mail.features.recovery.backups.git_repair import renew_pack_indexes, unindexable
from mcp_agent_mail.features.recovery.backups.repair import Repairer, RepairReport
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.archive_harness import git
from tests.faults.disks import fill_disk, small_disk
from tests.features.recovery.backups.harness import NOTES, Stored, faults_in, files_below
from tests.features.recovery.harness import change, text_of
from tests.stored_contents import content_path, keep_content


def _repair(stored: Stored, *, dry_run: bool = False) -> RepairReport:
    place = stored.place
    repairer = Repairer(
        place=place, archiver=stored.harness.settings, backups=place.storage_root.parent / "backups", keep=7
    )
    with StoreLock(place.storage_root, place.database_path):
        return asyncio.run(repairer.repair(dry_run=dry_run))


def _miscount(stored: Stored) -> None:
    stored.harness.connection.execute("UPDATE agents SET unread_count = 7, inbox_count = 9 WHERE name = 'BlueLake'")


def _forget_words(stored: Stored) -> None:
    stored.harness.connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')")


def _edit(stored: Stored) -> None:
    place = next(stored.harness.path(stored.project).rglob("profile.json"))
    place.unlink()
    place.write_text("edited")


def _lose_file(stored: Stored) -> None:
    next((stored.harness.path(stored.project) / "messages").rglob("*.md")).unlink()


def _lose_archive(stored: Stored) -> None:
    shutil.rmtree(stored.harness.path(stored.project))


def _lose_pack_index(stored: Stored) -> None:
    for index in (stored.harness.path(stored.project) / ".git/objects/pack").glob("*.idx"):
        index.unlink()


def _tear_index(stored: Stored) -> None:
    (stored.harness.path(stored.project) / ".git/index").write_bytes(b"torn")


def _lose_content(stored: Stored) -> None:
    _content(stored).unlink()


def _spoil_content(stored: Stored) -> None:
    _content(stored).write_bytes(NOTES.upper())


def _content(stored: Stored) -> Path:
    return content_path(stored.harness.root, keep_content(stored.harness.root, NOTES))


def _open_to_others(stored: Stored) -> None:
    stored.harness.database.chmod(0o644)


FAULTS: dict[str, tuple[Callable[[Stored], None], str]] = {
    "counters": (_miscount, "database: counters"),
    "search index": (_forget_words, "database: search index"),
    "a file that was edited": (_edit, "work tree"),
    "a file that was removed": (_lose_file, "work tree"),
    "a lost archive": (_lose_archive, "lost"),
    "a lost index of a pack": (_lose_pack_index, "pack index"),
    "a torn index": (_tear_index, ": index"),
    "a lost content": (_lose_content, "attachment"),
    "a damaged content": (_spoil_content, "attachment"),
    "permissions": (_open_to_others, "permissions"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_follows_from_the_rest_is_made_anew_after_a_backup(name: str, stored: Stored) -> None:
    spoil, what = FAULTS[name]
    spoil(stored)

    planned = _repair(stored, dry_run=True)
    done = _repair(stored)

    assert any(what in one.what for one in planned.repaired)
    assert [one.what for one in done.repaired] == [one.what for one in planned.repaired]
    assert (done.left, planned.backup) == ((), None)
    assert [one.path for one in list_backups(stored.place.storage_root.parent / "backups")] == [done.backup]
    assert faults_in(stored.place) == []
    assert git(stored.harness.path(stored.project), "status", "--porcelain") == ""


def test_a_store_without_faults_is_left_alone(stored: Stored) -> None:
    before = files_below(stored.place.storage_root / "projects")

    assert _repair(stored) == RepairReport(repaired=(), left=(), backup=None)

    assert files_below(stored.place.storage_root / "projects") == before


def _spoil_pack(stored: Stored) -> None:
    packs = (stored.harness.path(stored.project) / ".git/objects/pack").glob("*.pack")
    pack = max(packs, key=lambda one: one.stat().st_size)
    content = bytearray(pack.read_bytes())
    for at in range(len(content) // 2, len(content) // 2 + 40):
        content[at] ^= 0xFF
    pack.chmod(0o600)
    pack.write_bytes(content)


def test_an_archive_whose_objects_are_damaged_is_kept_aside_and_written_again(stored: Stored) -> None:
    _spoil_pack(stored)
    before = files_below(stored.harness.path(stored.project) / ".git/objects")

    planned = _repair(stored, dry_run=True)
    done = _repair(stored)

    assert [one.what.split()[0] for one in planned.repaired] == ["archive"]
    assert (planned.left, planned.kept) == ((), ())
    assert (done.left, [one.what for one in done.repaired]) == ((), [one.what for one in planned.repaired])
    (kept,) = done.kept
    assert kept.is_relative_to(stored.place.storage_root / "kept")
    packs = {name: content for name, content in files_below(kept / ".git/objects").items() if name.endswith(".pack")}
    assert packs == {name: content for name, content in before.items() if name.endswith(".pack")}
    assert done.backup is not None
    assert faults_in(stored.place) == []
    assert _repair(stored) == RepairReport(repaired=(), left=(), backup=None)


@pytest.mark.parametrize("has_index", [True, False])
def test_a_dry_run_says_that_an_archive_of_damaged_objects_is_set_aside(stored: Stored, has_index: bool) -> None:
    _spoil_pack(stored)
    if not has_index:
        _lose_pack_index(stored)

    (planned,) = _repair(stored, dry_run=True).repaired
    done = _repair(stored)

    assert planned.what == f"archive {stored.project.slug}: objects"
    assert "set aside, in kept/" in planned.evidence
    assert [one.what for one in done.repaired] == [planned.what]
    assert done.left == ()


def test_damage_that_shows_only_as_indexes_are_made_anew_is_told_of_then(stored: Stored) -> None:
    path = stored.harness.path(stored.project)
    (path / "mine.txt").write_text("by hand")
    git(path, "add", "mine.txt")
    git(path, "commit", "--quiet", "-m", "by hand")
    blob = git(path, "rev-parse", "HEAD:mine.txt").strip()
    _lose_pack_index(stored)
    torn = path / ".git/objects" / blob[:2] / blob[2:]
    torn.chmod(0o600)
    torn.write_bytes(b"torn")

    planned = _repair(stored, dry_run=True)
    done = _repair(stored)

    slug = stored.project.slug
    assert [one.what for one in planned.repaired] == [f"archive {slug}: pack index"]
    assert [one.what for one in done.repaired][-1] == f"archive {slug}: objects"
    assert len(done.kept) == 1


@pytest.mark.parametrize("free_kib", [0, 16, 512])
def test_a_pack_whose_index_finds_no_room_is_not_taken_for_damaged(
    stored: Stored, tmp_path: Path, free_kib: int
) -> None:
    _lose_pack_index(stored)
    with small_disk(tmp_path / "disk", size_kib=8_192) as disk:
        root = disk / "store"
        shutil.copytree(stored.place.storage_root, root, symlinks=True)
        ballast = fill_disk(disk)
        os.truncate(ballast, max(0, ballast.stat().st_size - free_kib * 1024))
        archive = root / "projects" / stored.project.slug
        with suppress(GitDiskFull):
            renew_pack_indexes(archive)
        with suppress(GitDiskFull):
            assert unindexable(archive) is None


def test_a_store_that_was_just_restored_is_left_alone(stored: Stored, backup: Path) -> None:
    stored.restorer().restore(backup)

    assert _repair(stored) == RepairReport(repaired=(), left=(), backup=None)


def test_damage_in_the_archive_of_another_store_is_left_with_the_next_step(stored: Stored) -> None:
    path = stored.harness.path(stored.project)
    git(path, "config", "alias.x", "y")
    _spoil_pack(stored)

    done = _repair(stored)

    assert done.kept == ()
    assert path.exists()
    assert all(one.next_step for one in done.left)


def test_a_content_that_no_archive_has_either_is_left_with_the_next_step(stored: Stored) -> None:
    _lose_content(stored)
    _lose_archive(stored)

    done = _repair(stored)

    (left,) = (one for one in done.left if one.what.startswith("attachments missing"))
    assert "from a backup" in left.next_step
    assert "am doctor repair" not in left.next_step


def test_mail_itself_is_never_mended(stored: Stored) -> None:
    stored.harness.connection.execute("PRAGMA foreign_keys=OFF")
    stored.harness.connection.execute("UPDATE recipients SET agent_id = 999")

    done = _repair(stored)

    assert (done.repaired, done.backup) == ((), None)
    assert {one.what for one in done.left} >= {"database: references"}
    assert "rebuild" in done.left[0].next_step


def test_without_a_database_the_way_is_a_rebuild(stored: Stored, tmp_path: Path) -> None:
    shutil.move(stored.harness.database, tmp_path / "away")

    with pytest.raises(DatabaseLost) as refused:
        _repair(stored)

    assert "am doctor rebuild" in refused.value.hint


def test_a_repair_that_would_mend_nothing_takes_no_backup_however_often(stored: Stored) -> None:
    content = _content(stored)
    lacking = MissingContents(stored.harness.path(stored.project) / LACKED_NOTE)
    gone = StoredContent(sha256="0" * 64, bytes=3, extension="txt")
    lacking.note({gone.path: gone})

    assert [_repair(stored) for _ in range(2)] == [RepairReport(repaired=(), left=(), backup=None)] * 2

    whole = StoredContent(sha256=content.name, bytes=len(NOTES), extension="txt")
    lacking.note({whole.path: whole})
    assert [one.what for one in _repair(stored, dry_run=True).repaired] == [f"archive {stored.project.slug}: contents"]


def test_what_two_ways_lead_to_is_left_once(stored: Stored) -> None:
    archive = stored.harness.path(stored.project)
    change(archive, {"archive.json": text_of(archive, "archive.json").replace(stored.harness.store_id, "another")})
    _open_to_others(stored)

    done = _repair(stored)

    left = [(one.what, one.evidence) for one in done.left]
    assert any("belongs to store another" in evidence for _, evidence in left)
    assert len(left) == len(set(left))
