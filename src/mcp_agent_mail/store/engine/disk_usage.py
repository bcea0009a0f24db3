"""What a folder takes on disk, found out a little at a time: a store may hold millions of files."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Generator, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from mcp_agent_mail.core.lazy.dataclass import dataclass

_BLOCK = 512
"""What `st_blocks` counts in, whatever the blocks of the file system are (POSIX)."""
REMEMBERED = 20_000
"""Folders whose contents are remembered: some 10 MB. Those beyond are read anew in each round."""
SETTLED_NS = 2_000_000_000
"""A folder that was changed less than this before it was read may change once more without its time telling."""


def bytes_on_disk(path: Path) -> int:
    """What one file takes, a link by itself; 0 where there is none."""
    try:
        return os.lstat(path).st_blocks * _BLOCK
    except FileNotFoundError:
        return 0


@dataclass(frozen=True, slots=True)
class _Folder:
    """`own_bytes` are of itself and the files right in it."""

    changed_ns: int
    own_bytes: int
    subfolders: tuple[str, ...]


class FolderSizes:
    """Goes round and round below `root`, so many looks at a time. Links are not followed; `but` are files left out.

    A folder whose time has not changed since the last round is not read again: its files are there as they were. What
    grows in place without a file coming or going is noticed late, except right in `root`, which is always read.
    """

    def __init__(self, root: Path, *, but: Collection[Path] = (), remembered: int = REMEMBERED) -> None:
        self._root = str(root)
        self._but = frozenset(map(str, but))
        self._most = remembered
        self._known: dict[str, _Folder] = {}
        self._counted = 0
        self._whole: int | None = None
        self._round = self._go_round()

    @property
    def bytes(self) -> int:
        """As of the last round that came to its end; what the one under way has counted, where that is more."""
        return max(self._whole or 0, self._counted)

    @property
    def is_whole(self) -> bool:
        """Whether everything has been looked at once."""
        return self._whole is not None

    def step(self, looks: int, now_ns: int) -> None:
        """Go on for so many files and folders, or to the end of the round. `now_ns` is by the wall clock. Blocks."""
        self._now_ns = now_ns
        if next(islice(self._round, looks, None), None) is None:
            self._whole, self._counted = self._counted, 0
            self._round = self._go_round()

    def _go_round(self) -> Iterator[bool]:
        """True after each look. What vanishes meanwhile counts as nothing."""
        known = self._known
        fresh: dict[str, _Folder] = {}
        waiting = [self._root]
        while waiting:
            path = waiting.pop()
            yield True
            with suppress(OSError):
                changed_ns = os.lstat(path).st_mtime_ns
                folder = known.get(path)
                if folder is None or folder.changed_ns != changed_ns or path == self._root:
                    folder = yield from self._read(path, changed_ns)
                self._counted += folder.own_bytes
                waiting += [os.path.join(path, name) for name in folder.subfolders]  # noqa: PTH118  # a million of them
                if len(fresh) < self._most and changed_ns < self._now_ns - SETTLED_NS:
                    fresh[path] = folder
        self._known = fresh

    def _read(self, path: str, changed_ns: int) -> Generator[bool, None, _Folder]:
        own_bytes = os.lstat(path).st_blocks * _BLOCK
        subfolders: list[str] = []
        with os.scandir(path) as entries:
            for entry in entries:
                yield True
                with suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(found.st_mode):
                        subfolders.append(entry.name)
                    elif entry.path not in self._but:
                        own_bytes += found.st_blocks * _BLOCK
        return _Folder(changed_ns, own_bytes, tuple(subfolders))
