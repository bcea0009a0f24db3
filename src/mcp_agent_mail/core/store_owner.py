"""Who owns a store now, as its lock and the file beside it say. Standard library only: the guard asks too.

The lock is the kernel's (`flock`). The file beside it is only information: while the lock is free,
nobody owns the store, whatever that file says.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

LOCK_FILE = "server.lock"
OWNER_FILE = "server.json"


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
    """Who owns the store now; None when nobody does. Cheap, and never in the way of a start."""
    return owner_by(storage_root / LOCK_FILE, storage_root / OWNER_FILE)


def owner_by(lock_file: Path, owner_file: Path) -> Owner | None:
    """As `read_owner`, of the lock in this very file."""
    if not is_held(lock_file):
        return None
    try:
        found = json.loads(owner_file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # The holder has not written it yet.
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
    """Does any process hold the lock in this file? Cheap, and in nobody's way; a file that is not there is free."""
    try:
        descriptor = os.open(lock_file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
