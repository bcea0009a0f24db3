"""Folders of another system: read through descriptors, so that no link below the one that was named is followed.

Nothing is written, made or locked; times of access stay where the system lets us.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from mcp_agent_mail.core.disk_space import disk_full, free_bytes
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import reason_of
from mcp_agent_mail.domain.importing.refusals import in_use, too_large, unreadable, wrong_path
from mcp_agent_mail.store.foreign.private_copy import copy_open, open_unchanged

MOST_NAMES = 200_000
"""In one folder."""

LONGEST_LINE = 8 << 20
"""Bytes of one line of a file of lines."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 16
_TRIES = 5
_SPARE = 64 << 20
"""So much must be left beside a copy."""
_NOT_THERE = (FileNotFoundError, NotADirectoryError)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundName:
    """An entry of a folder. `is_folder` and `is_file` are both False of links, sockets and the like."""

    name: str
    is_folder: bool
    is_file: bool


class SourceFolder:
    """One open folder. Close it, or use it with `with`."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self.path = path

    @classmethod
    def open(cls, path: Path) -> Self:
        """The folder that a person named; the way to it may lead over links. Raises SourceUnreadable."""
        try:
            return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), path)
        except (OSError, ValueError) as failed:
            raise wrong_path(path, reason_of(failed)) from failed

    def below(self, name: str) -> SourceFolder | None:
        """None where there is none, or a link or a file has its name. Raises SourceUnreadable."""
        try:
            descriptor = os.open(name, _FOLDER, dir_fd=self._descriptor)
        except (*_NOT_THERE, ValueError):
            return None
        except OSError as failed:
            if failed.errno == errno.ELOOP:
                return None
            raise wrong_path(self.path / name, reason_of(failed)) from failed
        return SourceFolder(descriptor, self.path / name)

    def names(self) -> list[FoundName]:
        """In the order of their names. Raises SourceUnreadable for more than `MOST_NAMES`."""
        found: list[FoundName] = []
        try:
            with os.scandir(self._descriptor) as entries:
                for entry in entries:
                    found.append(
                        FoundName(
                            name=entry.name,
                            is_folder=entry.is_dir(follow_symlinks=False),
                            is_file=entry.is_file(follow_symlinks=False),
                        )
                    )
                    if len(found) > MOST_NAMES:
                        raise too_large(self.path, f"it holds more than {MOST_NAMES:,} names")
        except OSError as failed:
            raise unreadable(self.path, reason_of(failed)) from failed
        return sorted(found, key=lambda one: one.name)

    def read(self, name: str, at_most: int) -> bytes | None:
        """A whole file; None where there is none, or what stands there is no ordinary one, or larger."""
        with self._opened(name) as descriptor:
            if descriptor is None:
                return None
            content = bytearray()
            while piece := os.read(descriptor, _PIECE):
                content += piece
                if len(content) > at_most:
                    return None
        return bytes(content)

    def lines(self, name: str) -> Iterator[SourceLine]:
        """The lines of a file, none where there is none. The file is open only while a piece of it is read, so that
        any number of them may be read at once.
        """
        at, left, number, skipping = 0, bytearray(), 0, False
        while piece := self._piece(name, at):
            at += len(piece)
            left += piece
            *whole, rest = left.split(b"\n")
            for line in whole:
                number += 1
                content = None if skipping or len(line) > LONGEST_LINE else bytes(line)
                yield SourceLine(number=number, content=content, is_whole=True)
                skipping = False
            left = bytearray(rest)
            if len(left) > LONGEST_LINE:
                skipping, left = True, bytearray()
        if left or skipping:
            yield SourceLine(number=number + 1, content=None if skipping else bytes(left), is_whole=False)

    def copy(self, name: str, into: Path) -> bool:
        """Of a file as it is at one instant, under its name, however often its program writes it anew; False where
        there is none, or no ordinary one. Raises SourceUnreadable, SourceInUse while it grows all the time, DiskFull.
        """
        for _ in range(_TRIES):
            with self._opened(name) as descriptor:
                if descriptor is None:
                    return False
                before = _state(descriptor)
                self._copy_open(descriptor, into / name)
                if _state(descriptor) == before:
                    return True
        raise in_use(self.path / name)

    def _copy_open(self, descriptor: int, target: Path) -> None:
        if free_bytes(target.parent) < os.fstat(descriptor).st_size + _SPARE:
            raise disk_full(target.parent)
        target.unlink(missing_ok=True)  # Of an earlier try.
        copy_open(descriptor, target, self.path / target.name)

    def _piece(self, name: str, at: int) -> bytes:
        with self._opened(name) as descriptor:
            return b"" if descriptor is None else os.pread(descriptor, _PIECE, at)

    @contextmanager
    def _opened(self, name: str) -> Iterator[int | None]:
        """Raises SourceUnreadable for what the system refuses, not for what is no file."""
        try:
            descriptor = open_unchanged(name, dir_fd=self._descriptor)
        except (*_NOT_THERE, ValueError):
            yield None
            return
        except OSError as failed:
            if failed.errno in (errno.ELOOP, errno.ENXIO):
                yield None
                return
            raise wrong_path(self.path / name, reason_of(failed)) from failed
        try:
            yield descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
        except OSError as failed:
            raise unreadable(self.path / name, reason_of(failed)) from failed
        finally:
            os.close(descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _state(descriptor: int) -> tuple[int, int]:
    """Size, and time of the last change."""
    seen = os.fstat(descriptor)
    return seen.st_size, seen.st_mtime_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """`content` is None of a line longer than any is read; `is_whole`: it ends as a line does."""

    number: int
    content: bytes | None
    is_whole: bool
