"""Makes a store of a saved file: its archives unpacked, a database rebuilt from them, all of it verified, then put in
place.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.archive.transfer.bundles import ArchiveTooLarge, show_files
from mcp_agent_mail.core.clock import Micros, iso, system_clock
from mcp_agent_mail.core.errors import Conflict, InvalidInput
from mcp_agent_mail.core.failpoints import FaultHook, no_fault
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.own_files import DATABASE_FILE, RESTORING
from mcp_agent_mail.domain.projects import AliasKind
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER, ArchiverSettings
from mcp_agent_mail.features.doctor.verify import verify_archives
from mcp_agent_mail.features.doctor.verify_store import named_as, says_nothing, verify_store
from mcp_agent_mail.features.projects.ensure import record_event
from mcp_agent_mail.features.projects.lookup import find_known_path
from mcp_agent_mail.features.recovery.outside_store import require_outside
from mcp_agent_mail.features.recovery.rebuild import Rebuilt, rebuild_database
from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from mcp_agent_mail.features.recovery.saved_archives import unpack
from mcp_agent_mail.features.recovery.saved_file import SavedManifest
from mcp_agent_mail.features.recovery.scratch import PlaceTaken, aside, built_aside, remove_left
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite.database_files import beside, database_files, hidden_beside, remove_database
from mcp_agent_mail.store.engine.sqlite.numbers import AHEAD, leaves_enough, read_numbers
from mcp_agent_mail.store.engine.sqlite.swap import swap
from mcp_agent_mail.store.engine.sqlite.swap_places import Move, SwapPlaces
from mcp_agent_mail.store.transaction import Tx

_DRAIN_S = 3_600.0
_MOST_ROUNDS = 1_000


class StoreInTheWay(PlaceTaken):
    """There is a store, or some of one, where one is to be made."""


class UnknownOldPath(InvalidInput):
    """No project in the file has the path that is to be called otherwise."""


class PathTaken(Conflict):
    """The new path is another project's already."""


class RestoreRefused(Conflict):
    """What the file holds does not make a store that is as it should be. Nothing was put in place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPath:
    """A directory that is to be a name of the project that had `old` on the machine where the file was made."""

    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOutcome:
    """`left_out`: projects that others mention and that the file was made without."""

    manifest: SavedManifest
    left_out: tuple[str, ...]
    rebuilt: Rebuilt


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """`settings` are the archiver's of the store that is made, whose places are said apart."""

    file: Path
    new_paths: Collection[NewPath]
    settings: ArchiverSettings
    unpacking: Progress
    rebuilding: Progress


def restore_into(request: RestoreRequest, folder: Path) -> RestoreOutcome:
    """Make a store of its own in `folder`, which is missing or empty: whole, or not at all. Raises PlaceTaken,
    PartOfStore for a folder in the store that the settings name, UnfitSavedFile, RebuildRefused, RestoreRefused,
    UnknownOldPath, PathTaken.
    """
    folder = folder.absolute()
    require_outside(Path(request.settings.storage_root), folder, is_made=True)
    if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir())):
        remove_left(aside(folder, RESTORING))
        raise StoreInTheWay(
            f"{folder} is there already and is no empty folder; nothing is written over.",
            hint="Name another folder, or move that one away.",
        )
    with _bombs_told(), built_aside(folder, RESTORING) as built:
        return build_saved(request, built, built / DATABASE_FILE)


