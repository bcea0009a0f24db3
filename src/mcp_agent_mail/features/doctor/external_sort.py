"""Sorts more lines than fit in memory: sorted runs on disk, merged on the way back."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from pathlib import Path

RUN_LINES = 20_000


class Spool:
    """Add lines of bytes (none contains a line break), then iterate: sorted. `folder` is emptied by its owner."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: list[bytes] = []
        self._runs: list[Path] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, line: bytes) -> None:
        """Take a line in, in any order; a sorted run goes to disk every RUN_LINES lines."""
        self._lines.append(line)
        self._count += 1
        if len(self._lines) >= RUN_LINES:
            self._write_run()

    def __iter__(self) -> Iterator[bytes]:
        self._write_run()
        return heapq.merge(*(_read(run) for run in self._runs))

    def _write_run(self) -> None:
        self._lines.sort()
        run = self._folder / f"run-{len(self._runs)}"
        run.write_bytes(b"".join(line + b"\n" for line in self._lines))
        self._runs.append(run)
        self._lines = []


def _read(run: Path) -> Iterator[bytes]:
    with run.open("rb") as lines:
        for line in lines:
            yield line[:-1]
