"""The files of signals: `projects/<slug>/agents/<Name>.signal`. What else lies in the folder is not touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.domain.signals import UnreadInbox, signal_place, signal_text


class SignalFiles:
    """Whoever looks sees a whole file or none: it comes by rename, readable by its owner alone."""

    def __init__(self, root: Path, *, with_metadata: bool) -> None:
        self.root = root
        self._with_metadata = with_metadata

    def show(self, inbox: UnreadInbox) -> bool:
        """Make the file say what the inbox is; whether anything had to change. Raises OSError."""
        folder_name, name = signal_place(inbox)
        folder = self.root / folder_name
        path = folder / name
        if inbox.newest is None:
            return _remove(path)
        content = signal_text(inbox, inbox.newest, with_metadata=self._with_metadata)
        if _holds(path, content):
            return False
        fresh = folder / f".{name}.new"
        try:
            _write(fresh, content)
        except FileNotFoundError:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write(fresh, content)
        except FileExistsError:  # Left by a server that was killed, or put there by somebody.
            fresh.unlink()
            _write(fresh, content)
        try:
            fresh.replace(path)
        except OSError:  # A folder lies there.
            fresh.unlink(missing_ok=True)
            raise
        return True


def has_any_signals(folder: Path, storage_root: Path) -> bool:
    """Are there signals that `remove_signals` would remove?"""
    return any(_signals(folder, storage_root))


def remove_signals(folder: Path, storage_root: Path) -> None:
    """They tell of mail that is gone with the store. Only the files that the server writes there go, as far as they can
    be removed: the folder may be any, and hold other things. One outside of the store's may be other stores' too, and
    stays as it is.
    """
    for signal in list(_signals(folder, storage_root)):
        with suppress(OSError):
            signal.unlink()
    for agents in list(_signal_folders(folder, storage_root)):
        for emptied in (agents, agents.parent, agents.parent.parent, folder):
            if emptied != storage_root:
                with suppress(OSError):
                    emptied.rmdir()


def _signals(folder: Path, storage_root: Path) -> Iterator[Path]:
    for agents in _signal_folders(folder, storage_root):
        yield from agents.glob("*.signal")


def _signal_folders(folder: Path, storage_root: Path) -> Iterator[Path]:
    """Those in the store's folder that no link leads out of."""
    if not folder.is_relative_to(storage_root) or (folder.is_symlink() and folder != storage_root):
        return
    for agents in folder.glob("projects/*/agents"):
        if agents.resolve() == folder.resolve() / agents.relative_to(folder):
            yield agents


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _holds(path: Path, content: bytes) -> bool:
    """A link, a pipe, a device holds nothing: it is replaced, neither followed nor waited for."""
    try:
        return read_plain(str(path), len(content), follow=False) == content
    except UnfitFile:
        return False


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError:
        path.unlink()
        raise