def restore_here(
    request: RestoreRequest, storage_root: Path, database_path: Path, *, fault_hook: FaultHook = no_fault
) -> RestoreOutcome:
    """As `restore_into`, where the settings say that the store is; the caller holds its lock. Whenever this ends, there
    is no store yet, or the whole one once the next holder of the lock has finished.
    """
    _require_no_store(storage_root, database_path)
    built = storage_root / RESTORING
    database = built / DATABASE_FILE
    if database_path.parent.resolve() != storage_root.resolve():
        # Renamed into its place, so in its file system.
        database = hidden_beside(database_path, f".{RESTORING}")
    remove_database(database)
    shutil.rmtree(built, ignore_errors=True)
    built.mkdir(mode=0o700)
    try:
        with _bombs_told():
            restored = build_saved(request, built, database)
    except BaseException:
        shutil.rmtree(built, ignore_errors=True)
        remove_database(database)
        raise
    moves = [
        Move(place=storage_root / name, built=built / name, kept=built / f"{name}.before")
        for name in (PROJECTS_FOLDER, ATTACHMENTS_FOLDER)
        if (built / name).exists()
    ]
    moves.append(Move(place=database_path, built=database, kept=beside(database, ".before")))
    # What was there was empty.
    places = SwapPlaces(storage_root=storage_root, database_path=database_path)
    swap(places, moves, leftovers=[built], fault_hook=fault_hook)
    return restored


@contextmanager
def _bombs_told() -> Iterator[None]:
    """Where a new store is made of a file, that may be a stranger's."""
    try:
        yield
    except ArchiveTooLarge as large:
        hint = f"{large.hint} A small file of a stranger that becomes so large was made by hand: do not use it."
        raise large.reworded(hint=hint, data=large.data) from large


def build_saved(request: RestoreRequest, folder: Path, database: Path) -> RestoreOutcome:
    """A whole store in `folder`, a private and empty one, with its database at `database`; verified. Raises as
    `restore_into` does, and leaves what there is then to the caller.
    """
    archives = folder / PROJECTS_FOLDER
    archives.mkdir(mode=0o700)
    manifest = unpack(request.file, archives, progress=request.unpacking)
    _require_old_paths(request, manifest)
    rebuilt, left_out = _rebuilt(request, manifest, folder, database)
    _require_numbers_left(request.file, database)
    for project in manifest.projects:
        show_files(archives / project.slug, most=request.settings.max_tracked_files, clock=system_clock)
    settings = replace(request.settings, storage_root=str(folder), database_path=str(database), in_workspace=False)
    asyncio.run(_bring_into_git(database, settings, request.new_paths))
    _require_clean(folder, database)
    return RestoreOutcome(manifest=manifest, left_out=tuple(sorted(left_out)), rebuilt=rebuilt)


def _rebuilt(
    request: RestoreRequest, manifest: SavedManifest, folder: Path, database: Path
) -> tuple[Rebuilt, Collection[str]]:
    """Without the projects that the file was made without, once somebody mentions them."""
    there = {project.slug for project in manifest.projects}
    at = {project.slug: project.commit for project in manifest.projects}
    left_out: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        try:
            rebuilt = rebuild_database(
                folder / PROJECTS_FOLDER,
                database,
                folder / ATTACHMENTS_FOLDER,
                without=left_out,
                at=at,
                progress=request.rebuilding,
            )
        except RebuildRefused as refused:
            mentioned = set(refused.data.get("archives", ())) - there - left_out
            if not manifest.is_partial or not mentioned:
                raise
            left_out |= mentioned
        else:
            return rebuilt, left_out
    raise RestoreRefused(
        f"{request.file} lacks more projects than can be left out.", hint="Save all of the store's archives again."
    )


def _require_numbers_left(file: Path, database: Path) -> None:
    """What goes on far above what archives may hold could not be restored again, and time does not go back."""
    given = read_numbers(database)
    if given is None or not leaves_enough(given):
        raise RestoreRefused(
            f"{file} has used up more numbers than a store gives out: too few are left for what comes.",
            hint="It was made by hand: do not use it. Use another one, or go back to a backup: am doctor backups",
        )
    if given.latest > system_clock() + AHEAD:
        raise RestoreRefused(
            f"{file} tells of mail that was delivered on {iso(Micros(given.latest))}: what comes would be later.",
            hint="If the clock of this machine is wrong (date), set it right and restore again. Else use another "
            "saved file, or go back to a backup: am doctor backups",
        )


