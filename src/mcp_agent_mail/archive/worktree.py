"""The files people read: written once, shared by hard links, replaced but never edited in place.

Others can write to a work tree, so it is entered folder by folder (`folders`): what is put in the way
of a file keeps that file away from people, and leads nothing elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from mcp_agent_mail.archive.contents import NO_CONTENTS, Contents
from mcp_agent_mail.archive.folders import RealFolder, names_in, new_file, opened, opened_file, sync_files, write_new
from mcp_agent_mail.archive.steps import Steps, Syncing
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.file_sync import SYNCED_ONE_BY_ONE
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.domain.archive_format.attachments import Content
from mcp_agent_mail.domain.archive_format.layout import is_own
from mcp_agent_mail.domain.attachments import StoredContent

SCRATCH = ".agent-mail-new"
"""Names in the scratch folder begin so."""

_FRESH = SCRATCH
_SECOND = f"{SCRATCH}-link"
_COPY = f"{SCRATCH}-copy"
_BLOCKED_REMEMBERED = 1_000
_BLOCKED_SHOWN = 20


class WorkTreeBlocked(Conflict):
    """A person's folder or file stands where one of ours belongs; it is left alone."""


class WorkTree:
    """The files below `root`. They are written in `scratch`, on the same file system, and moved to their names whole;
    `scratch` is `root` itself where `root` is somebody else's folder.

    A path that `shows` denies is in Git alone and not written; likewise, in somebody else's folder, what is none of
    ours, whatever the branch has.
    """

    def __init__(self, root: Path, scratch: Path, shows: Callable[[str], bool]) -> None:
        self._path = root
        # In the store the way to it is ours; elsewhere others can lay it anew at any time.
        self._root = RealFolder(root) if scratch == root else root
        self._scratch = self._root if scratch == root else scratch
        self._shows = shows if scratch != root else lambda path: is_own(path) and shows(path)
        self._not_synced: set[str] = set()
        self._is_all_unsynced = False
        self.blocked: set[str] = set()

    def write(self, files: Mapping[str, Content | None], contents: Contents = NO_CONTENTS) -> None:
        """Write every file; equal contents become one inode with many names. What is None is removed.

        Of `contents` each gets a copy of its own: what a person edits here must not change what others read.
        """
        shared: dict[bytes, list[str]] = {}
        for path, content in files.items():
            if content is None:
                self.remove(path)
            elif isinstance(content, StoredContent):
                self.put_large(path, partial(contents.require, content))
            else:
                shared.setdefault(content, []).append(path)
        for content, paths in shared.items():
            self.put(content, paths)

    def put_large(self, path: str, tell: Callable[[Callable[[bytes], object]], None]) -> None:
        """As `put`, of what is never all in memory: `tell` says it piece by piece, or raises."""
        if not self._shows(path):
            return
        folder, _, name = path.rpartition("/")
        with opened(self._scratch) as scratch:
            try:
                with new_file(scratch, _COPY) as file:
                    tell(file.write)
                with opened(self._root, folder, make=True) as fd:
                    _move(scratch, _COPY, fd, name)
            except (IsADirectoryError, NotADirectoryError, FileExistsError):
                self._note_blocked(path)
            else:
                self.note(path)
            finally:
                _remove(scratch, _COPY)

    def put(self, content: bytes, paths: Iterable[str]) -> None:
        """In place of what is there, at those paths that are shown; what is in the way is noted as blocked."""
        shown = [path for path in paths if self._shows(path)]
        if not shown:
            return
        with opened(self._scratch) as scratch:
            try:
                write_new(scratch, _FRESH, content)
                for path in shown:
                    folder, _, name = path.rpartition("/")
                    try:
                        with opened(self._root, folder, make=True) as fd:
                            _place(scratch, fd, name, content)
                    except (IsADirectoryError, NotADirectoryError, FileExistsError):
                        # A person put a folder where a file belongs, or a file or a link where a folder does.
                        # Git has it: go on.
                        self._note_blocked(path)
                    else:
                        self.note(path)
            finally:
                _remove(scratch, _FRESH)

    def remove(self, path: str) -> None:
        """Remove the file at `path` if it is shown. A folder that a person has put there is left alone, and so is what
        lies behind a link.
        """
        self.blocked.discard(path)
        if self._shows(path):
            folder, _, name = path.rpartition("/")
            with (
                suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError),
                opened(self._root, folder) as fd,
            ):
                os.unlink(name, dir_fd=fd)
            self.note(path)

    def clear(self, folder: str, is_ours: Callable[[bytes], bool]) -> None:
        """Remove from a folder the files whose names are ours, and the folder, with those above it, once it is empty.
        What lies behind a link is left alone.
        """
        with suppress(FileNotFoundError, NotADirectoryError), opened(self._root, folder) as fd:
            for name in filter(lambda name: is_ours(os.fsencode(name)), names_in(fd)):
                with suppress(FileNotFoundError, IsADirectoryError):
                    os.unlink(name, dir_fd=fd)
        above, _, name = folder.rpartition("/")
        with suppress(OSError), opened(self._root, above) as fd:
            os.rmdir(name, dir_fd=fd)
        self.note(folder)

    def shows(self, path: str) -> bool:
        """Is the file at `path` one that people see, or is it in Git alone?"""
        return self._shows(path)

    def require_unblocked(self) -> None:
        """Raise WorkTreeBlocked when something stands where files belong."""
        if self.blocked:
            path = self._path / min(self.blocked)
            raise WorkTreeBlocked(
                f"{path} cannot be written: something else stands there. Git has {len(self.blocked)} such files.",
                hint=f"Move what is at {path}, or at a folder of it, away; the file is then written by itself.",
                data={"paths": sorted(self.blocked)[:_BLOCKED_SHOWN]},
            )

    def is_empty(self) -> bool:
        """Is nothing there at all, but for what people's Git needs?"""
        with opened(self._root) as fd:
            return not names_in(fd) - {".git"}

    def remove_leftovers(self) -> None:
        """Remove half-written files that a stop in the middle of writing left in `scratch`."""
        with opened(self._scratch) as scratch:
            for name in (_FRESH, _SECOND, _COPY):
                with suppress(FileNotFoundError, IsADirectoryError):
                    os.unlink(name, dir_fd=scratch)

    def _note_blocked(self, path: str) -> None:
        if len(self.blocked) < _BLOCKED_REMEMBERED:
            self.blocked.add(path)

    def note(self, path: str) -> None:
        """This file may be in the kernel's memory alone: `sync_beside` is to put it on disk."""
        if len(self._not_synced) <= SYNCED_ONE_BY_ONE:
            self._not_synced.add(path)

    def note_all(self) -> None:
        """Any file may be in the kernel's memory alone, since Git has written some: `sync_beside` is to put all on
        disk.
        """
        self._is_all_unsynced = True

    def sync(self, limit_s: float) -> None:
        """As `sync_beside`, and waits for it. Raises GitFailed when the disk takes longer."""
        for step in self.sync_beside():
            step.wait(limit_s)
            if step.is_running():
                raise GitFailed(f"files of {self._path} were not on disk within {limit_s:.0f} s")
            step.result()

    def sync_beside(self) -> Steps[None]:
        """Put everything written so far on disk, with its names: file by file, or all at once after a busy time."""
        paths, self._not_synced = self._not_synced, set()
        is_all, self._is_all_unsynced = self._is_all_unsynced or len(paths) > SYNCED_ONE_BY_ONE, False
        is_done = False
        try:
            yield Syncing(os.sync if is_all else partial(sync_files, self._root, paths))
            is_done = True
        finally:
            if not is_done:
                self._not_synced |= paths
                self._is_all_unsynced = self._is_all_unsynced or is_all


