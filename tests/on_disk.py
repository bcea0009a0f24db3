"""What a loss of power would leave: what was synced of each file and folder, and when."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_State = tuple[int, int] | dict[str, int]


class OnDisk:
    """Watches every sync of this process; those of its children, Git's, it does not see."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._synced: dict[int, _State] = {}
        sync = os.fsync

        def synced(descriptor: int) -> None:
            sync(descriptor)
            path = Path(f"/proc/self/fd/{descriptor}")
            self._synced[path.stat().st_ino] = _state(path)

        monkeypatch.setattr(os, "fsync", synced)

    def has(self, path: Path) -> bool:
        """Was it synced as it is: a file since its last write, a folder since its names are these?"""
        return self._synced.get(path.stat().st_ino) == _state(path)

    def lacks(self, folder: Path) -> list[Path]:
        """Of a folder and all below it."""
        return [path for path in (folder, *folder.rglob("*")) if not self.has(path)]


def _state(path: Path) -> _State:
    if path.is_dir():
        return {entry.name: entry.lstat().st_ino for entry in path.iterdir()}
    found = path.stat()
    return (found.st_size, found.st_mtime_ns)
