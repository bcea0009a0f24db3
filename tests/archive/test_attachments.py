"""Contents beside the database: each once, and whole when its name is in place, whoever dies or removes meanwhile."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.archive import attachments
from mcp_agent_mail.archive.attachments import AttachmentFiles, AttachmentTooLarge, KeptContent, StagedContent
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.attachments import StoredContent

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
DIGEST = hashlib.sha256(PICTURE).hexdigest()
DAY_S = 86_400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "attachments"


@pytest.fixture
def files(folder: Path) -> AttachmentFiles:
    return AttachmentFiles(folder)


def keep(files: AttachmentFiles, content: bytes) -> StoredContent:
    return files.keep(files.stage([content], 10_000_000))


def read(files: AttachmentFiles, sha256: str) -> bytes:
    with files.open(sha256) as file:
        return file.read()


def grow_old(folder: Path, sha256: str) -> Path:
    place = folder / sha256[:2] / sha256
    os.utime(place, (1_000_000, 1_000_000))
    return place


def inode(path: Path) -> int:
    return path.stat().st_ino


def staged_in(folder: Path) -> list[Path]:
    return list((folder / "staged").iterdir())


def test_a_content_is_kept_under_its_digest_and_read_again(files: AttachmentFiles, folder: Path) -> None:
    stored = keep(files, PICTURE)

    assert stored == StoredContent(sha256=DIGEST, bytes=len(PICTURE), extension="png")
    assert read(files, DIGEST) == PICTURE
    assert files.size(DIGEST) == len(PICTURE)
    assert staged_in(folder) == []


def test_only_its_owner_may_read_what_is_there(files: AttachmentFiles, folder: Path) -> None:
    mask = os.umask(0)
    try:
        keep(files, PICTURE)
        files.stage([b"more"], 10)
    finally:
        os.umask(mask)

    modes = {path.is_dir(): path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}
    assert {path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))} == {0o700, 0o600}
    assert modes == {True: 0o700, False: 0o600}


@pytest.mark.parametrize("pieces", [[], [b""], [b"\x89P", b"NG\r\n", b"\x1a\n" + bytes(5_000)], [b"x" * 3_000_000]])
def test_pieces_of_any_size_make_one_content(files: AttachmentFiles, pieces: list[bytes]) -> None:
    whole = b"".join(pieces)

    staged = files.stage(pieces, 3_000_000)

    assert (staged.sha256, staged.bytes) == (hashlib.sha256(whole).hexdigest(), len(whole))
    assert staged.path.read_bytes() == whole
    assert staged.kind.extension == ("png" if whole.startswith(b"\x89PNG") else "txt")


def test_a_descriptor_is_read_from_where_it_stands(files: AttachmentFiles, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"skipped" + PICTURE * 500)
    source = os.open(tmp_path / "source", os.O_RDONLY)
    os.lseek(source, 7, os.SEEK_SET)

    staged = files.stage(source, 10_000_000)
    os.close(source)

    assert staged.sha256 == hashlib.sha256(PICTURE * 500).hexdigest()


@pytest.mark.parametrize("max_bytes", [11, 12, 13])
@pytest.mark.parametrize("kind", ["pieces", "file", "pipe"])
def test_more_bytes_than_allowed_are_refused_and_leave_nothing(
    files: AttachmentFiles, folder: Path, tmp_path: Path, kind: str, max_bytes: int
) -> None:
    source: int | list[bytes] = [b"sixsix", b"sixsix"]
    if kind == "file":
        (tmp_path / "source").write_bytes(b"sixsixsixsix")
        source = os.open(tmp_path / "source", os.O_RDONLY)
    elif kind == "pipe":
        source, end = os.pipe()
        os.write(end, b"sixsixsixsix")
        os.close(end)
    try:
        if max_bytes >= 12:
            assert files.stage(source, max_bytes).bytes == 12
            return
        with pytest.raises(AttachmentTooLarge, match="may have 11 bytes") as refusal:
            files.stage(source, max_bytes)
        assert refusal.value.data == {"limit_bytes": 11} | ({"bytes": 12} if kind == "file" else {})
    finally:
        if isinstance(source, int):
            os.close(source)

    # How large a file is, is known before anything is written.
    assert not folder.exists() if kind == "file" else staged_in(folder) == []


def test_no_more_than_is_allowed_is_taken_from_a_source_without_end(files: AttachmentFiles, folder: Path) -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield bytes(1_000)

    with pytest.raises(AttachmentTooLarge):
        files.stage(endless(), 10_000)

    assert taken == 11
    assert staged_in(folder) == []


def test_a_disk_without_room_leaves_nothing(files: AttachmentFiles, folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            files.stage([bytes(999), bytes(999)], 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)

    assert staged_in(folder) == []


def test_what_is_not_wanted_is_discarded_and_what_is_kept_stays(files: AttachmentFiles, folder: Path) -> None:
    unwanted, wanted = files.stage([b"unwanted"], 100), files.stage([PICTURE], 10_000)
    files.keep(wanted)

    for staged in (unwanted, unwanted, wanted):
        files.discard(staged)

    assert staged_in(folder) == []
    assert [kept.sha256 for kept in files.each()] == [DIGEST]


def test_a_content_that_is_there_is_touched_and_not_written_twice(files: AttachmentFiles, folder: Path) -> None:
    keep(files, PICTURE)
    place = grow_old(folder, DIGEST)
    before = place.stat()

    keep(files, PICTURE)

    assert place.stat().st_ino == before.st_ino
    assert place.stat().st_mtime > before.st_mtime + DAY_S
    assert staged_in(folder) == []


@pytest.mark.parametrize("damage", ["cut", "longer", "flipped", "link"])
def test_a_content_that_was_damaged_is_written_anew(files: AttachmentFiles, folder: Path, damage: str) -> None:
    elsewhere = folder / "elsewhere"
    # A link is as long as what it says.
    content = b"x" * len(str(elsewhere))
    stored = keep(files, content)
    place = folder / stored.sha256[:2] / stored.sha256
    if damage == "link":
        place.rename(elsewhere)
        place.symlink_to(elsewhere)
        assert files.size(stored.sha256) is None
    elif damage == "flipped":
        place.write_bytes(b"y" + content[1:])
    else:
        os.truncate(place, len(content) + (1 if damage == "longer" else -1))

    keep(files, content)

    assert not place.is_symlink()
    assert place.read_bytes() == content


def test_many_threads_keep_one_content_once(files: AttachmentFiles, folder: Path) -> None:
    stored: list[StoredContent] = []
    threads = [threading.Thread(target=lambda: stored.append(keep(files, PICTURE))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert stored == [StoredContent(sha256=DIGEST, bytes=len(PICTURE), extension="png")] * 20
    assert [kept.sha256 for kept in files.each()] == [DIGEST]
    assert staged_in(folder) == []


@pytest.mark.parametrize("is_there", [False, True])
def test_what_is_kept_is_synced_before_it_has_its_name_and_its_folders_after(
    files: AttachmentFiles, folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    if is_there:
        keep(files, PICTURE)
    staged = files.stage([PICTURE], 10_000)
    done: list[tuple[int, bool]] = []
    place, content = folder / DIGEST[:2] / DIGEST, inode(staged.path)
    sync = os.fsync

    def synced(descriptor: int) -> None:
        done.append((os.fstat(descriptor).st_ino, place.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)

    files.keep(staged)

    names = [(inode(place.parent), True), (inode(folder), True)]
    assert done == (names if is_there else [(content, False), *names])


def test_the_folder_itself_is_on_disk_before_anything_is_kept(
    files: AttachmentFiles, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append(os.fstat(descriptor).st_ino))

    files.stage([b"x"], 10)
    files.stage([b"x"], 10)

    assert done == [inode(folder.parent)]


@pytest.mark.parametrize("name", ["", "..", "../mail.sqlite3", "a" * 63, "A" * 64, "a" * 65, "a" * 63 + "/", "lock"])
def test_what_is_no_digest_leads_nowhere(files: AttachmentFiles, folder: Path, name: str) -> None:
    keep(files, PICTURE)
    (folder.parent / "mail.sqlite3").touch()

    with pytest.raises(FileNotFoundError):
        files.open(name)
    assert files.size(name) is None
    assert files.remove(name) is False
    assert (folder.parent / "mail.sqlite3").exists()


def test_a_link_in_a_contents_place_is_not_followed(files: AttachmentFiles, folder: Path) -> None:
    keep(files, PICTURE)
    place = folder / DIGEST[:2] / DIGEST
    place.unlink()
    place.symlink_to("/etc/passwd")

    with pytest.raises(OSError, match="symbolic"):
        files.open(DIGEST)


def test_what_is_gone_is_told(files: AttachmentFiles) -> None:
    with pytest.raises(FileNotFoundError):
        files.open(DIGEST)
    assert files.size(DIGEST) is None
    assert files.remove(DIGEST) is False
    assert list(files.each()) == []
    assert files.remove_leftovers() == 0


def test_only_what_was_left_alone_so_long_is_removed(files: AttachmentFiles, folder: Path) -> None:
    fresh, old = keep(files, b"fresh").sha256, keep(files, b"old").sha256
    grow_old(folder, old)

    assert [files.remove(sha256, untouched_s=DAY_S) for sha256 in (fresh, old, old)] == [False, True, False]
    # Of a clock that was set back since.
    os.utime(folder / fresh[:2] / fresh, (9_000_000_000, 9_000_000_000))
    assert files.remove(fresh) is True
    assert list(files.each()) == []


def test_what_is_asked_for_while_it_is_removed_is_kept(
    files: AttachmentFiles, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(files, PICTURE)
    grow_old(folder, DIGEST)
    age = attachments._untouched_s
    sender = threading.Thread(target=keep, args=(files, PICTURE))

    def judged(found: os.stat_result) -> float:
        if sender.ident is None:
            sender.start()
            # Time enough to be done, where nothing holds it up.
            sender.join(0.3)
        return age(found)

    monkeypatch.setattr(attachments, "_untouched_s", judged)

    assert files.remove(DIGEST, untouched_s=DAY_S) is True
    sender.join()

    assert read(files, DIGEST) == PICTURE


def test_a_send_that_comes_before_a_removal_is_heard(files: AttachmentFiles, folder: Path) -> None:
    keep(files, PICTURE)
    grow_old(folder, DIGEST)
    keep(files, PICTURE)

    assert files.remove(DIGEST, untouched_s=DAY_S) is False


def test_a_content_that_was_staged_long_ago_is_as_fresh_as_any_once_it_is_kept(files: AttachmentFiles) -> None:
    staged = files.stage([PICTURE], 10_000)
    os.utime(staged.path, (1_000_000, 1_000_000))

    files.keep(staged)

    assert files.remove(DIGEST, untouched_s=DAY_S) is False


def test_all_that_are_there_are_listed_in_order_and_nothing_else(files: AttachmentFiles, folder: Path) -> None:
    stored = sorted((keep(files, bytes([number])) for number in range(20)), key=lambda one: one.sha256)
    files.stage([b"staged"], 10)
    grow_old(folder, stored[0].sha256)
    (folder / stored[0].sha256[:2] / "notes.txt").touch()
    (folder / "zz").mkdir()

    found = list(files.each())

    assert [(kept.sha256, kept.bytes) for kept in found] == [(one.sha256, one.bytes) for one in stored]
    assert [kept.untouched_s > DAY_S for kept in found] == [True] + [False] * 19
    assert isinstance(found[0], KeptContent)


def test_what_was_staged_by_a_process_that_is_dead_goes_and_what_is_kept_stays(
    files: AttachmentFiles, folder: Path
) -> None:
    keep(files, PICTURE)
    left: list[StagedContent] = [files.stage([b"left"], 10) for _ in range(3)]

    assert AttachmentFiles(folder).remove_leftovers() == 3
    assert not any(staged.path.exists() for staged in left)
    assert read(files, DIGEST) == PICTURE


_KEEP = """
import sys
from pathlib import Path
from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.core.failpoints import FailPoint, Kill, reach_that_kills
point = FailPoint(sys.argv[2])
files = AttachmentFiles(Path(sys.argv[1]), fault_hook=reach_that_kills(Kill(point=point)))
files.keep(files.stage([sys.stdin.buffer.read()], 1_000_000))
"""


@pytest.mark.parametrize("point", [FailPoint.CONTENT_STAGED, FailPoint.CONTENT_NAMED, FailPoint.CONTENT_KEPT])
def test_a_kill_leaves_a_content_whole_or_none_and_the_next_send_keeps_it(folder: Path, point: FailPoint) -> None:
    done = subprocess.run([sys.executable, "-c", _KEEP, str(folder), point], input=PICTURE, check=False)
    assert done.returncode == -signal.SIGKILL
    files = AttachmentFiles(folder)
    is_staged = point is FailPoint.CONTENT_STAGED

    assert files.size(DIGEST) == (None if is_staged else len(PICTURE))
    assert files.remove_leftovers() == is_staged
    assert keep(files, PICTURE).sha256 == DIGEST
    assert read(files, DIGEST) == PICTURE
