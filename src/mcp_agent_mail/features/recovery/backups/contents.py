"""The bytes of an attachment, from beside the database or, where they are not what they should be, from an archive."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.archive.contents import CHUNK, Contents
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.domain.attachments import ATTACHMENTS_FOLDER


def content_pieces(beside: Path, holders: Iterable[tuple[Path, str]], sha256: str) -> Iterator[bytes] | None:
    """Piece by piece; None where nobody has it whole. `beside`: the folder of contents; `holders`: archives, each at
    its commit.
    """
    files = AttachmentFiles(beside)
    if Contents(files).problem_of(sha256) is None:
        return _read(files, sha256)
    return next((_told(repository, blob) for repository, blob in _in_archives(holders, sha256)), None)


def find_mendable(beside: Path, holders: Iterable[tuple[Path, str]], wanted: Iterable[str]) -> Iterator[str]:
    """Those of `wanted` that are not whole beside the database, while an archive has something under their names."""
    contents = Contents(AttachmentFiles(beside))
    holders = tuple(holders)
    for sha256 in wanted:
        if contents.problem_of(sha256) is not None and next(_in_archives(holders, sha256), None) is not None:
            yield sha256


def bring_back(beside: Path, holders: Iterable[tuple[Path, str]], sha256: str) -> bool:
    """Put a content that is missing or damaged in its place again, from an archive that has it whole. Has one?"""
    files = AttachmentFiles(beside)
    for repository, blob in _in_archives(holders, sha256):
        staged = files.stage(_told(repository, blob), sys.maxsize)
        try:
            if staged.sha256 == sha256:
                files.keep(staged)
                return True
        finally:
            files.discard(staged)
    return False


def _in_archives(holders: Iterable[tuple[Path, str]], sha256: str) -> Iterator[tuple[ArchiveRepository, str]]:
    for archive, commit in holders:
        repository = ArchiveRepository(archive, only_git=True)
        if blob := _blob(repository, commit, sha256):
            yield repository, blob


def _read(files: AttachmentFiles, sha256: str) -> Iterator[bytes]:
    with files.open(sha256) as stream:
        while chunk := stream.read(CHUNK):
            yield chunk


def _blob(repository: ArchiveRepository, commit: str, sha256: str) -> str | None:
    """What the commit has under this name, whatever kind it is of."""
    folder = f"{ATTACHMENTS_FOLDER}/{sha256[:2]}/"
    for entry in repository.records("ls-tree", "-z", commit, "--", folder):
        facts, _, path = entry.partition("\t")
        if path.startswith(f"{folder}{sha256}."):
            return facts.rpartition(" ")[2]
    return None


def _told(repository: ArchiveRepository, blob: str) -> Iterator[bytes]:
    with repository.talk("cat-file", "blob", blob) as content:
        content.end()
        while chunk := content.hear_bytes(CHUNK):
            yield chunk
