"""Contents of attachments on their way from beside the database into an archive, in pieces: never whole in memory.

One that is gone there, or is not what its name says, keeps no mail out of Git. The archive notes what it lacks and
gets it once it is there again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.archive.folders import NotAFile, OtherSize
from mcp_agent_mail.archive.git_folder import read_note
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.json_limits import read_bounded
from mcp_agent_mail.core.plain_files import UnfitFile
from mcp_agent_mail.domain.archive_format.attachments import Content
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.attachments import ATTACHMENTS_FOLDER, StoredContent, is_content_path

CHUNK = 1 << 20
_SHOWN = 20
_NOTE_BYTES = 32 << 20
_ENTRY_PARTS = 16
"""Bytes for each part: an entry has six, in ninety bytes."""


class ContentsMissing(NotFound):
    """An archive lacks what its mail carries, since it is not beside the database."""


class Contents:
    """Those that are kept beside the database; None: there are none."""

    def __init__(self, files: AttachmentFiles | None) -> None:
        self._files = files

    @contextmanager
    def opened(self, content: StoredContent) -> Iterator[BinaryIO]:
        """To be read. Raises OSError where no plain file of this size is."""
        with self._file(content.sha256) as stream:
            if os.fstat(stream.fileno()).st_size != content.bytes:
                raise OtherSize(errno.EINVAL, "is of another size", content.sha256)
            yield stream

    def has(self, content: StoredContent) -> bool:
        """Is it there, whole? Reads all of it."""
        return self.tell(content, lambda _: None)

    def problem_of(self, sha256: str) -> str | None:
        """`missing` or `different` (from what its name says); None when it is neither. Reads all of it."""
        hashed = hashlib.sha256()
        try:
            with self._file(sha256) as stream:
                while chunk := stream.read(CHUNK):
                    hashed.update(chunk)
        except (FileNotFoundError, NotADirectoryError):
            return "missing"
        except OSError:
            return "different"
        return None if hashed.hexdigest() == sha256 else "different"

    def tell(self, content: StoredContent, say: Callable[[bytes], object]) -> bool:
        """Say all of it, once it is open, in exactly as many bytes as it has; False unless that was the content.

        What cannot be read to its end is filled up: whoever listens was promised so many.
        """
        try:
            with self.opened(content) as stream:
                return _told(stream, content, say)
        except OSError:
            return False

    def require(self, content: StoredContent, say: Callable[[bytes], object]) -> None:
        """As `tell`. Raises OSError where that was not the content."""
        if not self.tell(content, say):
            raise OSError(errno.EIO, "cannot be read", content.sha256)

    @contextmanager
    def _file(self, sha256: str) -> Iterator[BinaryIO]:
        if self._files is None:
            raise FileNotFoundError(errno.ENOENT, "is not there", sha256)
        with self._files.open(sha256) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise NotAFile(errno.EINVAL, "is no plain file", sha256)
            yield stream


NO_CONTENTS = Contents(None)


def _told(stream: BinaryIO, content: StoredContent, say: Callable[[bytes], object]) -> bool:
    hashed = hashlib.sha256()
    left = content.bytes
    while left:
        chunk = b""
        with suppress(OSError):
            chunk = stream.read(min(CHUNK, left))
        chunk = chunk or bytes(min(CHUNK, left))
        hashed.update(chunk)
        left -= len(chunk)
        say(chunk)
    return hashed.hexdigest() == content.sha256


def without_known(
    repository: ArchiveRepository, tip: str | None, files: Mapping[str, Content | None]
) -> Mapping[str, Content | None]:
    """Of contents those alone that the commit `tip` has not: their paths say what they are."""
    large = [path for path, file in files.items() if isinstance(file, StoredContent)]
    if not large or tip is None:
        return files
    found = zip(large, repository.blobs_at(tip, large), strict=True)
    known = {path for path, blob in found if blob is not None}
    return {path: file for path, file in files.items() if path not in known}


def without_same(
    repository: ArchiveRepository, tip: str | None, files: Mapping[str, bytes | None]
) -> dict[str, bytes | None]:
    """Those alone that the commit `tip` has otherwise, or not at all; None for what is not to be there."""
    if not files or tip is None:
        return {path: content for path, content in files.items() if content is not None}
    found = zip(files.items(), repository.blobs_at(tip, files), strict=True)
    return {path: content for (path, content), blob in found if blob != (None if content is None else blob_id(content))}


def contents_of_branch(repository: ArchiveRepository) -> list[StoredContent]:
    """What the branch has where contents lie, by its names alone; nothing where there is no archive."""
    if not repository.exists() or repository.tip() is None:
        return []
    found = []
    for entry in repository.records("ls-tree", "-r", "-l", "-z", BRANCH, "--", ATTACHMENTS_FOLDER):
        facts, _, path = entry.partition("\t")
        sha256, _, extension = path.rpartition("/")[2].partition(".")
        if is_content_path(path):
            found.append(StoredContent(sha256=sha256, bytes=int(facts.split()[-1]), extension=extension))
    return found


class MissingContents:
    """What one archive should have and does not, noted at `note`, which outlives the process.

    `newest`: paths that the last commit went without.
    """

    def __init__(self, note: Path) -> None:
        self._note = note
        self._lacked = _read(note)
        self.newest: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(self._lacked)

    @property
    def files(self) -> Mapping[str, StoredContent]:
        """By path."""
        return dict(self._lacked)

    def note(self, files: Mapping[str, StoredContent]) -> None:
        """A commit is about to go without these. On disk when this returns: before Git has mail that carries them."""
        self.newest = frozenset(files)
        if files.keys() - self._lacked.keys():
            self._lacked.update(files)
            self._write()

    def remove(self, paths: Collection[str]) -> None:
        """They are there, or need not be any more."""
        if not self._lacked.keys().isdisjoint(paths):
            self._lacked = {path: content for path, content in self._lacked.items() if path not in paths}
            self._write()

    def require_none(self) -> None:
        """Raise ContentsMissing when something is lacked."""
        if self._lacked:
            first = min(self._lacked)
            raise ContentsMissing(
                f"{self._note.parents[2]} lacks {len(self._lacked)} of the files that its mail carries, {first} among "
                "them: beside the database they are missing or damaged.",
                hint="Put the folder attachments/ of STORAGE_ROOT back from a backup: what was missing is then brought "
                "by itself. The mail itself is in Git.",
                data={"paths": sorted(self._lacked)[:_SHOWN]},
            )

    def _write(self) -> None:
        if not self._lacked:
            self._note.unlink(missing_ok=True)
            return
        listed = [[content.sha256, content.bytes, content.extension] for content in self._lacked.values()]
        fresh = self._note.with_suffix(".new")
        fresh.write_text(json.dumps(listed))
        sync_path(fresh)
        fresh.replace(self._note)
        sync_path(self._note.parent)


def _read(note: Path) -> dict[str, StoredContent]:
    """Of a note that cannot be read nothing is known: `am doctor verify` names what Git lacks."""
    found = {}
    with suppress(OSError, ValueError, TypeError, RecursionError, UnfitFile):
        for sha256, size, extension in read_bounded(read_note(note, _NOTE_BYTES) or b"[]", _NOTE_BYTES // _ENTRY_PARTS):
            content = StoredContent(sha256=sha256, bytes=size, extension=extension)
            found[content.path] = content
    return found
