"""A folder that a store can be restored from: a backup, or a store's, which is read as if it were backed up first.

A source is looked through whole before anything is built of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound
from mcp_agent_mail.core.plain_files import real_path
from mcp_agent_mail.domain.own_files import DATABASE_FILE
from mcp_agent_mail.features.recovery.backups.backup import BackupMaker
from mcp_agent_mail.features.recovery.backups.manifest import (
    Manifest,
    NewerBackup,
    UnreadableBackup,
    check_backup,
    is_backup,
    read_manifest,
)
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.migrate import shipped_migrations

_SHOWN = 20


class SourceNotFound(NotFound):
    """Nothing lies where the source of a restore should."""


class UnknownSource(InvalidInput):
    """What lies there is neither a backup nor a store."""


class ForeignBackup(Conflict):
    """It is another store's than the one that it should replace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSource:
    """A backup, by its folder and by what it says of itself: every byte of it is as it was made."""

    folder: Path
    manifest: Manifest


@contextmanager
def open_source(path: Path, place: StorePlace, scratch: Path) -> Iterator[RestoreSource]:
    """`scratch`: a folder that is not there, for what has to be made first; it is the caller's to remove.

    Raises SourceNotFound, UnknownSource, UnreadableBackup, NewerBackup, and StoreInUse for the folder of a store that
    is served.
    """
    folder = Path(real_path(str(path)))
    if not folder.exists():
        raise SourceNotFound(f"There is nothing at {path}.", hint="`am doctor backups` lists the backups.")
    if is_backup(folder):
        yield RestoreSource(folder=folder, manifest=_whole(folder))
    elif (folder / DATABASE_FILE).is_file():
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
    of_store = StorePlace(storage_root=folder, database_path=folder / DATABASE_FILE)
    with StoreLock(of_store.storage_root, of_store.database_path):
        manifest = BackupMaker(place=of_store).fill(scratch)
    return RestoreSource(folder=scratch, manifest=manifest)


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
