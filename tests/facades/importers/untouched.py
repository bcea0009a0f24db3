"""What a source is before and after it was read: names, kinds, sizes, times of change and access, and every byte."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path


def state_of(*places: Path) -> dict[str, tuple[object, ...]]:
    """Of everything at and below the places. Links are not followed."""
    found: dict[str, tuple[object, ...]] = {}
    for place in places:
        for path in [place, *sorted(place.rglob("*"))] if place.is_dir() else [place, *_beside(place)]:
            seen = path.lstat()
            content = ""
            if stat.S_ISREG(seen.st_mode):
                content = _sha256(path)
                # Reading it for the hash has changed the time of access.
                os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
            found[str(path)] = (seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ino, content)
    return found


def _beside(file: Path) -> list[Path]:
    return sorted(one for one in file.parent.iterdir() if one.name.startswith(f"{file.name}-"))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
