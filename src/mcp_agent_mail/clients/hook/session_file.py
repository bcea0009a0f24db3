"""What the hooks of one session know of each other: a small private file, below XDG_STATE_HOME.

Told once is decided by the server, and does not rest on it. What a session registered as stands here alone, and so
does what counts mail that was given and not printed: a file that is lost costs the session its name, unless that is
given elsewhere, and such a count. So a file is replaced by a rename once the new one is whole, and stays as it was
where that cannot be. One that is broken, too large, somebody else's, or has a value of another type than we write
counts as none. There are so many at most.
"""

from __future__ import annotations

import json
import os
import time

from mcp_agent_mail.clients.hook.descriptors import write_all
from mcp_agent_mail.core.home_folder import home_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    # Any: JSON of our own, of which every value is checked as it is read.
    Json = Any

MAX_FILES = 400
"""Of sessions; beyond, those go that were at work longest ago."""

MAX_FILE_BYTES = 16 * 1024

_KEPT = 300
_AHEAD_S = 60.0
"""So far two clocks may be apart: the folder can lie on another machine."""

_MAX_NAME = 100
_LOCK = ".lock"
_LOCK_TRIES = 20
_LOCK_WAIT_S = 0.005
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
_MISREAD = (ValueError, RecursionError)
_MAX_NUMBER = 1e15
_TEXTS = ("agent", "project", "window_agent")
_LISTS = ("asking", "reprimed", "watcher")
_FLAGS = ("compacted", "ended", "must", "owed")
_WHOLE = ("row", "said")
_TIMES = ("said_at", "turned", "woken_at")
"""What we write, by its type."""


def state_folder(environ: Mapping[str, str]) -> str:
    """Where the files are: by the XDG rules a relative path counts as none."""
    given = environ.get("XDG_STATE_HOME", "")
    root = given if given.startswith("/") else f"{home_folder(environ)}/.local/state"
    return f"{root}/mcp-agent-mail/hooks"


def plain_name(client: str, session: str, at_most: int = _MAX_NAME) -> str:
    """A name for a session of a client: what it is called, where that can be a file's name, else a hash of it."""
    if len(client) + 1 + len(session) <= at_most and _PLAIN.issuperset(session):
        return f"{client}-{session}"
    import hashlib  # noqa: PLC0415  # most sessions are called by a UUID

    return f"{client}.{hashlib.sha256(session.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"


class SessionFile:
    """The state of one session. Where there can be no file, it lasts as long as the run."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder = folder
        self._path = f"{folder}/{name}.json"
        self._in_memory: dict[str, Json] | None = None

    def read(self) -> dict[str, Json]:
        """What is known; nothing where the file is none of ours."""
        if self._in_memory is not None:
            return dict(self._in_memory)
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                content = os.read(descriptor, MAX_FILE_BYTES + 1)
            finally:
                os.close(descriptor)
            value = json.loads(content) if len(content) <= MAX_FILE_BYTES else None
        except (OSError, *_MISREAD):
            return {}
        return value if isinstance(value, dict) and _is_ours(value) else {}

    def change(self, by: Callable[[dict[str, Json]], object]) -> dict[str, Json]:
        """Read, let `by` change it in place, write if it did; one hook of a session at a time. Gives what it is now."""
        lock = self._lock()
        try:
            state = self.read()
            before = json.dumps(state)
            by(state)
            if (after := json.dumps(state)) != before and len(after) <= MAX_FILE_BYTES:
                self._write(state, after)
        finally:
            if lock is not None:
                os.close(lock)
        return state

    def forget(self) -> None:
        """The session has ended."""
        _unlink(self._path)

    def _lock(self) -> int | None:
        """The lock of all the files; None when it could not be had soon: then two hooks may both think they wrote."""
        import fcntl  # noqa: PLC0415  # built in

        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)  # noqa: PTH103  # as above
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(f"{self._folder}/{_LOCK}", flags, 0o600)
        except OSError:
            return None
        for _ in range(_LOCK_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except OSError:
                time.sleep(_LOCK_WAIT_S)
        os.close(descriptor)
        return None

    def _write(self, state: dict[str, Json], text: str) -> None:
        fresh = f"{self._path}.{os.getpid()}.new"
        try:
            is_new = not os.path.lexists(self._path)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                write_all(descriptor, text.encode())
            finally:
                os.close(descriptor)
            os.replace(fresh, self._path)  # noqa: PTH105  # as above
            if is_new:
                _make_room(self._folder, self._path)
        except OSError:
            # A full disk, as a rule: the file of before is whole, and this run goes on with what it knows.
            self._in_memory = dict(state)
            _unlink(fresh)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108  # starts faster
    except OSError:
        return


def _is_ours(value: dict[str, Json]) -> bool:
    """Is each value of the type that we write it in? Numbers are such that can be reckoned with."""
    return (
        all(isinstance(value.get(key, ""), str) or (key == "project" and value[key] is None) for key in _TEXTS)
        and all(isinstance(value.get(key, []), list) for key in _LISTS)
        and all(isinstance(value.get(key, False), bool) for key in _FLAGS)
        and all(type(value.get(key, 0)) is int and 0 <= value.get(key, 0) < _MAX_NUMBER for key in _WHOLE)
        and all(type(value.get(key, 0)) in (int, float) and 0 <= value.get(key, 0) < _MAX_NUMBER for key in _TIMES)
        and all(type(one) in (int, float) for one in value.get("reprimed", [])[1:])
    )


def _make_room(folder: str, fresh: str) -> None:
    """`fresh` stays. A time that lies ahead is of before the clock was set back, so it counts as the longest ago."""
    now = time.time()
    names = os.listdir(folder)  # noqa: PTH208  # as above
    if len(names) <= MAX_FILES:
        return
    aged = []
    for name in names:
        try:
            changed = os.lstat(f"{folder}/{name}").st_mtime
            aged.append((f"{folder}/{name}" == fresh, changed <= now + _AHEAD_S, changed, name))
        except OSError:
            continue
    aged.sort(reverse=True)
    for *_, name in aged[_KEPT:]:
        if name != _LOCK:
            _unlink(f"{folder}/{name}")
