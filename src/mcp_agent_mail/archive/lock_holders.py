"""Who holds a lock: asked of the kernel, where it tells (`/proc`), so that a person need not search.

A lock of an archive is the open file of the archiver that took it, and of the Git processes that were given it. Nobody
else ever opens that file to lock it: whoever holds it, when no archiver does, is a Git process that a dead one left.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.core.lazy.dataclass import dataclass

_PROCESSES = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class LockHolder:
    """A process of this user. `command` is the name of its program."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})"


def holders(path: Path) -> list[LockHolder]:
    """The others that hold the lock in this file, by pid; none where the kernel does not tell."""
    wanted = os.path.realpath(path)
    found = []
    with suppress(OSError):
        for pid in sorted(int(entry.name) for entry in _PROCESSES.iterdir() if entry.name.isdecimal()):
            # It may end at any moment, or be another user's.
            with suppress(OSError):
                if pid != os.getpid() and _holds(_PROCESSES / str(pid), wanted):
                    command = (_PROCESSES / str(pid) / "comm").read_text(errors="replace").strip()
                    found.append(LockHolder(pid=pid, command=command))
    return found


def named(found: list[LockHolder]) -> str:
    """The holders in words, as the subject of a sentence; "another process" where none is known."""
    return ", ".join(map(str, found)) or "another process"


def end_orphans(path: Path) -> list[LockHolder]:
    """Kill the Git processes that hold the lock of an archive and whose archiver is dead, with all they started.

    The caller holds the lock of the archiver: so theirs is another one, which is no more. Its own are spared.
    """
    orphans = [one for one in holders(path) if not _is_ours(one.pid)]
    for orphan in orphans:
        with suppress(OSError):
            group = os.getpgid(orphan.pid)
            if group == os.getpgrp():
                os.kill(orphan.pid, signal.SIGKILL)
            else:
                os.killpg(group, signal.SIGKILL)
    return orphans


def _holds(process: Path, wanted: str) -> bool:
    # By name: a look at the files themselves could hang with them.
    return any("FLOCK" in (process / "fdinfo" / descriptor).read_text() for descriptor in _descriptors(process, wanted))


def _descriptors(process: Path, wanted: str) -> Iterator[str]:
    if process.stat().st_uid != os.geteuid():
        return
    for descriptor in (process / "fd").iterdir():
        with suppress(OSError):
            if str(descriptor.readlink()) == wanted:
                yield descriptor.name


def _is_ours(pid: int) -> bool:
    """Have we started it, or did one that we started? Also once it has ended: then there is nothing to do."""
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            stat = (_PROCESSES / str(pid) / "stat").read_text(errors="replace")
        except OSError:
            return True
        pid = int(stat.rpartition(")")[2].split()[1])
    return False
