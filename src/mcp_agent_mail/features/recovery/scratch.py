"""A private folder in which something is built until it is whole, beside the place that it is to have.

Its name can be guessed, and the folder around it may be one where everybody writes: it is held open, and what lies
there under its name counts only while it is that very folder, this user's and closed to all others.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_agent_mail.archive.folders import names_in
from mcp_agent_mail.core.errors import Conflict, InvalidInput
from mcp_agent_mail.core.file_sync import sync_path

_OWNER_ONLY = 0o700
_OTHERS = 0o077
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class PlaceTaken(Conflict):
    """Something is where something is to be made, or somebody is about to make it."""


class UnfitTarget(InvalidInput):
    """Where something is to be made it cannot be."""


class ScratchFolder:
    """Of this process alone. `path` is for whoever writes in it; what is whole leaves by `put` or `link`."""

    def __init__(self, path: Path, descriptor: int, for_what: Path) -> None:
        self.path = path
        self._descriptor = descriptor
        self._for_what = for_what

    def require_own(self) -> None:
        """Raise PlaceTaken unless `path` leads to the folder that is held, nobody else's and open to nobody else."""
        held = os.fstat(self._descriptor)
        try:
            found = self.path.lstat()
        except OSError:
            found = None
        is_same = found is not None and os.path.samestat(found, held)
        if not is_same or held.st_uid != os.geteuid() or held.st_mode & _OTHERS:
            raise _foreign(self.path, self._for_what)

    def put(self, name: str, target: Path) -> None:
        """Move what was made under this name to `target`, which is missing or an empty folder, for good."""
        self.require_own()
        # Of the folder itself: whatever has its name by now, nothing of that gets a place.
        os.rename(name, target, src_dir_fd=self._descriptor)
        sync_path(target.parent)

    def link(self, name: str, target: Path) -> None:
        """As `put` for a file, never over anything: FileExistsError."""
        self.require_own()
        os.link(name, target, src_dir_fd=self._descriptor, follow_symlinks=False)
        sync_path(target.parent)

    def clear(self) -> None:
        """Remove all that lies in it. No link is followed."""
        for name in names_in(self._descriptor):
            is_folder = stat.S_ISDIR(os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_mode)
            if is_folder:
                shutil.rmtree(name, dir_fd=self._descriptor)
            else:
                os.unlink(name, dir_fd=self._descriptor)


@contextmanager
def scratch_folder(folder: Path, *, for_what: Path) -> Iterator[ScratchFolder]:
    """An empty folder of this process alone, removed at the end; what a process of this user that was killed has left
    in it goes first. Raises PlaceTaken while another one builds there, and where anything else lies there.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=_OWNER_ONLY)
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError as failed:
        if os.path.lexists(folder):
            raise _foreign(folder, for_what) from failed
        raise
    try:
        scratch = ScratchFolder(folder, descriptor, for_what)
        scratch.require_own()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlaceTaken(
                f"Another command is making {for_what} just now.", hint="Wait for it, or name another place."
            ) from None
        # Whoever held it until now has removed it.
        scratch.require_own()
        try:
            scratch.clear()
            yield scratch
        finally:
            with suppress(OSError):
                scratch.clear()
            with suppress(OSError, PlaceTaken):
                scratch.require_own()
                folder.rmdir()
    finally:
        os.close(descriptor)


@contextmanager
def built_aside(folder: Path, doing: str) -> Iterator[Path]:
    """A private folder that becomes `folder`, which is missing or empty, once the block ends: whole and on disk, or not
    at all. `doing` is part of the name under which it is built. Raises PlaceTaken as `scratch_folder`.
    """
    with scratch_folder(aside(folder, doing), for_what=folder) as scratch:
        built = scratch.path / "store"
        built.mkdir(mode=_OWNER_ONLY)
        yield built
        os.sync()  # File by file it would take milliseconds for each copy of each message.
        scratch.put("store", folder)


def aside(place: Path, doing: str) -> Path:
    """Where is built what is to lie at `place`; by a word of SCRATCH it is known as ours wherever that is."""
    return place.with_name(f".{place.name}.{doing}")


def remove_left(folder: Path) -> None:
    """Remove a scratch folder whose process was killed when it was done; one that somebody works in stays, and so does
    what is not ours.
    """
    if os.path.lexists(folder):
        with suppress(OSError, PlaceTaken), scratch_folder(folder, for_what=folder):
            pass


def _foreign(folder: Path, for_what: Path) -> PlaceTaken:
    return PlaceTaken(
        f"{folder}, where {for_what} is to be built, is not a folder of this user's alone.",
        hint=f"Look whose it is (ls -ld {folder}) and move it away; or name a place in a folder where nobody else may "
        "write.",
        data={"path": str(folder)},
    )
