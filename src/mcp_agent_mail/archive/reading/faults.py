"""An archive whose objects Git cannot read is told as that, with what to do; not in Git's own words alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.inspection import Inspection
from mcp_agent_mail.archive.reading.hints import of_damaged
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.git.process import GitFailed


class ArchiveDamaged(ArchiveRefused):
    """Git cannot read all that the archive at `path` holds."""

    def __init__(self, path: Path, problem: str, *, has_database: bool) -> None:
        super().__init__(
            f"The archive {path.name} is damaged: Git cannot read all of {path}: {problem}",
            hint=of_damaged(path, has_database=has_database),
            data={"project": path.name, "path": str(path)},
        )


@contextmanager
def damage_told(
    path: Path, *, has_database: bool = True, told_by: tuple[type[AgentMailError], ...] = (GitFailed,)
) -> Iterator[None]:
    """Raise ArchiveDamaged for what fails within because of the archive at `path`: where `told_by` is raised, and Git
    finds damage there. What fails for another reason is raised as it is.
    """
    try:
        yield
    except told_by as failed:
        if (problem := damage_of(path)) is None:
            raise
        raise ArchiveDamaged(path, problem, has_database=has_database) from failed


def damage_of(path: Path) -> str | None:
    """What Git finds wrong with the objects of the archive at `path`; None where nothing is, or no archive there. Reads
    all of it.
    """
    try:
        archive = Inspection(path)
        return archive.fsck_objects() if archive.exists() else None
    except GitFailed as unreadable:
        return unreadable.message
