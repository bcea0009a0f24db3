"""How much Git an archive takes for its mail. Reads; changes nothing."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.ownership import require_in_store, version_at
from mcp_agent_mail.archive.packs import pack_folder
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository
from mcp_agent_mail.core.lazy.dataclass import dataclass

_MAIL = re.compile(r"(?:messages|agents/[^/]+/(?:inbox|outbox))/.*__([0-9]+)\.md")
_MOST_IDS = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFigures:
    """How large an archive is. `files` are those of the branch; thinned, only some months of them lie in the folder."""

    packs: int
    pack_bytes: int
    index_bytes: int
    files: int
    is_thinned: bool


def figures_of(repository: ArchiveRepository, *, packs: int, files: int, is_thinned: bool) -> ArchiveFigures:
    """What its packs and its index take on disk now, beside what whoever writes it knows already."""
    sizes = [path.stat().st_size for path in pack_folder(repository).iterdir()]
    index = repository.git_path / "index"
    return ArchiveFigures(
        packs=packs,
        pack_bytes=sum(sizes),
        index_bytes=index.stat().st_size if index.exists() else 0,
        files=files,
        is_thinned=is_thinned,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSize:
    """`git_bytes` is all of `.git`: objects with their indexes, the index of the work tree, notes.

    `messages` are those of the branch, each counted once, however many copies it has there. `format` is the version of
    the format that it is in.
    """

    commits: int
    packs: int
    git_bytes: int
    index_bytes: int
    messages: int
    files: int
    format: int

    @property
    def bytes_per_message(self) -> int | None:
        return self.git_bytes // self.messages if self.messages else None


def measure(path: Path) -> ArchiveSize | None:
    """None where there is no archive, or no commit in it yet. Raises ArchiveRefused."""
    repository = ArchiveRepository(path, only_git=True)
    require_in_store(repository)
    if not repository.exists() or repository.tip() is None:
        return None
    index = repository.git_path / "index"
    messages, files = _count(repository)
    return ArchiveSize(
        commits=int(repository.git("rev-list", "--count", BRANCH)),
        packs=sum(1 for _ in (repository.git_path / "objects" / "pack").glob("pack-*.pack")),
        git_bytes=_bytes_below(repository.git_path),
        index_bytes=index.stat().st_size if index.exists() else 0,
        messages=messages,
        files=files,
        format=version_at(repository, BRANCH),
    )


def _count(repository: ArchiveRepository) -> tuple[int, int]:
    """Messages and files."""
    # A byte per id: a set of a million numbers would take a hundred times as much.
    seen = bytearray()
    files = 0
    for path in repository.records("ls-tree", "-r", "-z", "--name-only", BRANCH):
        files += 1
        found = _MAIL.fullmatch(path)
        if found is not None and (number := int(found[1])) < _MOST_IDS:
            if number >= len(seen):
                seen.extend(bytes(number + 4_096 - len(seen)))
            seen[number] = 1
    return sum(seen), files


def _bytes_below(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # The archiver may be at work.
                total += Path(place, name).lstat().st_size
    return total
