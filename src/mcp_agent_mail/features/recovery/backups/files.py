"""The files of a backup while it is made: each new, this user's alone, on disk, and counted."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Self

from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.domain.own_files import DATABASE_FILE
from mcp_agent_mail.features.recovery.backups.manifest import CHECKSUMS_FILE, ListedFile

_OWNER_ONLY = 0o700
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SYNCED_EVERY = 8 << 20
_CHUNK = 1 << 20


class BackupFiles:
    """The files of a backup that is being made, in the order of their names, with their checksums."""

    def __init__(self, folder: Path, fault_hook: FaultHook) -> None:
        self._folder = folder
        self._fault_hook = fault_hook
        self._sums = os.fdopen(os.open(folder / CHECKSUMS_FILE, _NEW, 0o600), "wb")
        self._hashed = hashlib.sha256()
        self.bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._sums:
            self._sums.flush()
            os.fsync(self._sums.fileno())

    @property
    def checksums_sha256(self) -> str:
        return self._hashed.hexdigest()

    def write(self, path: str, pieces: Iterable[bytes]) -> None:
        """On disk when this returns. In the order of their names."""
        place = self._folder / path
        make_private(place.parent)
        hashed, size = hashlib.sha256(), 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for piece in pieces:
                hashed.update(piece)
                size += len(piece)
                yield piece
            self._fault_hook(FailPoint.BACKUP_FILE)

        try:
            write_new(place, counted())
        except BaseException:
            # Whoever goes on without it lists it nowhere.
            place.unlink(missing_ok=True)
            raise
        self._note(ListedFile(path=path, bytes=size, sha256=hashed.hexdigest()))

    def note_database(self, database: Path) -> None:
        """It is there already, and the last by its name."""
        with database.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self._note(ListedFile(path=DATABASE_FILE, bytes=database.stat().st_size, sha256=digest))

    def _note(self, file: ListedFile) -> None:
        line = file.to_line().encode()
        self._sums.write(line)
        self._hashed.update(line)
        self.bytes += file.bytes


def make_private(folder: Path) -> None:
    """The folder with those above it that are missing, this user's alone."""
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=_OWNER_ONLY, exist_ok=True)


def write_new(path: Path, pieces: Iterable[bytes]) -> None:
    """A file that is not there yet. On disk when this returns, all along: what is kept back until the end would hold up
    whoever syncs then.
    """
    unsynced = 0
    with os.fdopen(os.open(path, _NEW, 0o600), "wb") as file:
        for piece in pieces:
            file.write(piece)
            unsynced += len(piece)
            if unsynced >= _SYNCED_EVERY:
                file.flush()
                os.fsync(file.fileno())
                unsynced = 0
        file.flush()
        os.fsync(file.fileno())


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk
