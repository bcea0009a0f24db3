"""After an unclean stop the work tree equals the branch again, and nobody else's work is touched."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from mcp_agent_mail.archive import recovery
from mcp_agent_mail.archive.recovery import (
    NEWLY_MADE,
    OPEN_NOTE,
    WINDOW_S,
    OpenNote,
    is_newly_made,
    is_unfinished,
    remove_leftovers,
    restore_files,
    restore_recent_files,
)
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.git.process import GitFailed
from tests.archive.one_archive import AT, IDENTITY, NOTE, add_commit, begin, open_writer, text
from tests.archive_harness import git, refresh


def test_after_an_unclean_stop_recent_files_equal_the_branch_again(writer: ArchiveWriter, path: Path) -> None:
    writer.commit({"messages/torn.md": b"whole", "messages/gone.md": b"there"}, text(2), AT)
    (path / "messages/torn.md").write_bytes(b"who\0\0")
    (path / "messages/gone.md").unlink()

    refresh(open_writer(path))

    assert (path / "messages/torn.md").read_bytes() == b"whole"
    assert (path / "messages/gone.md").read_bytes() == b"there"
    assert git(path, "status", "--porcelain") == ""


def test_what_is_written_again_is_on_disk_before_a_commit_can_make_it_look_old(
    writer: ArchiveWriter, path: Path, synced: list[int]
) -> None:
    writer.commit({"messages/torn.md": b"whole"}, text(2), AT)
    (path / "messages/torn.md").write_bytes(b"who\0\0")
    synced.clear()

    open_writer(path)

    assert (path / "messages/torn.md").stat().st_ino in synced
    assert (path / "messages").stat().st_ino in synced


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The inodes that are put on disk, in that order."""
    found: list[int] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        sync(descriptor)
        found.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", note)
    return found


