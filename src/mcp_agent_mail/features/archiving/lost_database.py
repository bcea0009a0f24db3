"""Archives without a database: it was lost, or is looked for in the wrong place. No empty one is begun over them."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.store_owner import SWAP_FILE
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE
from mcp_agent_mail.domain.own_files import RESTORING
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER
from mcp_agent_mail.store.engine.sqlite.faults import WAYS_BACK
from mcp_agent_mail.store.engine.sqlite.file_kind import is_sqlite_file

_GIT_FOLDER = ".git"


class RestoreUnfinished(Conflict):
    """A restore into an empty place has not come to its end: an empty store would be begun in its place."""


class DatabaseLost(Conflict):
    """The archives of a store are there, and its database is not."""


def require_database(storage_root: Path, database_path: Path) -> None:
    """Raise DatabaseLost where archives lie in `storage_root` and there is no database to them, nothing or a file that
    is none, and RestoreUnfinished where a store was to be made and is not; a store that has not begun yet passes.
    Raises ForeignStore where a folder, a FIFO, a socket or a ring of links has the database's name. Whoever opens a
    store that may be new asks this under its lock.

    One that is being put in place just now is not lost.
    """
    if is_sqlite_file(database_path) or (storage_root / SWAP_FILE).exists():
        return
    restoring = storage_root / RESTORING
    if restoring.exists():
        raise RestoreUnfinished(
            f"A store was being made in {restoring}, and is not finished: there is no database at {database_path} yet.",
            hint="Run that again, which begins anew: am archive restore FILE, or am doctor restore BACKUP. To begin an "
            f"empty store instead, remove {restoring}.",
            data={"database": str(database_path), "restoring": str(restoring)},
        )
    archive = _find_archive(storage_root / PROJECTS_FOLDER)
    if archive is None:
        _require_file(database_path)
        return
    is_there = database_path.is_file() and database_path.stat().st_size
    what = f"{database_path} is no SQLite database" if is_there else f"There is no database at {database_path}"
    raise DatabaseLost(
        f"{what}, and there are archives ({archive} is one): the database of this store is lost, or lies elsewhere.",
        hint=f"{WAYS_BACK} If it lies elsewhere, name it (DATABASE_URL). To begin anew, move "
        f"{storage_root / PROJECTS_FOLDER} away.",
        data={"database": str(database_path), "archive": str(archive)},
    )


def _require_file(database_path: Path) -> None:
    try:
        mode = database_path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as failed:
        if failed.errno != errno.ELOOP:
            raise
        mode = 0
    if not stat.S_ISREG(mode):
        from mcp_agent_mail.store.engine.sqlite.migrate import require_ours  # noqa: PLC0415  # SQLite, for a refusal alone

        require_ours(database_path)


def _find_archive(folder: Path) -> Path | None:
    """The first by name."""
    if not folder.is_dir():
        return None
    archives = (path for path in sorted(folder.iterdir()) if (path / ARCHIVE_FILE).exists() or _is_begun(path))
    return next(archives, None)


def _is_begun(path: Path) -> bool:
    """With files of its own elsewhere, or none in the work tree."""
    return (path / _GIT_FOLDER).is_dir()
