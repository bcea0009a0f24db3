"""The files people read: written once, shared by hard links, replaced but never edited in place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath

from mcp_agent_mail.archive.repository import sync
from mcp_agent_mail.archive.steps import Steps, Syncing, sync_each
from mcp_agent_mail.core.errors import Conflict

_FOLDERS_REMEMBERED = 10_000
_SYNCED_ONE_BY_ONE = 1_000
_BLOCKED_REMEMBERED = 1_000
_BLOCKED_SHOWN = 20


class WorkTreeBlocked(Conflict):
    """A person's folder or file stands where one of ours belongs; it is left alone."""


class WorkTree:
    """`scratch` lies inside `.git`, on the same file system: half a file is never seen under its name.

    What it does not `show` is in Git alone and not written.
    """

    def __init__(self, root: Path, scratch: Path, shows: Callable[[str], bool]) -> None:
        self._root = root
        self._scratch = scratch
        self._shows = shows
        self._known: set[str] = set()
        self._not_synced: set[str] = set()
        self._is_all_unsynced = False
        self.blocked: set[str] = set()

    def write(self, files: Mapping[str, bytes | None]) -> None:
        """Write every file; equal contents become one inode with many names. What is None is removed."""
        shared: dict[bytes, list[str]] = {}
        for path, content in files.items():
            if content is None:
                self.remove(path)
            else:
                shared.setdefault(content, []).append(path)
        for content, paths in shared.items():
            self.put(content, paths)

    def put(self, content: bytes, paths: Iterable[str]) -> None:
        shown = [path for path in paths if self._shows(path)]
        if not shown:
            return
        fresh = self._scratch / "new"
        _write_anew(fresh, content)
        for path in shown:
            try:
                self._make_folder(path)
                self._place(fresh, self._root / path, content)
            except (IsADirectoryError, NotADirectoryError, FileExistsError):
                # A person put a folder where a file belongs, or a file where a folder does. Git has it: go on.
                self._note_blocked(path)
            else:
                self.note(path)
        fresh.unlink()

    def remove(self, path: str) -> None:
        """A folder that a person has put there is left alone."""
        if self._shows(path):
            with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                (self._root / path).unlink()
            self.note(path)

    def require_unblocked(self) -> None:
        """Raise WorkTreeBlocked when something stands where files belong."""
        if self.blocked:
            path = self._root / min(self.blocked)
            raise WorkTreeBlocked(
                f"{path} cannot be written: something else stands there. Git has {len(self.blocked)} such files.",
                hint=f"Move what is at {path}, or at a folder of it, away; the file is then written by itself.",
                data={"paths": sorted(self.blocked)[:_BLOCKED_SHOWN]},
            )

    def _note_blocked(self, path: str) -> None:
        if len(self.blocked) < _BLOCKED_REMEMBERED:
            self.blocked.add(path)

    def note(self, path: str) -> None:
        """This file may be in the kernel's memory alone: `sync_beside` is to put it on disk."""
        if len(self._not_synced) <= _SYNCED_ONE_BY_ONE:
            self._not_synced.add(path)

    def note_all(self) -> None:
        """So may any file: Git has written some."""
        self._is_all_unsynced = True

    def sync_beside(self) -> Steps[None]:
        """Put everything written so far on disk, with its names: file by file, or all at once after a busy time."""
        paths, self._not_synced = self._not_synced, set()
        is_all, self._is_all_unsynced = self._is_all_unsynced or len(paths) > _SYNCED_ONE_BY_ONE, False
        is_done = False
        try:
            yield Syncing(os.sync if is_all else partial(self._sync_each, paths))
            is_done = True
        finally:
            if not is_done:
                self._not_synced |= paths
                self._is_all_unsynced = self._is_all_unsynced or is_all

    def _sync_each(self, paths: Iterable[str]) -> None:
        inodes: set[int] = set()
        folders: set[Path] = set()
        for path in paths:
            place = self._root / path
            folders.update(self._root / parent for parent in PurePosixPath(path).parents)
            with suppress(FileNotFoundError):  # A person may have removed it.
                inode = place.stat().st_ino
                if inode not in inodes:
                    inodes.add(inode)
                    sync(place)
        sync_each(folders)

    def _place(self, fresh: Path, target: Path, content: bytes) -> None:
        try:
            os.link(fresh, target)
        except FileExistsError:
            self._replace(fresh, target, content)
        except OSError:
            # No hard links here (or no more for this inode): a copy of its own.
            self._replace_by_copy(target, content)

    def _replace(self, fresh: Path, target: Path, content: bytes) -> None:
        second = self._scratch / "link"
        second.unlink(missing_ok=True)
        try:
            os.link(fresh, second)
        except OSError:
            self._replace_by_copy(target, content)
        else:
            second.replace(target)

    def _replace_by_copy(self, target: Path, content: bytes) -> None:
        copy = self._scratch / "copy"
        _write_anew(copy, content)
        copy.replace(target)

    def _make_folder(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        if folder in self._known:
            return
        (self._root / folder).mkdir(parents=True, exist_ok=True)
        if len(self._known) >= _FOLDERS_REMEMBERED:
            self._known.clear()
        self._known.add(folder)


def _write_anew(path: Path, content: bytes) -> None:
    """A file of its own: one that a crash left here may be an archived mail's by another name."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