def _require_old_paths(request: RestoreRequest, manifest: SavedManifest) -> None:
    """Early, for a mistake in a path: former names of projects are known to the database alone."""
    known = [project.human_key for project in manifest.projects]
    for path in request.new_paths:
        if not path.old.startswith("/"):
            raise _unknown(path.old, known)


async def _bring_into_git(database: Path, settings: ArchiverSettings, new_paths: Collection[NewPath]) -> None:
    """Each new path becomes a name of its project; and where one archive was behind another when the file was made, it
    catches up.
    """
    async with Store(database) as store:
        await store.write(lambda tx: _add_names(tx, new_paths))
        failed = await drain_in_process(store, settings, timeout_s=_DRAIN_S)
    if failed:
        raise RestoreRefused(
            f"What the archives lack cannot be brought into Git: {failed[0].message}",
            hint=failed[0].hint or "Try it again.",
        )


def _add_names(tx: Tx, new_paths: Collection[NewPath]) -> None:
    for path in new_paths:
        project = find_known_path(tx, path.old)
        if project is None:
            raise _unknown(path.old, [one.human_key for one in tx.projects.newest(20)])
        taken = find_known_path(tx, path.new)
        if taken is not None and taken.id != project.id:
            raise PathTaken(
                f"{path.new} is a path of the project {taken.slug} already; it cannot be one of {project.slug} too.",
                hint="Name another directory, or leave this --map out.",
                data={"path": path.new, "project": taken.slug},
            )
        if taken is None and tx.aliases.add(project.id, path.new, AliasKind.PATH, tx.now):
            record_event(tx, project, None)


def _unknown(path: str, known: Collection[str]) -> UnknownOldPath:
    return UnknownOldPath(
        f"No project in the file has the path {path!r:.300}.",
        hint=f"They have: {', '.join(sorted(known)[:20])}. Write --map OLD=NEW with one of these as OLD.",
        data={"paths": sorted(known)[:20]},
    )


def _require_clean(folder: Path, database: Path) -> None:
    findings, pending = verify_store(database), 0
    if not says_nothing(findings):
        report = verify_archives(folder, database, progress=lambda _done, _total: None)
        findings, pending = [*findings, *report.findings], report.pending_events
    findings = named_as(findings, {database: "its database", folder: "the new store"})
    if findings or pending:
        first = findings[0] if findings else None
        told = f"{first.check} {first.problem}: {first.evidence}" if first else "events are not in Git"
        raise RestoreRefused(
            f"The store made of the file is not as it should be ({len(findings)} findings; {told}). "
            "Nothing was put in place.",
            hint="Use another saved file, or go back to a backup: am doctor backups",
        )


def _require_no_store(storage_root: Path, database_path: Path) -> None:
    if there := next((path for path in database_files(database_path) if os.path.lexists(path)), None):
        if there != database_path:
            raise StoreInTheWay(
                f"{there} is there, of a database that is gone: SQLite would write it into the new one.",
                hint="If that database is lost for good, move this file away and keep it. Else put both back.",
            )
        raise StoreInTheWay(
            f"{there} is there: a store is made only where none is.",
            hint="Make one elsewhere: am archive restore FILE --into DIR. To put that in the place of the present one, "
            "with --undo: then am doctor restore DIR.",
        )
    archives = storage_root / PROJECTS_FOLDER
    if os.path.lexists(archives) and any(archives.iterdir()):
        raise StoreInTheWay(
            f"{archives} holds archives, and there is no database.",
            hint="If they are yours, make the database anew from them: am doctor rebuild. Else name an empty folder: "
            "--into DIR",
        )
    if any(AttachmentFiles(storage_root / ATTACHMENTS_FOLDER).each()):
        raise StoreInTheWay(
            f"{storage_root / ATTACHMENTS_FOLDER} holds attachments, and there is no database.",
            hint="Name an empty folder (--into DIR), or move that one away.",
        )
