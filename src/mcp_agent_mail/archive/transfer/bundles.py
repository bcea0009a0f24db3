"""An archive's history as one stream, a Git bundle of its branch, and an archive begun anew from such a stream.

The same commit always gives the same bytes, whatever packs its objects lie in: nothing is taken over from them, and
one thread looks for deltas. `git clone` reads the stream as it is. Reading one back trusts none of it: Git checks every
object in a bounded process before the branch names a commit.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from mcp_agent_mail.archive.folders import blob_of, facts_of
from mcp_agent_mail.archive.git_folder import STATE
from mcp_agent_mail.archive.months import KeptMonths, MonthsNote, months_around
from mcp_agent_mail.archive.notes.thread_pages import begun_at, write_thread_note
from mcp_agent_mail.archive.recovery import NEWLY_MADE, OPEN_NOTE
from mcp_agent_mail.archive.repository import (
    BIG_FILES,
    BRANCH,
    LONGEST_RECORD,
    READ_UNASKED,
    ArchiveRepository,
    GitRun,
)
from mcp_agent_mail.archive.transfer.entry_limits import bounded
from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.errors import InvalidInput, Unavailable
from mcp_agent_mail.core.file_sync import sync_tree
from mcp_agent_mail.core.git.environment import GitPlace
from mcp_agent_mail.core.git.process import Conversation, GitDiskFull, GitFailed, talk_to_git
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE, OWN_FOLDERS
from mcp_agent_mail.domain.archive_format.parse.files import UnreadableArtifact, require_size

LIMIT_S = 3_600.0
"""For one archive."""
CHUNK = 1 << 20

# What decides about the bytes is said here, not left to defaults or to what lies beside the objects.
_PACKING = (
    *("pack-objects", "-q", "--revs", "--stdout", "--delta-base-offset", "--no-reuse-delta", "--no-reuse-object"),
    *("--no-use-bitmap-index", "--threads=1", "--window=10", "--depth=50", "--window-memory=64m", "--compression=6"),
)
_PACKING_AS_IT_LIES = (
    *("pack-objects", "-q", "--revs", "--stdout", "--delta-base-offset", "--window=0", "--threads=1"),
)
"""Deltas as they lie there, and no new ones: what costs the most."""
_PACKING_CONFIG = (BIG_FILES, "pack.deltaCacheSize=32m", "core.commitGraph=false", "core.deltaBaseCacheLimit=32m")
_UNPACKING = ("index-pack", "--stdin", "--strict", "--threads=1")
_UNPACKING_CONFIG = (BIG_FILES, "core.deltaBaseCacheLimit=32m")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_COPY = re.compile(r"agents/[^/]+/(?:inbox|outbox)/([0-9]{4}/[0-9]{2}/.+)")
_DISK_BLOCK = 4_096
_LONGEST_PATH = 4_096
_FOLDER_MODE = "040000"
_CHANGES_OF_A_PATH = 4
"""It comes, it changes or moves, it goes."""
_ODD_MODES = ("120000", "160000")
"""Links and other repositories. A person may have some beside what is ours."""


class UnfitBundle(InvalidInput):
    """The stream is not the whole history that it is said to be."""


class ArchiveTooLarge(Unavailable):
    """The files that an archive shows would fill the disk. None of them was written, or not all."""


def bundle_pieces(repository: ArchiveRepository, commit: str, *, as_it_lies: bool = False) -> Iterator[bytes]:
    """The history of `commit`, piece by piece. Raises GitFailed at the end where Git could not read all of it.

    `as_it_lies`: other bytes each time, for much less work.
    """
    yield _header(commit)
    packing = _PACKING_AS_IT_LIES if as_it_lies else _PACKING
    place = GitPlace(git_dir=repository.git_path)
    with talk_to_git(*packing, config=_PACKING_CONFIG, timeout_s=LIMIT_S, place=place, steps_back=True) as git:
        git.say(f"{commit}\n".encode())
        git.end()
        while piece := git.hear_bytes(CHUNK):
            yield piece


def begin_from_bundle(path: Path, commit: str, pieces: Iterable[bytes], *, work_tree: Path | None = None) -> None:
    """A new archive at `path`, its branch at `commit`, no files yet (`show_files` writes them). On disk when this
    returns; what is left after a failure is the caller's to remove. Raises UnfitBundle; GitDiskFull on a full disk,
    which says nothing of the bundle.
    """
    repository = ArchiveRepository(path, run=GitRun(is_foreign=True))
    repository.create(work_tree)
    stream = iter(pieces)
    rest = _without_header(stream, _header(commit))
    try:
        with repository.talk(*_UNPACKING, config=_UNPACKING_CONFIG, timeout_s=LIMIT_S) as git:
            size = 0
            for piece in chain([rest], stream):
                git.say(piece)
                size += len(piece)
            git.end()
            git.hear_bytes(CHUNK)
        # Git leaves alone what follows a pack.
        if size != sum(pack.stat().st_size for pack in (repository.git_path / "objects" / "pack").glob("*.pack")):
            raise GitFailed("something follows its pack")
        repository.git("update-ref", BRANCH, commit)
        _require_short_commits(repository)
        _require_plain(repository)
        _require_bounded_history(repository)
    except UnreadableArtifact as unfit:
        raise UnfitBundle(
            f"It holds what no archive has: {unfit!s:.300}.", hint="It was made by hand: do not use it."
        ) from unfit
    except GitDiskFull:
        raise
    except GitFailed as failed:
        raise UnfitBundle(
            f"Git does not take it for a whole history of {commit}: {failed.message}",
            hint="It was damaged, or made by hand. Take another copy.",
        ) from failed
    # What its pages tell of is not known here: all are due.
    write_thread_note(path, begun_at(OutboxSeq(0)))
    sync_tree(repository.git_path)


def show_files(path: Path, *, most: int, clock: Clock) -> None:
    """Write the files of a new archive, in a folder that is ours alone, as the branch has them; beyond `most` of them
    those of recent months. Nothing is synced: whoever opens it next looks at all of that once more.
    """
    repository = ArchiveRepository(path)
    size = _sized(repository, KeptMonths(months=months_around(clock())))
    kept = size.kept if size.files > most else None
    if kept is not None:
        MonthsNote(path / STATE).write(kept)
    room = shutil.disk_usage(path).free
    needed = size.bytes if kept is None else size.bytes_kept
    if needed > room:
        raise _too_large(path, needed, room)
    with repository.talk("cat-file", "--batch", timeout_s=LIMIT_S) as objects:
        files = _NewFiles(repository.work_tree, objects, room - needed)
        # Canonical files first: equal copies are further names of them, as whoever writes archives makes them.
        for is_copy in (False, True):
            for entry in _listed(repository):
                facts, _, name = entry.partition("\t")
                if facts.startswith(_ODD_MODES) or (kept is not None and not kept.hold(name)):
                    continue
                if (_COPY.fullmatch(name) is not None) is is_copy:
                    files.write(name, facts.rpartition(" ")[2])
    (path / OPEN_NOTE).write_text(NEWLY_MADE)


def _listed(repository: ArchiveRepository, *how: str) -> Iterator[str]:
    return repository.records("ls-tree", "-r", "-z", *how, BRANCH, timeout_s=LIMIT_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    """What the files take on disk, copies left out: those are further names of others. `bytes_kept`: of those that
    `kept` holds.
    """

    kept: KeptMonths
    files: int
    bytes: int
    bytes_kept: int


def _sized(repository: ArchiveRepository, kept: KeptMonths) -> _Size:
    files = total = of_kept = 0
    for entry in _listed(repository, "-t", "-l"):
        facts, _, name = entry.partition("\t")
        is_file = not facts.startswith(_FOLDER_MODE)
        files += is_file
        if facts.startswith(_ODD_MODES) or _COPY.fullmatch(name):
            continue
        size = _on_disk(_bytes_in(facts) if is_file else 1)
        total += size
        of_kept += size if kept.hold(name) else 0
    return _Size(kept=kept, files=files, bytes=total, bytes_kept=of_kept)


def _bytes_in(facts: str) -> int:
    *_, blob, size = facts.split()
    if not size.isdecimal():  # `BAD`
        raise GitFailed(f"Git does not have all of {blob}, which the archive needs.")
    return int(size)


def _on_disk(size: int) -> int:
    return -(-size // _DISK_BLOCK) * _DISK_BLOCK


def _too_large(path: Path, needed: int, room: int) -> ArchiveTooLarge:
    return ArchiveTooLarge(
        f"The files of {path.name} take {needed / 2**20:,.1f} MiB on disk; {room / 2**20:,.1f} MiB are free for them.",
        hint="Free some room there, or name a folder on another disk.",
        data={"needed_bytes": needed, "free_bytes": room},
    )


class _NewFiles:
    """Writes into a folder in which nothing is yet and nobody else does."""

    def __init__(self, root: Path, objects: Conversation, spare: int) -> None:
        """`spare`: bytes on disk for copies that are no further names."""
        self._root = root
        self._objects = objects
        self._spare = spare
        self._folder = ""

    def write(self, name: str, blob: str) -> None:
        """In the order of their names: a folder is made once."""
        folder = name.rpartition("/")[0]
        if folder != self._folder:
            (self._root / folder).mkdir(parents=True, exist_ok=True)
            self._folder = folder
        copy = _COPY.fullmatch(name)
        if copy is None or not self._link(f"messages/{copy[1]}", name, blob):
            self._tell(name, blob, is_counted=copy is None)

    def _link(self, canonical: str, name: str, blob: str) -> bool:
        with suppress(OSError):
            size = facts_of(self._root, canonical).st_size
            if size <= READ_UNASKED and blob_of(self._root, canonical, size=size) == blob:
                os.link(self._root / canonical, self._root / name, follow_symlinks=False)
                return True
        return False

    def _tell(self, name: str, blob: str, *, is_counted: bool) -> None:
        self._objects.say(f"{blob}\n".encode())
        size = self._objects.hear().rpartition(b" ")[2]
        left = int(size) if size.isdigit() else -1
        if not is_counted:
            needed = _on_disk(max(left, 0))
            if needed > self._spare:
                raise _too_large(self._root, needed, self._spare)
            self._spare -= needed
        with os.fdopen(os.open(self._root / name, _NEW, 0o666), "wb") as file:
            while left > 0 and (piece := self._objects.hear_bytes(min(CHUNK, left))):
                left -= len(piece)
                file.write(piece)
        if left:
            raise GitFailed(f"Git does not have all of {blob}, which the archive needs.")
        self._objects.hear_bytes(1)


def _header(commit: str) -> bytes:
    """HEAD too, for `git clone`: it checks out what that names."""
    return f"# v2 git bundle\n{commit} {BRANCH}\n{commit} HEAD\n\n".encode()


def _without_header(stream: Iterator[bytes], header: bytes) -> bytes:
    """The rest of the piece in which it ends."""
    begin = b""
    for piece in stream:
        begin += piece
        if len(begin) >= len(header):
            break
    if not begin.startswith(header):
        raise UnfitBundle(
            f"It is no bundle of {header.split()[4].decode('ascii', 'replace')} alone, as it is said to be.",
            hint="It was damaged, or made by hand. Take another copy.",
        )
    return begin[len(header) :]


def _require_plain(repository: ArchiveRepository) -> None:
    """Of ours nothing is a link or another repository; of people's nothing is asked but that there is an end to it."""
    for entry in bounded(repository, _listed(repository, "-t", "-l")):
        facts, _, name = entry.partition("\t")
        if not facts.startswith((_FOLDER_MODE, *_ODD_MODES)):
            require_size(name, _bytes_in(facts))
        if len(name) > _LONGEST_PATH:
            raise GitFailed(f"a path in it is longer than {_LONGEST_PATH:,} characters: {name[:100]!r}")
        if facts.startswith(_ODD_MODES) and name.partition("/")[0] in (ARCHIVE_FILE, *OWN_FOLDERS):
            raise UnfitBundle(
                f"{name!r:.200} is a link in it, where an archive has files.",
                hint="It was made by hand: do not use it.",
            )


def _require_short_commits(repository: ArchiveRepository) -> None:
    """Whoever reads a history has each message whole in memory, and so has Git."""
    each = ("--batch-all-objects", "--unordered", "--batch-check=%(objecttype) %(objectsize)")
    with repository.talk("cat-file", *each, timeout_s=LIMIT_S) as objects:
        objects.end()
        while said := objects.hear():
            kind, _, size = said.partition(b" ")
            if kind == b"commit" and int(size) > LONGEST_RECORD:
                raise GitFailed(f"a commit in it has {int(size):,} bytes")


def _require_bounded_history(repository: ArchiveRepository) -> None:
    """What its commits changed is read commit by commit later on: to that too there is an end."""
    log = ("log", "--root", "--diff-merges=first-parent", "--no-renames", "--name-only", "--no-show-signature", "-z")
    changed = repository.records(*log, "--format=", BRANCH, "--", timeout_s=LIMIT_S)
    for _ in bounded(repository, changed, times=_CHANGES_OF_A_PATH):
        pass