def _place(scratch: int, folder: int, name: str, content: bytes) -> None:
    """What the scratch folder has as `_FRESH`, in an open folder too."""
    try:
        os.link(_FRESH, name, src_dir_fd=scratch, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        # What a batch changed and changed back is in none of its commit's changes: mending would not look at it.
        if not _has(folder, name, content):
            _replace(scratch, folder, name, content)
    except OSError:
        # No hard links here (or no more for this inode): a copy of its own.
        _replace_by_copy(scratch, folder, name, content)


def _has(folder: int, name: str, content: bytes) -> bool:
    try:
        with opened_file(folder, name) as file, open(file, "rb", closefd=False) as stream:
            return os.fstat(file).st_size == len(content) and stream.read(len(content) + 1) == content
    except OSError:
        return False


def _replace(scratch: int, folder: int, name: str, content: bytes) -> None:
    _remove(scratch, _SECOND)
    try:
        os.link(_FRESH, _SECOND, src_dir_fd=scratch, dst_dir_fd=scratch, follow_symlinks=False)
    except OSError:
        _replace_by_copy(scratch, folder, name, content)
    else:
        _move(scratch, _SECOND, folder, name)


def _replace_by_copy(scratch: int, folder: int, name: str, content: bytes) -> None:
    write_new(scratch, _COPY, content)
    _move(scratch, _COPY, folder, name)


def _move(scratch: int, made: str, folder: int, name: str) -> None:
    """To its name, or away: what cannot be replaced leaves nothing in the scratch folder."""
    try:
        os.rename(made, name, src_dir_fd=scratch, dst_dir_fd=folder)
    except OSError:
        _remove(scratch, made)
        raise


def _remove(scratch: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=scratch)
