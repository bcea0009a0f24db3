"""What of an archive's Git directory follows from the rest, and is made anew: indexes of packs, graphs, the index."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_agent_mail.archive.packs import pack_folder
from mcp_agent_mail.archive.recovery import BLOCKED_NOTE, OPEN_NOTE
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.git.process import GitDiskFull, GitFailed

_LIMIT_S = 3_600.0
_SIDE_FILES = (".rev", ".bitmap")


def renew_pack_indexes(archive: Path) -> int:
    """Make the index of every pack anew that is missing or wrong, and remove what only speeds Git up; how many were.
    Raises GitFailed for a pack that is damaged itself. Nobody else works on the archive.
    """
    repository = ArchiveRepository(archive, only_git=True)
    packs = pack_folder(repository)
    count = 0
    for place in (packs / "multi-pack-index", repository.git_path / "objects/info/commit-graph"):
        with suppress(FileNotFoundError):
            place.unlink()
    for pack in sorted(packs.glob("pack-*.pack")):
        if _is_indexed(repository, pack):
            continue
        fresh = pack.with_suffix(".idx.new")
        try:
            # The old one goes once the new one is there: with a pack that is damaged itself it finds the rest.
            repository.git("index-pack", "-o", str(fresh), str(pack), config=("core.fsync=all",), timeout_s=_LIMIT_S)
            for side in _SIDE_FILES:
                pack.with_suffix(side).unlink(missing_ok=True)
            fresh.replace(pack.with_suffix(".idx"))
        finally:
            fresh.unlink(missing_ok=True)
        count += 1
    sync_path(packs)
    return count


def has_unindexed_packs(archive: Path) -> bool:
    """Is there a pack whose index is missing or wrong? Reads all of them."""
    repository = ArchiveRepository(archive, only_git=True)
    return any(not _is_indexed(repository, pack) for pack in pack_folder(repository).glob("pack-*.pack"))


def unindexable(archive: Path) -> str | None:
    """What Git says of the first pack of which no index can be made, since it is damaged itself; None where there is
    none. Changes nothing; raises GitDiskFull.
    """
    repository = ArchiveRepository(archive, only_git=True)
    for pack in sorted(pack_folder(repository).glob("pack-*.pack")):
        if not _is_indexed(repository, pack):
            with TemporaryDirectory(prefix="am-repair-") as scratch:
                try:
                    repository.git("index-pack", "-o", str(Path(scratch) / "made.idx"), str(pack), timeout_s=_LIMIT_S)
                except GitDiskFull:
                    raise
                except GitFailed as damaged:
                    return damaged.message
    return None


def _is_indexed(repository: ArchiveRepository, pack: Path) -> bool:
    if not pack.with_suffix(".idx").is_file():
        return False
    try:
        repository.git("verify-pack", str(pack.with_suffix(".idx")), timeout_s=_LIMIT_S)
    except GitFailed:
        return False
    return True


def note_to_be_shown(archive: Path) -> None:
    """Whoever opens it next writes every file that differs, and makes the index anew."""
    for note in (OPEN_NOTE, BLOCKED_NOTE):
        (archive / note).touch()
