"""Sorts more lines than fit in memory: sorted runs on disk, merged on the way back."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

RUN_LINES = 1_000
"""In memory at most, of each of the several that sort side by side."""

RUNS_MERGED = 64
"""So many runs of one length become one of the next: with a million messages there would be thousands of open files."""


class Spool:
    """Add lines of bytes (none contains a line break), then iterate: sorted. `folder` is emptied by its owner."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: list[bytes] = []
        self._levels: list[list[Path]] = []
        self._runs = 0
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
        return heapq.merge(*(_read(run) for runs in self._levels for run in runs))

    def _write_run(self) -> None:
        if self._lines:
            self._lines.sort()
            self._keep(0, self._lines)
            self._lines = []

    def _keep(self, level: int, lines: Iterable[bytes]) -> None:
        run = self._folder / f"run-{self._runs}"
        self._runs += 1
        with run.open("wb") as file:
            file.writelines(line + b"\n" for line in lines)
        if len(self._levels) == level:
            self._levels.append([])
        self._levels[level].append(run)
        if len(self._levels[level]) == RUNS_MERGED:
            full, self._levels[level] = self._levels[level], []
            self._keep(level + 1, heapq.merge(*map(_read, full)))
            for merged in full:
                merged.unlink()


def _read(run: Path) -> Iterator[bytes]:
    with run.open("rb") as lines:
        for line in lines:
            yield line[:-1]
