"""Gives a project's history away as an ordinary Git repository: less what only some may see, or all of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from mcp_agent_mail.archive.transfer.export import export_history
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.own_files import EXPORTING
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.recovery.outside_store import require_outside
from mcp_agent_mail.features.recovery.scratch import PlaceTaken, UnfitTarget, aside, remove_left, scratch_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectExport:
    """`commit` is the newest of the copy, which is the archive's own only where it `is_exact`."""

    path: str
    commit: str
    commits: int
    is_exact: bool


def export(archive: Path, target: Path, *, storage_root: Path, is_exact: bool, progress: Progress) -> ProjectExport:
    """Make `target`, which is missing or an empty folder, a copy of the archive: whole, or not at all. Beside a server
    too, and outside of its store. Raises PartOfStore, PlaceTaken, UnfitTarget, ArchiveRefused, NothingToExport.
    """
    target = target.absolute()
    require_outside(storage_root, target, is_made=True)
    _require_empty(target)
    try:
        with scratch_folder(aside(target, EXPORTING), for_what=target) as building:
            made, scratch = building.path / "made", building.path / "scratch"
            made.mkdir(mode=0o700)
            scratch.mkdir()
            found = export_history(archive, made, scratch, is_exact=is_exact, progress=progress)
            building.put(made.name, target)
    except OSError as failed:
        raise _cannot(target, failed) from failed
    return ProjectExport(path=str(target), commit=found.commit, commits=found.commits, is_exact=is_exact)


def _require_empty(target: Path) -> None:
    """A link counts as something."""
    if os.path.lexists(target) and (target.is_symlink() or not target.is_dir() or any(target.iterdir())):
        remove_left(aside(target, EXPORTING))
        raise _in_the_way(target)


def _in_the_way(target: Path) -> PlaceTaken:
    return PlaceTaken(
        f"{target} is there already and is no empty folder; nothing is written over.",
        hint="Name another folder, or move that one away.",
    )


def _cannot(target: Path, failed: OSError) -> PlaceTaken | UnfitTarget | Unavailable:
    if failed.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR) and os.path.lexists(target):
        return _in_the_way(target)
    if failed.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        return Unavailable(
            f"Cannot write {target}: {failed.strerror}. Nothing of it was left.",
            hint="Free some space there, or name a folder on another disk.",
        )
    return UnfitTarget(f"Cannot make {target}: {failed.strerror or failed}.", hint="Name a folder where you may write.")
