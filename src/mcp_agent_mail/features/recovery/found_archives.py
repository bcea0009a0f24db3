"""Which archives are there, where no database can be asked: each says itself whose it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.ownership import require_in_store
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.transfer.description import UnreadableArchiveFile, describe
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER

_NAMED = 10


class NoSuchArchive(NotFound):
    """No archive of the store is that project's."""


def slugs_on_disk(storage_root: Path) -> list[str]:
    """Names of the folders with a repository in them. What else lies there is nobody's archive."""
    folder = storage_root / PROJECTS_FOLDER
    try:
        found = [entry.name for entry in folder.iterdir() if entry.is_dir() and ArchiveRepository(entry).exists()]
    except FileNotFoundError:
        return []
    return sorted(found)


def find_slug(storage_root: Path, key: str, path: str) -> str:
    """The project whose archive is there and whose slug is `key`, or that lies at `path` as its archive says. Nothing
    outside of the store is looked at. Raises NoSuchArchive.
    """
    there = slugs_on_disk(storage_root)
    if key in there:
        return key
    for slug in there:
        if path in _path_of(storage_root / PROJECTS_FOLDER / slug):
            return slug
    shown = ", ".join(there[:_NAMED]) or "none"
    raise NoSuchArchive(
        f"There is no archive of {key!r:.200} in {storage_root}; the database, which knows more names, was not asked.",
        hint=f"Name one of those that are there: {shown}.",
        data={"project": key[:200], "archives": there[:_NAMED]},
    )


def _path_of(archive: Path) -> Iterator[str]:
    """None where the archive cannot say."""
    repository = ArchiveRepository(archive, only_git=True)
    with suppress(ArchiveRefused, GitFailed, UnreadableArchiveFile):
        require_in_store(repository)
        if (tip := repository.tip()) is not None:
            yield describe(repository, tip).human_key
