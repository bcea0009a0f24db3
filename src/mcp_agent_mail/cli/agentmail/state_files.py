"""What `agentmail` notes of a project beside the hooks' files: who notifies its windows, and what was cleaned up."""

from __future__ import annotations

import fcntl
import os
import time
import zlib

from mcp_agent_mail.cli.agentmail.refusals import OUTSIDE, Failure
from mcp_agent_mail.clients.hook.descriptors import write_all
from mcp_agent_mail.clients.hook.session_file import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

STALE = "Warning: Stale PID file found, cleaning up"
_LOOKS_WITHIN_S = 0.2
_LOOK_AGAIN_S = 0.01
_MAX_BYTES = 64
_MAX_PID = 1 << 31


class ProjectFiles:
    """The folder of one project, which is made at the first write."""

    __slots__ = ("folder",)

    def __init__(self, environ: Mapping[str, str], project: str) -> None:
        base = os.path.dirname(state_folder(environ).rstrip("/"))
        name = os.path.basename(project) or "root"
        readable = "".join(one if one.isascii() and one.isalnum() else "-" for one in name)[:40]
        self.folder = f"{base}/agentmail/{readable}-{zlib.crc32(os.fsencode(project)):08x}"

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def counted_to(self) -> int:
        """Up to when a clean-up has counted what was read; 0 where none has."""
        text = self._read("cleaned")
        return int(text) if text.isascii() and text.isdigit() else 0

    def note_counted(self, until: int) -> None:
        """A clean-up has counted up to here."""
        self._open_folder()
        descriptor = os.open(self.path("cleaned"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            write_all(descriptor, str(until).encode())
        finally:
            os.close(descriptor)

    def running(self) -> int | None:
        """The process that notifies the project's windows. Raises Failure where its file holds no number."""
        try:
            descriptor = os.open(self.path("mailman.pid"), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            is_held = not _locked(descriptor)
        finally:
            os.close(descriptor)
        pid = self._pid()
        return pid if is_held else None

    def _pid(self) -> int | None:
        text = self._read("mailman.pid").strip()
        if not text:
            return None
        if not (text.isascii() and text.isdigit() and 0 < int(text) < _MAX_PID):
            raise Failure(f"corrupt PID file: {self.path('mailman.pid')}")
        return int(text)

    def is_stale(self) -> bool:
        """A process that is gone has left its number. Raises Failure where it is none."""
        return self.running() is None and self._pid() is not None

    def take(self) -> int:
        """Be the one that notifies, for as long as the descriptor is open. Raises Failure where another one is."""
        self._open_folder()
        descriptor = os.open(self.path("mailman.pid"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # Who only looks whether one notifies has the lock for a moment too.
        until = time.monotonic() + _LOOKS_WITHIN_S
        while not _locked(descriptor):
            if time.monotonic() > until:
                os.close(descriptor)
                raise already_running(self._pid())
            time.sleep(_LOOK_AGAIN_S)
        os.ftruncate(descriptor, 0)
        write_all(descriptor, f"{os.getpid()}\n".encode())
        return descriptor

    def leave(self, descriptor: int) -> None:
        """Nobody notifies any more."""
        os.ftruncate(descriptor, 0)
        os.close(descriptor)

    def _open_folder(self) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)

    def _read(self, name: str) -> str:
        try:
            descriptor = os.open(self.path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return ""
        try:
            return os.read(descriptor, _MAX_BYTES).decode("utf-8", "replace")
        finally:
            os.close(descriptor)


def already_running(pid: int | None) -> Failure:
    return Failure(f"mailman daemon already running (PID: {pid or 0})", OUTSIDE)


def _locked(descriptor: int) -> bool:
    """Whether the lock of the file is ours now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
