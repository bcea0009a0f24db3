"""Files below a folder that others can write to, opened folder by folder without following a link.

Whatever stands in the way (a link, a FIFO, a device) is an OSError at once: nothing is read or written elsewhere,
and nothing waits. The way to the first folder is taken as its path says where it is the store's, and links on it are
its owner's. Where a stranger laid it, or can lay it anew, it is a `RealFolder` one, opened step by step from `/` on.
What a file here holds is read by `core.plain_files`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import IO

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import open_real_folder

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a FIFO would be waited for.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 20
_FRESH_BYTES = 4


class NotAFile(OSError):
    """A link, a FIFO or a device lies where a file is expected."""


class OtherSize(OSError):
    """A file is larger or smaller than the one that was expected."""


@dataclass(frozen=True, slots=True)
class RealFolder:
    """A folder whose path had no link on it when it was looked at: one that stands on it now is refused."""

    path: Path


_NOT_OURS = (FileNotFoundError, NotADirectoryError, NotAFile)


@contextmanager
def opened(root: Path | RealFolder, folder: str = "", *, make: bool = False) -> Iterator[int]:
    """The folder `folder` below `root`, or `root` itself; `make` what is missing below it.

    Raises NotADirectoryError where a link or a file stands in the way, FileNotFoundError where nothing is.
    """
    fd = open_real_folder(root.path) if isinstance(root, RealFolder) else os.open(root, _FOLDER)
    try:
        for name in PurePosixPath(folder).parts:
            inner = _enter(fd, name, make=make)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


@contextmanager
def opened_in(fd: int, name: str, *, make: bool = False) -> Iterator[int]:
    """The folder `name` in the open folder `fd`; raises as `opened` does."""
    inner = _enter(fd, name, make=make)
    try:
        yield inner
    finally:
        os.close(inner)


def _enter(fd: int, name: str, *, make: bool) -> int:
    if name == "..":
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
    try:
        return os.open(name, _FOLDER, dir_fd=fd)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=fd)
    return os.open(name, _FOLDER, dir_fd=fd)


@contextmanager
def opened_file(fd: int, name: str) -> Iterator[int]:
    """A file in the open folder `fd`, to read or sync. Raises OSError for anything but a plain file."""
    try:
        file = os.open(name, _FILE, dir_fd=fd)
    except OSError as error:
        # A link, a socket, a device without a driver.
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENODEV):
            raise NotAFile(error.errno, "is no plain file", name) from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise NotAFile(errno.EINVAL, "is no plain file", name)
        yield file
    finally:
        os.close(file)


def blob_of(root: Path | RealFolder, path: str, *, size: int) -> str:
    """Git's name for what the file of `size` bytes at `path` below `root` holds. Raises OSError for anything but a
    plain file, and unread for one of another size: that may be as large as whoever put it there likes.
    """
    folder, _, name = path.rpartition("/")
    with opened(root, folder) as fd, opened_file(fd, name) as file, open(file, "rb", closefd=False) as stream:
        left = size
        if os.fstat(file).st_size != size:
            raise OtherSize(errno.EFBIG, "is of another size", name)
        hashed = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        while chunk := stream.read(min(_CHUNK, left)):
            left -= len(chunk)
            hashed.update(chunk)
    return hashed.hexdigest()


def facts_of(root: Path | RealFolder, path: str) -> os.stat_result:
    """What the kernel says of the file at `path` below `root`. Raises OSError where the way to it is no folders."""
    folder, _, name = path.rpartition("/")
    with opened(root, folder) as fd:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)


def names_in(fd: int) -> set[str]:
    """The names of everything that lies in the open folder `fd`, in no order."""
    with os.scandir(fd) as entries:
        return {entry.name for entry in entries}


def write_new(fd: int, name: str, content: bytes, *, mode: int = 0o666) -> None:
    """As `new_file`, with this in it."""
    with new_file(fd, name, mode=mode) as file:
        file.write(content)


@contextmanager
def new_file(fd: int, name: str, *, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A new file in the open folder `fd`, to be written. What had the name before is unlinked and not written into: it
    may be another's file by a second name.
    """
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=fd)
    with os.fdopen(os.open(name, _NEW, mode, dir_fd=fd), "wb") as file:
        yield file


def renew_file(fd: int, name: str, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file in one step, without syncing it: readers see the old content or the new one, and a loss of power may
    take it. For what can be written again at any time.

    One process alone may write it. What a killed attempt left beside it, or a stranger put there, is replaced by the
    next.
    """
    fresh = f"{name}.new"
    write_new(fd, fresh, content, mode=mode)
    os.rename(fresh, name, src_dir_fd=fd, dst_dir_fd=fd)


def replace_file(fd: int, name: str, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file anew, whole and on disk or not at all; never into what is there, which may have a second name."""
    fresh = f"{name}.{token_hex(_FRESH_BYTES)}"
    try:
        write_new(fd, fresh, content, mode=mode)
        with opened_file(fd, fresh) as file:
            os.fsync(file)
        os.rename(fresh, name, src_dir_fd=fd, dst_dir_fd=fd)
    except BaseException:
        with suppress(OSError):
            os.unlink(fresh, dir_fd=fd)
        raise
    os.fsync(fd)


def unfinished(fd: int, name: str) -> set[str]:
    """Names of half-written files that an interrupted `replace_file` of `name` left in the open folder `fd`. Whoever
    knows that none is under way may remove them.
    """
    fresh = re.compile(rf"{re.escape(name)}\.[0-9a-f]{{{2 * _FRESH_BYTES}}}")
    return {found for found in names_in(fd) if fresh.fullmatch(found)}


def remove_unfinished(fd: int, name: str) -> None:
    """Remove what interrupted `replace_file`s of `name` left in the open folder `fd`. Only under the archive's lock,
    where nobody else writes there.
    """
    for found in unfinished(fd, name):
        with suppress(OSError):
            os.unlink(found, dir_fd=fd)


def sync_files(root: Path | RealFolder, paths: set[str]) -> None:
    """Put files and the folders they lie in on disk; what somebody has removed or replaced meanwhile is left out."""
    inodes: set[int] = set()
    folders: set[str] = set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        folders.update(str(parent) for parent in PurePosixPath(path).parents)
        with suppress(*_NOT_OURS), opened(root, folder) as fd, opened_file(fd, name) as file:
            inode = os.fstat(file).st_ino
            if inode not in inodes:
                inodes.add(inode)
                os.fsync(file)
    for folder in folders:
        with suppress(*_NOT_OURS), opened(root, folder) as fd:
            os.fsync(fd)
