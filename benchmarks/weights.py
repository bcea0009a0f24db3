"""What a running server weighs and holds: memory, file handles, and the files of its store (Linux)."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.kernel import process_tree
from benchmarks.processes import pss_mib


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Of the whole process tree, and of the store below `root`."""

    pss_mib: float
    server_pss_mib: float
    git_pss_mib: float
    anonymous_mib: float
    file_handles: int
    database_mib: float
    wal_mib: float
    packs: int
    archive_mib: float

    @property
    def lasting_pss_mib(self) -> float:
        """Without Git's children, which come and go."""
        return self.pss_mib - self.git_pss_mib

    def as_json(self) -> dict[str, Any]:
        return {name: round(value, 2) if isinstance(value, float) else value for name, value in asdict(self).items()}


def weigh(pid: int, root: Path) -> Weight:
    """Take it while the archive is at rest. A Git child may still be repacking: it is told apart."""
    passing = {member for member in process_tree(pid) if _is_git(member)}
    sizes = pss_mib(pid)
    passing |= {member for member in sizes if _is_git(member)}
    packs, archive = _archive_of(root)
    return Weight(
        pss_mib=sum(sizes.values()),
        server_pss_mib=sizes.get(pid, 0.0),
        git_pss_mib=sum(size for member, size in sizes.items() if member in passing),
        anonymous_mib=sum(_rollup_mib(member, "Pss_Anon:") for member in sizes),
        file_handles=sum(file_handles(member) for member in process_tree(pid) if not _is_git(member)),
        database_mib=_size_mib(root / "mail.sqlite3"),
        wal_mib=_size_mib(root / "mail.sqlite3-wal"),
        packs=packs,
        archive_mib=archive,
    )


def file_handles(pid: int) -> int:
    """Open files, pipes and sockets of one process; 0 when it has gone."""
    with suppress(OSError):
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return 0


def _is_git(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().startswith("git")
    return False


def _rollup_mib(pid: int, field: str) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    return 0.0


def _size_mib(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_size / 2**20
    return 0.0


def _archive_of(root: Path) -> tuple[int, float]:
    """(packs, MiB on disk) of everything below `root` but the database's own files."""
    packs, held = 0, 0
    for folder, _, names in os.walk(root):
        for name in names:
            if name.startswith("mail.sqlite3"):
                continue
            packs += name.endswith(".pack")
            with suppress(OSError):
                held += (Path(folder) / name).stat().st_blocks * 512
    return packs, held / 2**20
