"""What is noted beside an archive of the version of the format that it is in, so that nobody has to open it to know."""

from __future__ import annotations

import re
from pathlib import Path

from mcp_agent_mail.archive.git_folder import STATE, said_in
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION

CONVERSION_NOTE = STATE / "conversion"
"""There while files may lie at their old places: the commit before the conversion, whose folders those are."""

VERSION_NOTE = STATE / "version"
"""Says the version of an archive that needs no conversion, and the newest commit that this was seen of."""

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""Git is given what stands in a note: nothing that it could take for an option."""


def is_outdated(path: Path) -> bool:
    """May this archive be of an older version, or a program of that version have gone on with it? Looks at its notes
    and its branch, as Git writes it, alone; one that has never been opened may be.
    """
    if path.is_symlink() or not (path / STATE).is_dir():
        return False
    tip = ArchiveRepository(path, only_git=True).written_tip()
    return (path / CONVERSION_NOTE).exists() or _noted(path) != [str(FORMAT_VERSION), *tip.split()]


def noted_tip(path: Path) -> str | None:
    """The newest commit up to which all of the archive is known to be of this version; None where none is."""
    match _noted(path):
        case [version, tip] if version == str(FORMAT_VERSION) and _COMMIT.fullmatch(tip):
            return tip
    return None


def note_version(path: Path, tip: str | None) -> None:
    """All is of this version up to `tip`, and on disk, the files of the work tree too."""
    wanted = [str(FORMAT_VERSION), *([] if tip is None else [tip])]
    if _noted(path) != wanted:
        (path / VERSION_NOTE).write_text(" ".join(wanted) + "\n")
    (path / CONVERSION_NOTE).unlink(missing_ok=True)


def _noted(path: Path) -> list[str]:
    return (said_in(path / VERSION_NOTE) or "").split()
