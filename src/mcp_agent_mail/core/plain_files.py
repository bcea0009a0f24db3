"""Files that a stranger may have put there: read only when they are ordinary, and never more than a bound of them.

And folders on a way that a stranger may have laid: no link of it is followed.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from shlex import quote

from mcp_agent_mail.core.errors import InvalidInput, Unavailable

_SHOWN = 200
_NO_FILE = "no ordinary file, but a FIFO, a device or the like"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
NOT_PLAIN = frozenset({errno.EINVAL, errno.EISDIR, errno.ELOOP})
"""What `open_plain` raises, beside what it raises of any file: of a FIFO and the like, a folder, links in a ring."""
SOCKET_ERRNOS = frozenset({errno.ENXIO, errno.EOPNOTSUPP})
"""What systems say to whoever opens one."""
_ON_THE_WAY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class UnfitFile(InvalidInput):
    """A link where none may be, no ordinary file (a FIFO, a device, a folder), or more than is read."""


class UnfitPlace(Unavailable):
    """Something else stands where a file of the store's own belongs; it is left as it is."""

    recoverable = False


def require_lock_place(path: Path, *, follow: bool) -> None:
    """Raise UnfitPlace where anything but an ordinary file stands in a lock's place: a link too, unless `follow`."""
    try:
        mode = os.stat(path, follow_symlinks=follow).st_mode  # noqa: PTH116  # as lstat and as stat
    except FileNotFoundError:
        return
    except OSError as failed:
        if failed.errno != errno.ELOOP:
            raise
        mode = stat.S_IFLNK
    if not stat.S_ISREG(mode):
        raise _unfit_place(path, mode)


def require_no_folder(path: Path) -> None:
    """Raise UnfitPlace where a folder stands in the place of a file that is written anew: all else goes with that."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise _unfit_place(path, mode)


def _unfit_place(path: Path, mode: int) -> UnfitPlace:
    kind = next(
        (kind for is_one, kind in ((stat.S_ISDIR, "a folder"), (stat.S_ISLNK, "a link")) if is_one(mode)),
        _NO_FILE,
    )
    return UnfitPlace(
        f"{path} is {kind}, where a file of the store's own belongs. It was left untouched.",
        hint=f"See what it is (ls -ld {quote(str(path))}), move it away, and run the same command again.",
        data={"path": str(path)},
    )


def real_path(path: str) -> str:
    """Where a path leads that a stranger may have written. Raises UnfitFile for what leads nowhere at all.

    Of a chain of links Python follows more than the system does, one call within the other.
    """
    try:
        return os.path.realpath(path)
    except (RecursionError, ValueError) as endless:
        raise UnfitFile(f"{path[:_SHOWN]!r} is no path, or leads through more links than are followed.") from endless


def git_directory_above(real: Path) -> Path | None:
    """The Git directory in which a real path lies, be it called `.git` or not: Git runs what it finds there."""
    return next((folder for folder in real.parents if _is_git_directory(folder)), None)


def _is_git_directory(folder: Path) -> bool:
    if folder.name.casefold() == ".git":
        return True
    return (folder / "HEAD").is_file() and all((folder / name).is_dir() for name in ("objects", "refs"))


def open_real_folder(path: Path, *, to_list: bool = True) -> int:
    """The folder at a path without any link, opened step by step from `/`: none that takes a step's place is followed.
    Unless `to_list`, it need not be one whose names may be read.

    Raises NotADirectoryError where a link or a file stands on the way, FileNotFoundError where nothing does.
    """
    at = os.open(path.anchor, _ON_THE_WAY)
    try:
        for name in path.parts[1:-1]:
            below = os.open(name, _ON_THE_WAY, dir_fd=at)
            os.close(at)
            at = below
        return os.open(path.name or path.anchor, _FOLDER if to_list else _ON_THE_WAY, dir_fd=at)
    except OSError as failed:
        # As some systems call a link where a folder belongs.
        if failed.errno == errno.ELOOP:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from failed
        raise
    finally:
        os.close(at)


def open_plain(path: Path) -> int:
    """A descriptor to read a file with. Never waits for a writer. Raises OSError: IsADirectoryError of a folder, and
    with words of our own (EINVAL) of a FIFO, a device, a socket and the like.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as failed:
        if failed.errno in SOCKET_ERRNOS:
            raise _not_plain(path) from failed
        raise
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise _not_plain(path)


def _not_plain(path: Path) -> OSError:
    return OSError(errno.EINVAL, _NO_FILE, str(path))


def read_plain(path: str, at_most: int, *, follow: bool = True, dir_fd: int | None = None) -> bytes | None:
    """What a file holds; None when there is none. Never waits for a writer. Raises UnfitFile, by name."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, dir_fd=dir_fd)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as failed:
        raise UnfitFile(f"{path} cannot be read: {reason_of(failed)}.") from failed
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise UnfitFile(f"{path} is no ordinary file.")
        content = _read(descriptor, at_most + 1)
    except OSError as failed:
        raise UnfitFile(f"{path} cannot be read: {failed.strerror}.") from failed
    finally:
        os.close(descriptor)
    if len(content) > at_most:
        raise UnfitFile(f"{path} holds more than the {at_most:,} bytes that are read of such a file.")
    return content


def _read(descriptor: int, at_most: int) -> bytes:
    content = bytearray()
    while len(content) < at_most and (piece := os.read(descriptor, min(at_most - len(content), 65_536))):
        content += piece
    return bytes(content)


def reason_of(failed: OSError | ValueError) -> str:
    """Why a file or folder was not opened or read, in words."""
    if isinstance(failed, OSError):
        return "it is a symbolic link" if failed.errno == errno.ELOOP else str(failed.strerror or failed)
    return str(failed)
