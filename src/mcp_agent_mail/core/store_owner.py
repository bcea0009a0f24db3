"""Who owns a store now, as its lock and the file beside it say. Light to import: the guard asks too.

The lock is the kernel's (`flock`), of a file in the store's folder and of the folder itself. The file
beside it is only information: while the lock is free, nobody owns the store, whatever that file says.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import SOCKET_ERRNOS, UnfitFile, read_plain

LOG_FILE = "server.log"
"""In STORAGE_ROOT: the stderr of a server that was started in the background."""
LOCK_FILE = "server.lock"
OWNER_FILE = "server.json"
SWAP_FILE = "swap.json"
"""In STORAGE_ROOT while the store is being replaced by another one."""
_MAX_OWNER_BYTES = 65_536
_NEVER_HELD = SOCKET_ERRNOS | {errno.ENOENT, errno.ELOOP}


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who holds the lock. `url` is where it is reached from this machine, `listens_on` what it is bound to: both
    None for a command, and for a server that does not listen yet.

    All are None while the holder has not written them yet.
    """

    pid: int | None
    url: str | None
    listens_on: str | None = None
    started: str | None


def read_owner(storage_root: Path) -> Owner | None:
    """Who owns the store now; None when nobody does. Cheap, and never in the way of a start.

    Its folder is locked besides the file in it: a file can be removed under its holder.
    """
    is_owned = is_held(storage_root / LOCK_FILE) or is_folder_held(storage_root)
    return told_owner(storage_root / OWNER_FILE) if is_owned else None


def owner_by(lock_file: Path, owner_file: Path) -> Owner | None:
    """Who holds the lock in this very file; None when nobody does."""
    return told_owner(owner_file) if is_held(lock_file) else None


def told_owner(owner_file: Path) -> Owner:
    """What the holder says of itself."""
    try:
        found = json.loads(read_plain(str(owner_file), _MAX_OWNER_BYTES) or b"")
    except (UnfitFile, ValueError, RecursionError):  # The holder writes it soon, or again.
        found = None
    told = found if isinstance(found, dict) else {}
    pid, url, listens_on, started = (told.get(name) for name in ("pid", "url", "listens_on", "started"))
    return Owner(
        pid=pid if isinstance(pid, int) else None,
        url=url if isinstance(url, str) else None,
        listens_on=listens_on if isinstance(listens_on, str) else None,
        started=started if isinstance(started, str) else None,
    )


def is_held(lock_file: Path) -> bool:
    """Does any process hold the lock in this file? Cheap, and in nobody's way; a file that is not there is free, and so
    is what no lock is ever taken in.
    """
    try:
        descriptor = os.open(lock_file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as failed:
        if failed.errno in _NEVER_HELD:
            return False
        raise
    return _is_locked(descriptor)


def is_folder_held(folder: Path) -> bool:
    """Does any process hold the lock of this folder? Where folders cannot be locked nobody does."""
    try:
        return _is_locked(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:
        return False


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
