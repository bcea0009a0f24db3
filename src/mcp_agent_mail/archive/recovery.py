"""After an unclean stop: leftover locks go, and the work-tree files of the last commits equal the branch again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from mcp_agent_mail.archive.git_folder import STATE, said_in
from mcp_agent_mail.archive.index import is_index_torn
from mcp_agent_mail.archive.known_version import CONVERSION_NOTE
from mcp_agent_mail.archive.months import MonthsNote
from mcp_agent_mail.archive.repository import BRANCH, READ_UNASKED, ArchiveRepository, GitContentTooLarge
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.domain.archive_format.commit_message import VERSION_TRAILER
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE, OWN_FOLDERS
from mcp_agent_mail.domain.attachments import ATTACHMENTS_FOLDER

OPEN_NOTE = STATE / "open"
NEWLY_MADE = "newly made"
"""In that note where a commit would be: nobody stopped, and whoever opens it first looks at all of it once."""
BLOCKED_NOTE = STATE / "blocked"
"""Files are missing from the work tree, because something stood in their way: the next process tries again."""

LACKED_NOTE = STATE / "lacked"
"""Contents that mail carries and the archive has not got: likewise."""

WINDOW_S = 120
"""Kernels write a file back within half a minute or so; what is older was on disk."""

LOOKED_AT_IN_ANY_CASE = 20
LOOKED_FOR_THE_NOTE = 500
_AT_ONCE = 200
_ASKED_AT_ONCE = 5_000
_IMPORT_MARK = "fast-import"
_LOCKED = ("index", "HEAD", "config", "config.worktree", "info/sparse-checkout", "packed-refs")


def is_newly_made(path: Path) -> bool:
    """Has nobody opened this archive yet since it was made of a bundle?"""
    try:
        return (path / OPEN_NOTE).read_bytes() == NEWLY_MADE.encode()
    except OSError:
        return False


def is_unfinished(path: Path, *, counts_lacked: bool = True) -> bool:
    """Did whoever wrote this archive last stop in the middle of something, or is it newly made? `counts_lacked`: also
    of contents that were not there, and may be meanwhile.

    So is a link: an archive of former times, which opening moves into the store.
    """
    if path.is_symlink():
        return True
    notes = (OPEN_NOTE, BLOCKED_NOTE, CONVERSION_NOTE, *((LACKED_NOTE,) if counts_lacked else ()))
    return any((path / note).exists() for note in notes) or MonthsNote(path / STATE).is_unfinished()


class OpenNote:
    """Stands from before something changes that only a refresh makes whole until that has come: meanwhile a stop is
    unclean.
    """

    def __init__(self, repository: ArchiveRepository) -> None:
        self._archive = repository.path
        self._path = repository.path / OPEN_NOTE
        self._git_path = repository.git_path
        self._is_written = False

    @property
    def stands(self) -> bool:
        return self._path.exists()

    def tip(self) -> str:
        """Where the branch was when the archive was last whole, if that is known."""
        told = (said_in(self._path) or "").strip()
        return "" if told == NEWLY_MADE else told

    def seconds(self) -> float:
        """When the run began that ended uncleanly, as files have it."""
        return self._path.stat().st_mtime

    def write(self, tip: str | None) -> None:
        """Once a run. On disk before what it warns of can be."""
        if not self._is_written:
            # One that stands since an unclean stop tells where the branch was then; its time is of the newest run.
            if not self._path.exists() or is_newly_made(self._archive):
                self._path.write_text(tip or "")
            self._path.touch()
            sync_path(self._path.parent)
            sync_path(self._git_path)
            self._is_written = True

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
        self._is_written = False


def clear_up(repository: ArchiveRepository, tree: WorkTree, note: OpenNote) -> None:
    """Remove what an unclean stop left half done in Git and beside the files."""
    remove_leftovers(repository)
    tree.remove_leftovers()
    remove_torn_marks(repository, note.seconds())
    remove_torn_index(repository)


def remove_leftovers(repository: ArchiveRepository) -> None:
    """Locks and half-written packs of Git processes that were killed.

    Called while the lock of this archive is held, which those processes would still hold if one lived.
    """
    for name in (*_LOCKED, BRANCH):
        (repository.git_path / f"{name}.lock").unlink(missing_ok=True)
    for pattern in ("objects/pack/tmp_*", "objects/pack/.tmp-*", "fast_import_crash_*"):
        for leftover in repository.git_path.glob(pattern):
            leftover.unlink(missing_ok=True)
    for mark in repository.git_path.glob("objects/pack/pack-*.keep"):
        # An import marks its pack while it runs. Left behind, the mark would keep the pack from ever being joined.
        if (said_in(mark) or "").strip() == _IMPORT_MARK:
            mark.unlink()


def remove_torn_marks(repository: ArchiveRepository, since: float) -> None:
    """Remove `.keep` files of an import that a loss of power emptied: the same import, made again, would stumble over
    them.

    A person may mark a pack with an empty file too, so those stay that are older than the unclean run (`since`, in
    seconds).
    """
    for mark in repository.git_path.glob("objects/pack/pack-*.keep"):
        written = said_in(mark)
        if (
            written is not None
            and _IMPORT_MARK.startswith(written.strip("\0\n"))
            and mark.stat().st_mtime >= since - WINDOW_S
        ):
            mark.unlink()


def remove_torn_index(repository: ArchiveRepository) -> None:
    """The next refresh builds a new one. What a person had staged in it goes with it."""
    if is_index_torn(repository):
        (repository.git_path / "index").unlink(missing_ok=True)


def restore_recent_files(repository: ArchiveRepository, tree: WorkTree, tip: str, noted: str) -> int:
    """Compare what the last commits wrote with the branch and write again what differs; how many files did.

    `noted`: where the branch stood when the archive was last whole, if that is known.
    """
    if not repository.is_checked_out():
        return 0
    restored = 0
    wanted: dict[str, list[str]] = {}
    for path, blob in _recent_files(repository, tip, noted):
        tree.note(path)
        if blob is None:
            tree.remove(path)
        elif not repository.shows(path, blob):
            wanted.setdefault(blob, []).append(path)
            restored += 1
        if len(wanted) >= _AT_ONCE:
            _restore(repository, tree, wanted)
            wanted.clear()
    _restore(repository, tree, wanted)
    return restored


def restore_files(repository: ArchiveRepository, tree: WorkTree, is_wanted: Callable[[str], bool]) -> None:
    """Those of the branch that are wanted, as Git has them.

    What bringing months back left half done when it was cut off, say: Git would take it for somebody's edit.
    """
    wanted: dict[str, list[str]] = {}
    for entry in repository.records("ls-tree", "-r", "-z", BRANCH):
        facts, _, path = entry.partition("\t")
        blob = facts.rpartition(" ")[2]
        if is_wanted(path) and not repository.shows(path, blob):
            wanted.setdefault(blob, []).append(path)
        if len(wanted) >= _AT_ONCE:
            _restore(repository, tree, wanted)
            wanted.clear()
    _restore(repository, tree, wanted)


def _recent_files(repository: ArchiveRepository, tip: str, noted: str) -> Iterator[tuple[str, str | None]]:
    """Path and blob at `tip` of every file of ours that a commit of the window wrote; no blob where it is gone.

    By commit: what changed and changed back within the window differs between none of its two ends.
    """
    base = _before_window(repository, tip, noted)
    window = f"{base}..{tip}" if base else tip
    options = ("--first-parent", "-m", "--no-renames", "--format=", "--name-only", "-z")
    # What a conversion brings is written by whoever goes on with it.
    others = ("--invert-grep", f"--grep=^{VERSION_TRAILER}: ")
    named = repository.records("log", *options, *others, window, "--", ARCHIVE_FILE, *OWN_FOLDERS)
    # A line end in a name is none of ours, and would be two questions below.
    paths = sorted({path for path in named if path and "\n" not in path})
    for first in range(0, len(paths), _ASKED_AT_ONCE):
        asked = paths[first : first + _ASKED_AT_ONCE]
        yield from zip(asked, repository.blobs_at(tip, asked), strict=True)


def _before_window(repository: ArchiveRepository, tip: str, noted: str) -> str:
    """The commit up to which every file is surely on disk; none when all may matter.

    That is where the branch stood when the archive was last whole. After a busy time it is long ago: then what the
    kernel has written back since counts too. Commits say when they were made by clocks that are set, a person's among
    them, so many are looked at in any case.
    """
    newest, by_time = 0, ""
    for count, line in enumerate(_history(repository, tip)):
        seconds, _, hexsha = line.partition(" ")
        newest = newest or int(seconds)
        if hexsha == noted:
            return noted
        if not by_time and count >= LOOKED_AT_IN_ANY_CASE and int(seconds) < newest - WINDOW_S:
            by_time = hexsha
        if by_time and (not noted or count >= LOOKED_FOR_THE_NOTE):
            return by_time
    return by_time


def _history(repository: ArchiveRepository, tip: str) -> Iterator[str]:
    return repository.records("log", "--first-parent", "-z", "--format=%ct %H", tip)


def restore_named(repository: ArchiveRepository, tree: WorkTree, paths: Iterable[str]) -> None:
    """Those of the branch, in place of what is there."""
    for path in paths:
        _restore(repository, tree, {f"{BRANCH}:{path}": [path]})


def _restore(repository: ArchiveRepository, tree: WorkTree, wanted: dict[str, list[str]]) -> None:
    for blob, paths in wanted.items():
        with suppress(GitContentTooLarge):
            if not paths[0].startswith(f"{ATTACHMENTS_FOLDER}/"):
                tree.put(repository.content(blob, READ_UNASKED), paths)
                continue
        for path in paths:
            tree.put_large(path, partial(repository.tell_blob, blob))
