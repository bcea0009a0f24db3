"""An archive's history as one stream, a Git bundle of its branch, and an archive begun anew from such a stream.

The same commit always gives the same bytes, whatever packs its objects lie in: nothing is taken over from them, and
one thread looks for deltas. `git clone` reads the stream as it is. Reading one back trusts none of it: Git checks every
object in a bounded process before the branch names a commit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from mcp_agent_mail.archive.folders import blob_of, facts_of
from mcp_agent_mail.archive.git_folder import STATE
from mcp_agent_mail.archive.months import KeptMonths, MonthsNote, months_around
from mcp_agent_mail.archive.notes.thread_pages import begun_at, write_thread_note
from mcp_agent_mail.archive.recovery import OPEN_NOTE
from mcp_agent_mail.archive.repository import BIG_FILES, BRANCH, READ_UNASKED, ArchiveRepository, sync_below
from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.git.environment import GitPlace
from mcp_agent_mail.core.git.process import Conversation, GitFailed, talk_to_git
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE, OWN_FOLDERS

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
_ODD_MODES = ("120000", "160000")
"""Links and other repositories. A person may have some beside what is ours."""


class UnfitBundle(InvalidInput):
    """The stream is not the whole history that it is said to be."""


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
    returns; what is left after a failure is the caller's to remove. Raises UnfitBundle.
    """
    repository = ArchiveRepository(path)
    repository.create(work_tree)
    stream = iter(pieces)
    rest = _without_header(stream, _header(commit))
    place = GitPlace(git_dir=repository.git_path, is_foreign=True)
    try:
        with talk_to_git(*_UNPACKING, config=_UNPACKING_CONFIG, timeout_s=LIMIT_S, place=place) as git:
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
        _require_plain(repository)
    except GitFailed as failed:
        raise UnfitBundle(
            f"Git does not take it for a whole history of {commit}: {failed.message}",
            hint="It was damaged, or made by hand. Take another copy.",
        ) from failed
    # What its pages tell of is not known here: all are due.
    write_thread_note(path, begun_at(OutboxSeq(0)))
    sync_below(repository.git_path)


def show_files(path: Path, *, most: int, clock: Clock) -> None:
    """Write the files of a new archive, in a folder that is ours alone, as the branch has them; beyond `most` of them
    those of recent months. Nothing is synced: whoever opens it next looks at all of that once more.
    """
    repository = ArchiveRepository(path)
    kept = None
    if sum(1 for _ in _listed(repository, "--name-only")) > most:
        kept = KeptMonths(months=months_around(clock()))
        MonthsNote(path / STATE).write(kept)
    with repository.talk("cat-file", "--batch", timeout_s=LIMIT_S) as objects:
        files = _NewFiles(repository.work_tree, objects)
        # Canonical files first: equal copies are further names of them, as whoever writes archives makes them.
        for is_copy in (False, True):
            for entry in _listed(repository):
                facts, _, name = entry.partition("\t")
                if facts.startswith(_ODD_MODES) or (kept is not None and not kept.hold(name)):
                    continue
                if (_COPY.fullmatch(name) is not None) is is_copy:
                    files.write(name, facts.rpartition(" ")[2])
    (path / OPEN_NOTE).touch()


def _listed(repository: ArchiveRepository, *how: str) -> Iterator[str]:
    return repository.records("ls-tree", "-r", "-z", *how, BRANCH, timeout_s=LIMIT_S)


class _NewFiles:
    """Writes into a folder in which nothing is yet and nobody else does."""

    def __init__(self, root: Path, objects: Conversation) -> None:
        self._root = root
        self._objects = objects
        self._folder = ""

    def write(self, name: str, blob: str) -> None:
        """In the order of their names: a folder is made once."""
        folder = name.rpartition("/")[0]
        if folder != self._folder:
            (self._root / folder).mkdir(parents=True, exist_ok=True)
            self._folder = folder
        copy = _COPY.fullmatch(name)
        if copy is None or not self._link(f"messages/{copy[1]}", name, blob):
            self._tell(name, blob)

    def _link(self, canonical: str, name: str, blob: str) -> bool:
        with suppress(OSError):
            size = facts_of(self._root, canonical).st_size
            if size <= READ_UNASKED and blob_of(self._root, canonical, size=size) == blob:
                os.link(self._root / canonical, self._root / name, follow_symlinks=False)
                return True
        return False

    def _tell(self, name: str, blob: str) -> None:
        self._objects.say(f"{blob}\n".encode())
        size = self._objects.hear().rpartition(b" ")[2]
        left = int(size) if size.isdigit() else -1
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
    """Of ours nothing is a link or another repository, of people's nothing is asked."""
    for entry in repository.records("ls-tree", "-r", "-z", BRANCH, "--", ARCHIVE_FILE, *OWN_FOLDERS, timeout_s=LIMIT_S):
        facts, _, name = entry.partition("\t")
        if facts.startswith(_ODD_MODES):
            raise UnfitBundle(
                f"{name!r:.200} is a link in it, where an archive has files.",
                hint="It was made by hand: do not use it.",
            )