def test_a_work_tree_that_is_written_anew_is_on_disk_before_it_counts_as_written(
    writer: ArchiveWriter, path: Path, synced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh(writer)
    empty(path)
    monkeypatch.setattr(ArchiveWriter, "_mend", lambda _writer: None)  # It comes later, and syncs too.
    synced.clear()

    open_writer(path)

    assert (path / NOTE).stat().st_ino in synced


def test_files_that_stood_in_the_way_are_on_disk_once_they_count_as_written(
    writer: ArchiveWriter, path: Path, synced: list[int]
) -> None:
    (path / "messages/blocked.md").mkdir()
    writer.commit({"messages/blocked.md": b"whole"}, text(2), AT)
    (path / "messages/blocked.md").rmdir()

    writer.write_blocked()

    assert (path / "messages/blocked.md").stat().st_ino in synced


@pytest.mark.parametrize("ends_after", [0, 1, 2])
def test_a_work_tree_that_was_half_written_anew_is_written_whole_by_the_next(
    writer: ArchiveWriter, path: Path, ends_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.commit({f"messages/{number}.md": b"%d" % number for number in range(3)}, text(2), AT)
    refresh(writer)
    empty(path)
    put, written = WorkTree.put, 0

    def put_some(tree: WorkTree, content: bytes, paths: Iterable[str]) -> None:
        nonlocal written
        if written == ends_after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written += 1
        put(tree, content, paths)

    with monkeypatch.context() as full:
        full.setattr(WorkTree, "put", put_some)
        with pytest.raises(OSError, match="No space left"):
            open_writer(path)

    refresh(open_writer(path))
    assert git(path, "status", "--porcelain") == ""


def empty(path: Path) -> None:
    for found in path.iterdir():
        if found.name != ".git":
            shutil.rmtree(found) if found.is_dir() else found.unlink()


@pytest.mark.parametrize(
    "name",
    [
        "archive.json",
        "agents/Red/profile.json",
        "agents/Red/inbox/2027/01/held.md",
        "contacts/Red/Blue.json",
        "products/id.json",
        "file_reservations/id-1.json",
        "build_slots/id-1.json",
        "messages/2027/01/tombstone.md",
    ],
)
def test_after_an_unclean_stop_a_file_that_is_as_it_was_two_commits_ago_equals_the_branch_again(
    writer: ArchiveWriter, path: Path, name: str
) -> None:
    first = IDENTITY if name == "archive.json" else b"as it was"
    writer.commit({name: first}, text(2), AT)
    later = Micros(AT + 2 * WINDOW_S * SECOND)
    writer.commit({name: b'{"store_id": "this-store", "changed": true}'}, text(3), later)
    between = (path / name).read_bytes()
    writer.commit({name: first}, text(4), later)
    (path / name).unlink()
    (path / name).write_bytes(between)

    open_writer(path)

    assert (path / name).read_bytes() == first


def test_after_an_unclean_stop_a_person_s_commit_from_the_future_hides_none_of_ours(
    writer: ArchiveWriter, path: Path
) -> None:
    refresh(writer)
    writer.commit({NOTE: b"two"}, text(2), AT)
    (path / "NOTES.md").write_text("mine")
    git(path, "add", "NOTES.md")
    named = ("git", "-C", str(path), "-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    subprocess.run(
        [*named, "commit", "-q", "-m", "Mine", "--", "NOTES.md"],
        env={"PATH": os.environ["PATH"], "GIT_COMMITTER_DATE": "2099-01-01T00:00:00Z", "HOME": str(path)},
        check=True,
    )
    (path / NOTE).unlink()

    open_writer(path)

    assert (path / NOTE).read_bytes() == b"two"


@pytest.mark.usefixtures("writer")
def test_after_an_unclean_stop_a_person_s_file_with_a_line_end_in_its_name_stops_no_mending(path: Path) -> None:
    odd = "messages/two\nlines.md"
    (path / odd).write_text("mine")
    git(path, "add", odd)
    git(path, "commit", "-q", "-m", "Mine", "--", odd)
    git(path, "rm", "-q", odd)
    git(path, "commit", "-q", "-m", "Not mine", "--", odd)
    (path / NOTE).unlink()

    open_writer(path)

    assert (path / NOTE).read_bytes() == b"one"


def test_locks_of_a_killed_git_are_removed_at_the_next_start(writer: ArchiveWriter, path: Path) -> None:
    for name in ("index.lock", "refs/heads/main.lock"):
        (path / ".git" / name).touch()
    with pytest.raises(GitFailed):
        writer.commit({"a": b"a"}, text(2), AT)

    later = open_writer(path)
    later.commit({"a": b"a"}, text(2), AT)
    refresh(later)

    assert git(path, "status", "--porcelain") == ""


@pytest.mark.usefixtures("writer")
def test_the_mark_of_an_import_that_was_cut_off_is_removed_and_a_person_s_is_not(path: Path) -> None:
    theirs, ours = (path / f".git/objects/pack/pack-{name * 40}.keep" for name in "ab")
    theirs.write_text("mine\n")
    ours.write_text("fast-import")

    open_writer(path)

    assert theirs.exists()
    assert not ours.exists()


def test_a_torn_index_is_built_again(writer: ArchiveWriter, path: Path) -> None:
    refresh(writer)
    writer.commit({"a": b"a"}, text(2), AT)
    (path / ".git/index").write_bytes(b"torn")

    refresh(open_writer(path))

    assert git(path, "status", "--porcelain") == ""


def test_an_index_of_which_sectors_were_emptied_is_built_again_before_git_writes_what_it_says(
    writer: ArchiveWriter, path: Path
) -> None:
    refresh(writer)
    writer.commit({"a": b"a"}, text(2), AT)
    index = path / ".git/index"
    content = index.read_bytes()
    index.write_bytes(content[: content.index(b"TREE") + 8].ljust(len(content), b"\0"))
    assert git(path, "ls-files") != ""

    opened = open_writer(path)

    assert not index.exists()
    refresh(opened)
    assert git(path, "status", "--porcelain") == ""
    assert git(path, "fsck", "--strict") == ""


@pytest.mark.usefixtures("writer")
def test_marks_that_a_loss_of_power_emptied_go_and_a_persons_older_one_stays(path: Path) -> None:
    (pack,) = (path / ".git/objects/pack").glob("pack-*.pack")
    torn = pack.with_name(f"pack-{'0' * 40}.keep")
    torn.touch()
    theirs = pack.with_suffix(".keep")
    theirs.touch()
    os.utime(theirs, (1_700_000_000, 1_700_000_000))

    open_writer(path)

    assert not torn.exists()
    assert theirs.exists()


# What Python takes for a line end, and Git does not; and no UTF-8 at all.
STRANGE_NAMES = [f"a{end}b.md".encode() for end in ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r")]


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("name", [*STRANGE_NAMES, b"gr\xfc\xdfe.md"])
def test_a_persons_file_of_any_name_that_is_gone_again_stops_no_mending(path: Path, name: bytes) -> None:
    theirs = path / "messages" / os.fsdecode(name)
    theirs.write_text("mine")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "mine")
    git(path, "rm", "-q", "-r", "--", str(theirs))
    git(path, "commit", "-q", "-m", "gone")
    (path / NOTE).unlink()

    open_writer(path)

    assert (path / NOTE).read_bytes() == b"one"


# --- By itself --------------------------------------------------------------------------------------------------------


def _tree(repository: ArchiveRepository) -> WorkTree:
    return WorkTree(repository.path, repository.git_path / "agent-mail", lambda _: True)


@pytest.fixture
def commits(path: Path) -> list[str]:
    """Five, each long after the one before, with a file that is not in the work tree."""
    repository = begin(path)
    return [
        add_commit(repository, {f"messages/{number}.md": b"%d" % number}, at=Micros(AT + number * 1_000 * SECOND))
        for number in range(5)
    ]


def _restored(path: Path, commits: list[str], noted: str) -> list[str]:
    repository = ArchiveRepository(path)
    count = restore_recent_files(repository, _tree(repository), commits[-1], noted)
    found = sorted(file.name for file in path.glob("messages/*"))
    assert count == len(found)
    return found


def test_what_came_after_the_archive_was_last_whole_is_written_again(path: Path, commits: list[str]) -> None:
    assert _restored(path, commits, noted=commits[2]) == ["3.md", "4.md"]


def test_without_a_note_so_many_commits_are_looked_at_and_all_of_the_last_minutes(
    path: Path, commits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "LOOKED_AT_IN_ANY_CASE", 2)

    assert _restored(path, commits, noted="") == ["3.md", "4.md"]


def test_where_all_are_of_the_last_minutes_all_are_looked_at(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "LOOKED_AT_IN_ANY_CASE", 0)
    repository = begin(path)
    same_time = [add_commit(repository, {f"messages/{number}.md": b"x"}) for number in range(3)]

    assert _restored(path, same_time, noted="") == ["0.md", "1.md", "2.md"]


def test_a_note_of_long_ago_is_not_looked_for_without_end(
    path: Path, commits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "LOOKED_AT_IN_ANY_CASE", 1)
    monkeypatch.setattr(recovery, "LOOKED_FOR_THE_NOTE", 3)

    assert _restored(path, commits, noted=commits[0]) == ["4.md"]


def test_what_the_last_commits_removed_goes_and_what_they_hold_stays_as_it_is(path: Path) -> None:
    repository = begin(path)
    add_commit(repository, {"messages/gone.md": b"x", "messages/kept.md": b"kept"})
    tip = add_commit(repository, {"messages/gone.md": None})
    (path / "messages").mkdir()
    (path / "messages/gone.md").write_bytes(b"x")
    (path / "messages/kept.md").write_bytes(b"kept")
    inode = (path / "messages/kept.md").stat().st_ino

    restored = restore_recent_files(repository, _tree(repository), tip, "")

    assert (restored, (path / "messages/kept.md").stat().st_ino) == (0, inode)
    assert not (path / "messages/gone.md").exists()


def test_while_a_person_looks_at_another_branch_nothing_is_written(path: Path, commits: list[str]) -> None:
    (path / ".git/HEAD").write_text("ref: refs/heads/theirs\n")

    assert _restored(path, commits, noted="") == []


def test_only_wanted_files_are_written_and_of_many_none_is_forgotten(
    path: Path, commits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_AT_ONCE", 2)
    repository = ArchiveRepository(path)
    (path / "messages").mkdir()
    (path / "messages/1.md").write_bytes(b"1")
    inode = (path / "messages/1.md").stat().st_ino

    restore_files(repository, _tree(repository), lambda name: name != f"messages/{len(commits) - 1}.md")

    assert {file.name: file.read_bytes() for file in path.glob("messages/*")} == {
        f"{number}.md": b"%d" % number for number in range(4)
    }
    assert (path / "messages/1.md").stat().st_ino == inode


def test_half_written_packs_go_and_whole_ones_stay(path: Path, commits: list[str]) -> None:
    packs = path / ".git/objects/pack"
    whole = set(packs.iterdir())
    for name in ("tmp_pack_x", ".tmp-123-pack-x.pack"):
        (packs / name).touch()
    (path / ".git/fast_import_crash_1").touch()
    (packs / f"pack-{'0' * 40}.keep").write_text("fast-import\n")

    remove_leftovers(ArchiveRepository(path))

    assert set(packs.iterdir()) == whole
    assert not (path / ".git/fast_import_crash_1").exists()
    assert len(commits) == int(git(path, "rev-list", "--count", "main"))


def test_a_newly_made_archive_is_told_from_one_that_somebody_left_unfinished(path: Path, commits: list[str]) -> None:
    note = OpenNote(ArchiveRepository(path))
    (path / OPEN_NOTE).parent.mkdir(exist_ok=True)
    (path / OPEN_NOTE).write_text(NEWLY_MADE)
    assert (is_newly_made(path), is_unfinished(path), note.tip()) == (True, True, "")

    note.write(commits[-1])
    assert (is_newly_made(path), is_unfinished(path), note.tip()) == (False, True, commits[-1])

    note.remove()
    assert (is_newly_made(path), is_unfinished(path)) == (False, False)
