"""A private folder in which something is built until it is whole, beside the place that it is to have."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_agent_mail.archive.repository import sync
from mcp_agent_mail.core.errors import Conflict, InvalidInput

_OWNER_ONLY = 0o700
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class PlaceTaken(Conflict):
    """Something is where something is to be made, or somebody is about to make it."""


class UnfitTarget(InvalidInput):
    """Where something is to be made it cannot be."""


@contextmanager
def scratch_folder(folder: Path, *, for_what: Path) -> Iterator[Path]:
    """An empty folder of this process alone, removed at the end; what a process that was killed has left in it goes
    first. Raises PlaceTaken while another one builds there.
    """
    folder.mkdir(mode=_OWNER_ONLY, exist_ok=True)
    descriptor = os.open(folder, _FOLDER)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlaceTaken(
                f"Another command is making {for_what} just now.", hint="Wait for it, or name another place."
            ) from None
        try:
            _clear(folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


@contextmanager
def built_aside(folder: Path, doing: str) -> Iterator[Path]:
    """A private folder that becomes `folder`, which is missing or empty, once the block ends: whole and on disk, or not
    at all. `doing` is part of the name under which it is built. Raises PlaceTaken as `scratch_folder`.
    """
    with scratch_folder(aside(folder, doing), for_what=folder) as scratch:
        built = scratch / "store"
        built.mkdir(mode=_OWNER_ONLY)
        yield built
        os.sync()  # File by file it would take milliseconds for each copy of each message.
        built.rename(folder)
        sync(folder.parent)


def aside(place: Path, doing: str) -> Path:
    """Where is built what is to lie at `place`; by a word of SCRATCH it is known as ours wherever that is."""
    return place.with_name(f".{place.name}.{doing}")


def remove_left(folder: Path) -> None:
    """Remove a scratch folder whose process was killed when it was done; one that somebody works in stays."""
    if folder.is_dir():
        with suppress(OSError, PlaceTaken), scratch_folder(folder, for_what=folder):
            pass


def _clear(folder: Path) -> None:
    for entry in list(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
