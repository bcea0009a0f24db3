"""Archives without a database: it was lost, or is looked for in the wrong place. No empty one is begun over them."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.store_owner import RESTORING_FOLDER, SWAP_FILE
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER

_GIT_FOLDER = ".git"


class RestoreUnfinished(Conflict):
    """A restore into an empty place has not come to its end: an empty store would be begun in its place."""


class DatabaseLost(Conflict):
    """The archives of a store are there, and its database is not."""


def require_database(storage_root: Path, database_path: Path) -> None:
    """Raise DatabaseLost where archives lie in `storage_root` and there is no database to them, and RestoreUnfinished
    where a store was to be made and is not; a store that has not begun yet passes. Whoever opens a store that may be
    new asks this under its lock.

    One that is being put in place just now is not lost.
    """
    if _has_database(database_path) or (storage_root / SWAP_FILE).exists():
        return
    restoring = storage_root / RESTORING_FOLDER
    if restoring.exists():
        raise RestoreUnfinished(
            f"A store was being made in {restoring}, and is not finished: there is no database at {database_path} yet.",
            hint="Run that again, which begins anew: am archive restore FILE, or am doctor restore BACKUP. To begin an "
            f"empty store instead, remove {restoring}.",
            data={"database": str(database_path), "restoring": str(restoring)},
        )
    archive = _find_archive(storage_root / PROJECTS_FOLDER)
    if archive is None:
        return
    raise DatabaseLost(
        f"There is no database at {database_path}, and there are archives ({archive} is one): the database of this "
        "store is lost, or lies elsewhere.",
        hint="Make it anew from the archives: am doctor rebuild. Or take a backup (am doctor backups): am doctor "
        f"restore BACKUP. If it lies elsewhere, name it (DATABASE_URL). To begin anew, move "
        f"{storage_root / PROJECTS_FOLDER} away.",
        data={"database": str(database_path), "archive": str(archive)},
    )


def _has_database(path: Path) -> bool:
    """An empty file is none."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _find_archive(folder: Path) -> Path | None:
    """The first by name."""
    if not folder.is_dir():
        return None
    archives = (path for path in sorted(folder.iterdir()) if (path / ARCHIVE_FILE).exists() or _is_begun(path))
    return next(archives, None)


def _is_begun(path: Path) -> bool:
    """With files of its own elsewhere, or none in the work tree."""
    return (path / _GIT_FOLDER).is_dir()
