"""The log of a recorded run: what the shim wrote, and between it what the clients were told."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

_HEAD = struct.Struct("<IIQqIIII")
_MAGIC = 0x52574F50


class Kind(IntEnum):
    """As in shim.c; ANSWERED and MARKED come from the tests."""

    OPENED = 1
    WRITTEN = 2
    TRUNCATED = 3
    SYNC_BEGINS = 4
    SYNC_DONE = 5
    RENAMED = 6
    LINKED = 7
    UNLINKED = 8
    DIR_MADE = 9
    DIR_REMOVED = 10
    ANSWERED = 11
    MARKED = 12
    NOT_MODELLED = 13
    SYMLINKED = 14


@dataclass(frozen=True, slots=True)
class Entry:
    """Paths are below the root, without a leading slash; `first` of a sync is None for a file, "" for the root.

    `second` of a link is where it leads, `data` how it says so.
    """

    kind: Kind
    inode: int
    number: int
    thread: int
    first: str | None
    second: str | None
    data: bytes


class Log:
    """Appends what the tests have to say to the same file, in one order with everything else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def answered(self, what: dict[str, Any]) -> None:
        self._append(Kind.ANSWERED, what)

    def mark(self, name: str) -> None:
        self._append(Kind.MARKED, name)

    def _append(self, kind: Kind, value: object) -> None:
        data = json.dumps(value).encode()
        whole = _HEAD.pack(_MAGIC, kind, 0, 0, 0, 0, 0, len(data)) + data
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            assert os.write(descriptor, whole) == len(whole)
        finally:
            os.close(descriptor)


def read_log(path: Path, root: Path) -> Iterator[Entry]:
    with path.open("rb") as file:
        while head := file.read(_HEAD.size):
            magic, kind, inode, number, thread, first_length, second_length, length = _HEAD.unpack(head)
            assert magic == _MAGIC, f"{path} is torn at {file.tell()}"
            first = file.read(first_length).decode() if first_length else None
            second = file.read(second_length).decode() if second_length else None
            data = file.read(length)
            assert len(data) == length, f"{path} is cut short"
            if kind == Kind.SYMLINKED:
                second = data.decode()
            yield Entry(Kind(kind), inode, number, thread, _below(root, first), _below(root, second), data)


def _below(root: Path, path: str | None) -> str | None:
    if path is None or not path.startswith(str(root)):
        return path
    return path[len(str(root)) :].lstrip("/")
