"""A folder that a store can be restored from: a backup, or a store's, which is read as if it were backed up first.

A source is looked through whole before anything is built of it, and nothing is written there, not even a lock: it may
be anybody's, and what it says of itself is never done to it or to anything else.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from mcp_agent_mail.archive.folders import opened, opened_file
from mcp_agent_mail.archive.git_folder import require_plain_below
from mcp_agent_mail.archive.ownership import require_in_store
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import real_path
from mcp_agent_mail.core.store_owner import SWAP_FILE
from mcp_agent_mail.domain.own_files import DATABASE_FILE
from mcp_agent_mail.features.archiving.adopt import ADOPTED_FOLDER
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER
from mcp_agent_mail.features.recovery.backups.backup import BackupMaker
from mcp_agent_mail.features.recovery.backups.files import pieces_of, write_new
from mcp_agent_mail.features.recovery.backups.manifest import (
    Manifest,
    NewerBackup,
    UnreadableBackup,
    check_backup,
    is_backup,
    read_manifest,
)
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.backups.restore_refusals import require_own_values
from mcp_agent_mail.store.engine.lock import left_alone
from mcp_agent_mail.store.engine.sqlite.database_files import database_files
from mcp_agent_mail.store.engine.sqlite.faults import faults_told
from mcp_agent_mail.store.engine.sqlite.migrate import NewerStore, shipped_migrations
from mcp_agent_mail.store.engine.sqlite.schema import ForeignParts, in_a_sentence, require_own_schema

_SHOWN = 20
_OWNER_ONLY = 0o700
_MADE_ANEW = ("-shm",)
"""By SQLite, of the log."""


class SourceNotFound(NotFound):
    """Nothing lies where the source of a restore should."""


class UnknownSource(InvalidInput):
    """What lies there is neither a backup nor a store."""


class UnfinishedSource(Conflict):
    """The store there was being replaced by another one when something stopped it: it is neither."""


class ForeignSource(Conflict):
    """The database of the store there has parts that are not this program's, or lacks some."""


