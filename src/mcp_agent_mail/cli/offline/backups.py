"""Backs up the store beside a server or without one, and restores it without one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.cli.context import require_settled
from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.offline.store_lock import lone_owner, told_when_replaced, told_without_room
from mcp_agent_mail.core.errors import NotFound, in_sentences
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.archiving.lost_database import require_database
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.recovery.backups.backup import BackupMaker, Told
from mcp_agent_mail.features.recovery.backups.backup_folder import ListedBackup, faults_of_backup, list_backups
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.backups.repair import Repairer
from mcp_agent_mail.features.recovery.backups.restore import Restorer, RestoreReport
from mcp_agent_mail.store.database import Store

KEPT = 7
"""Backups that stay unless another number is asked for."""
_LOW_PRIORITY = 10
_FAULTS_SHOWN = 1_000
_DRAIN_S = 3_600.0
_TO_MOVE_BACK = (
    "Their files lie in the store now. To have them in the projects' directories again: stop the server, move each "
    "one's folder in projects/ away and keep it, likewise a .mcp-mail of another store in the project's directory, and "
    "run `am archive renew` for it with ARCHIVE_LOCATION=workspace."
)
_NO_DATABASE = (
    "The store that was put back has no database: it had lost it when it was replaced. `am doctor rebuild` makes one "
    "from its archives; `am doctor restore --undo` goes back to the other store."
)


class NoSuchFolder(NotFound):
    """Backups are looked for where there is nothing: a mistake in a path, not a store without one."""


def place_of(settings: Settings) -> StorePlace:
    return StorePlace(storage_root=settings.storage_root, database_path=settings.database_path)


# Plain JSON, as `--json` prints it.
def back_up_offline(settings: Settings, target: Path | None, keep: int, told: Told) -> dict[str, Any]:
    """A backup in `target` or BACKUP_DIR. Raises NoServer where there is no store, and as `BackupMaker.make`."""
    require_settled(settings.storage_root)
    require_database(settings.storage_root, settings.database_path)
    if not settings.database_path.is_file():
        raise NoServer(f"There is no store in {settings.storage_root}.", hint="Look at STORAGE_ROOT: am config show")
    folder = target or settings.backup_dir
    with told_when_replaced(settings), told_without_room(settings, folder), _in_the_background():
        made = BackupMaker(place=place_of(settings), told=told).make(folder, keep=keep)
    return {
        "path": str(made.path),
        "bytes": made.bytes,
        "verified": made.verified,
        "projects": made.projects,
        "messages": made.messages,
        "removed": [str(path) for path in made.removed],
    }


# Likewise.
def list_backups_offline(settings: Settings, target: Path | None, *, reads_all: bool) -> Iterator[dict[str, Any]]:
    """The backups in `target` or BACKUP_DIR, newest first; `reads_all`: each with the faults of its files.
    Raises NoSuchFolder for a `target` that is not there, and UnfitTarget.
    """
    if target is not None and not os.path.lexists(target):
        raise NoSuchFolder(
            f"There is no folder {target}.", hint="Name a folder of backups, or leave --to out to see BACKUP_DIR."
        )
    for one in list_backups(target or settings.backup_dir):
        yield _row(one) | (_as_it_is_now(one) if reads_all else {})


def _row(one: ListedBackup) -> dict[str, Any]:
    manifest = one.manifest
    return {
        "path": str(one.path),
        "created": manifest.created if manifest else None,
        "bytes": manifest.bytes if manifest else None,
        "projects": manifest.projects if manifest else None,
        "messages": manifest.messages if manifest else None,
        "verified": manifest.verified if manifest else False,
        "store_id": manifest.store_id if manifest else None,
        "problem": one.problem,
    }


def _as_it_is_now(one: ListedBackup) -> dict[str, Any]:
    """What it was when it was made does not count where its files are others now."""
    faults = [asdict(fault) for fault in islice(faults_of_backup(one), _FAULTS_SHOWN)]
    if not faults or one.problem:
        return {"faults": faults}
    return {"faults": faults, "verified": False, "problem": "damaged since it was made: it cannot be restored"}


# Likewise.
def restore_offline(settings: Settings, source: Path | None, told: Told) -> dict[str, Any]:
    """Restore from `source`; without one go back to what was replaced last. Raises StoreOccupied, and as
    `Restorer` does.
    """
    with lone_owner(settings):
        restorer = Restorer(place=place_of(settings), archiver=archiver_settings(settings), told=told)
        done = restorer.undo() if source is None else restorer.restore(_found(settings, source))
        problem = _show_files(settings) if done.in_workspaces and done.has_database else None
    if not done.has_database:
        problem = _NO_DATABASE
    how = {"to_move_back": _TO_MOVE_BACK} if done.now_in_store else {}
    return _told(done) | how | {"problem": problem or done.no_undo or None}


# Likewise.
def repair_offline(settings: Settings, *, dry_run: bool, told: Told) -> dict[str, Any]:
    """What was made anew, or would be, and what is left. Raises StoreOccupied while a server runs, and as
    `Repairer.repair`.
    """
    with lone_owner(settings):
        repairer = Repairer(
            place=place_of(settings),
            archiver=archiver_settings(settings),
            backups=settings.backup_dir,
            keep=KEPT,
            told=told,
        )
        report = asyncio.run(repairer.repair(dry_run=dry_run))
    return {
        "repaired": [{"what": one.what, "evidence": one.evidence} for one in report.repaired],
        "left": [asdict(one) for one in report.left],
        "backup": None if report.backup is None else str(report.backup),
        "kept": [str(path) for path in report.kept],
        "removed": [str(path) for path in report.removed],
        "dry_run": dry_run,
    }


def _found(settings: Settings, source: Path) -> Path:
    """A bare name, as `am doctor backups` shows it at the end of a path, is looked for among the backups too."""
    named = settings.backup_dir / source
    is_there = os.path.lexists(source) or len(source.parts) != 1
    return named if not is_there and named.is_dir() else source.absolute()


def _told(done: RestoreReport) -> dict[str, Any]:
    return {
        "restored": str(done.source),
        "created": done.created,
        "verified": done.verified,
        "projects": done.projects,
        "messages": done.messages,
        "newest_mail": done.newest_mail,
        "has_database": done.has_database,
        "undo": None if done.undo is None else str(done.undo),
        "removed": [str(path) for path in done.removed],
        "findings": list(done.findings),
        "now_in_store": list(done.now_in_store),
        "left_out": list(done.left_out),
        "not_rebuilt": list(done.not_rebuilt),
    }


def _show_files(settings: Settings) -> str | None:
    """In the projects' own directories, where another store has written meanwhile; why some could not be."""

    async def drain() -> str | None:
        async with Store(settings.database_path, echo=settings.database_echo) as store:
            failed = await drain_in_process(store, archiver_settings(settings), timeout_s=_DRAIN_S)
        return in_sentences(failed[0].message, failed[0].hint) if failed else None

    return asyncio.run(drain())


@contextmanager
def _in_the_background() -> Iterator[None]:
    """A server's work goes first; Git is started at the same low priority."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(before, _LOW_PRIORITY))
    try:
        yield
    finally:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, before)