class ForeignBackup(Conflict):
    """It is another store's than the one that it should replace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSource:
    """A backup, by its folder and by what it says of itself: every byte of it is as it was made. `named`: the folder
    that people know, where it was made of that.
    """

    folder: Path
    named: Path
    manifest: Manifest


@contextmanager
def open_source(path: Path, place: StorePlace, scratch: Path) -> Iterator[RestoreSource]:
    """`scratch`: a folder that is not there, for what has to be made first; it is the caller's to remove.

    Raises SourceNotFound, UnknownSource, UnreadableBackup, NewerBackup; for a store's folder StoreInUse where it is
    served, UnfinishedSource where it is half another one, ForeignSource, RestoreUnfit for values of nobody's, and what
    `BackupMaker.make` does.
    """
    folder = Path(real_path(str(path)))
    if not folder.exists():
        raise SourceNotFound(f"There is nothing at {path}.", hint="`am doctor backups` lists the backups.")
    if is_backup(folder):
        yield RestoreSource(folder=folder, named=folder, manifest=_whole(folder))
    elif (folder / DATABASE_FILE).is_file() and not (folder / DATABASE_FILE).is_symlink():
        yield _of_store(folder, place, scratch)
    else:
        raise UnknownSource(
            f"{path} is no backup and no store: it has neither manifest.json nor {DATABASE_FILE}.",
            hint="`am doctor backups` lists the backups.",
            data={"path": str(path)},
        )


def _whole(folder: Path) -> Manifest:
    manifest = read_manifest(folder)
    if faults := list(islice(check_backup(folder, manifest), _SHOWN)):
        named = ", ".join(f"{fault.path} is {fault.problem}" for fault in faults[:3])
        raise UnreadableBackup(
            f"{folder} is damaged: {named}{' and more' if len(faults) > 3 else ''}.",
            hint="Nothing was changed. `am doctor backups --check` says which backups are whole.",
            data={"path": str(folder), "faults": [f"{fault.path}: {fault.problem}" for fault in faults]},
        )
    return manifest


def _of_store(folder: Path, place: StorePlace, scratch: Path) -> RestoreSource:
    if folder == Path(real_path(str(place.storage_root))):
        raise UnknownSource(
            f"{folder} is the store itself.", hint="Name a backup (`am doctor backups`), or another store's folder."
        )
    with left_alone(folder, folder / DATABASE_FILE):
        if os.path.lexists(folder / SWAP_FILE):
            raise UnfinishedSource(
                f"{folder} was being replaced by another store, as its {SWAP_FILE} says, and that was interrupted.",
                hint=f"Nothing was changed. If it is a store of yours, let it finish first: STORAGE_ROOT={folder} am "
                "agents list. If you have it from somebody else, do not use it.",
                data={"path": str(folder)},
            )
        _require_plain_archives(folder)
        scratch.mkdir(mode=_OWNER_ONLY)
        # SQLite writes beside a database that it reads.
        copied = scratch / "database"
        _copy_database(folder, copied)
        # A backup of what is unfit would say so as well, after it had been read as if it were ours.
        _require_own(copied / DATABASE_FILE, folder)
        require_own_values(copied / DATABASE_FILE)
        of_store = StorePlace(storage_root=folder, database_path=copied / DATABASE_FILE)
        manifest = BackupMaker(place=of_store, database_named=folder / DATABASE_FILE).fill(scratch / "backup")
        shutil.rmtree(copied, ignore_errors=True)
    return RestoreSource(folder=scratch / "backup", named=folder, manifest=manifest)


def _require_plain_archives(folder: Path) -> None:
    """Before Git runs there: no setting of a stranger, and nothing that it would wait for. Raises ArchiveRefused."""
    for parent in (folder / PROJECTS_FOLDER, folder / ADOPTED_FOLDER):
        for path in sorted(parent.iterdir()) if parent.is_dir() else ():
            repository = ArchiveRepository(path, only_git=True)
            if repository.exists():
                require_plain_below(path)
                require_in_store(repository)


def _copy_database(folder: Path, copied: Path) -> None:
    """With what belongs to it, none of it over a link. Nobody writes it meanwhile."""
    copied.mkdir(mode=_OWNER_ONLY)
    with opened(folder) as fd:
        for copy in database_files(copied / DATABASE_FILE):
            if copy.name.endswith(_MADE_ANEW):
                continue
            with (
                suppress(FileNotFoundError),
                opened_file(fd, copy.name) as file,
                open(file, "rb", closefd=False) as content,
            ):
                write_new(copy, pieces_of(content))


def _require_own(database: Path, folder: Path) -> None:
    """Of the store in `folder`, before anything that its `database` defines has run."""
    try:
        with faults_told():
            require_own_schema(database)
    except ForeignParts as foreign:
        raise ForeignSource(
            f"The database in {folder} has not the schema that this program makes: "
            f"{in_a_sentence(foreign.data['changed'])}",
            hint="Nothing was changed. Go back to a backup (am doctor backups lists them), or to another store's "
            "folder; do not use this one if you have it from somebody else.",
            data={"path": str(folder), "findings": foreign.data["changed"]},
        ) from foreign
    except NewerStore as newer:
        raise NewerBackup(
            f"{folder} is a store of schema {newer.data['schema_version']}; this version of mcp-agent-mail knows "
            f"schemas up to {newer.data['newest_known']}.",
            hint="Restore it with the version that has made it, or a later one.",
            data=dict(newer.data),
        ) from newer


def require_known(manifest: Manifest) -> None:
    """Raise NewerBackup for a store of a schema that this version does not know."""
    newest = shipped_migrations()[-1].version
    if manifest.schema_version > newest:
        raise NewerBackup(
            f"It is of a store of schema {manifest.schema_version}; this version of mcp-agent-mail knows schemas up to "
            f"{newest}.",
            hint=f"Restore it with version {manifest.program[:40]}, or a later one.",
            data={"schema_version": manifest.schema_version, "newest_known": newest},
        )
