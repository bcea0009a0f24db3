"""Puts a store made of a backup, or of a saved file, in the place of the one that is there, and back again.

It is built aside and verified; only then all of it changes places with the old store, which is kept whole. Whoever
calls holds the store's lock, and nobody is served meanwhile.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER
from mcp_agent_mail.archive.git_folder import STATE, work_tree_of
from mcp_agent_mail.archive.ownership import store_of
from mcp_agent_mail.archive.recovery import BLOCKED_NOTE, OPEN_NOTE
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.transfer.bundles import begin_from_bundle, show_files
from mcp_agent_mail.archive.workspace import may_return
from mcp_agent_mail.core.clock import Clock, iso, system_clock
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.own_files import DATABASE_FILE, RESTORING
from mcp_agent_mail.features.archiving.adopt import ADOPTED_FOLDER
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER, ArchiverSettings, archive_path, place_in
from mcp_agent_mail.features.recovery.backups.backup import Told, faults_of_store, untold
from mcp_agent_mail.features.recovery.backups.files import make_private, pieces_of, write_new
from mcp_agent_mail.features.recovery.backups.manifest import (
    CONTENTS,
    Manifest,
    SavedArchive,
    UnreadableBackup,
    listed_files,
    opened_of,
)
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.backups.restore_refusals import (
    RestoreUnfit,
    faults_to_mend,
    require_numbers_left,
    require_ours,
    require_times_left,
)
from mcp_agent_mail.features.recovery.backups.saved_source import SavedSource
from mcp_agent_mail.features.recovery.backups.source import ForeignBackup, RestoreSource, open_source, require_known
from mcp_agent_mail.features.recovery.backups.undo import (
    StoreParts,
    built_in,
    kept_told,
    leftovers,
    new_undo,
    newest_undo,
    surplus,
    why_no_undo,
)
from mcp_agent_mail.features.recovery.given_numbers import given_out
from mcp_agent_mail.features.recovery.rebuild import NOT_REBUILT
from mcp_agent_mail.store.checks.artifacts import open_artifacts, read_store_id
from mcp_agent_mail.store.engine.noted_numbers import note_given
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed, faults_told
from mcp_agent_mail.store.engine.sqlite.migrate import StoreRefused, migrate
from mcp_agent_mail.store.engine.sqlite.numbers import raise_numbers, read_numbers
from mcp_agent_mail.store.engine.sqlite.schema import ForeignParts, has_own_schema
from mcp_agent_mail.store.engine.sqlite.swap import swap
from mcp_agent_mail.store.engine.sqlite.swap_places import SwapPlaces

_OWNER_ONLY = 0o700
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """`undo`: where the replaced store is kept; None where there was none. `in_workspaces`: projects whose archives'
    files lie in their own directories, and are not shown there yet; `now_in_store`: those that the backup says this of,
    and that are shown in the store from now on (`workspace.may_return`). `verified` is None where nothing was compared:
    what had been in place is put back as it was. `left_out`: the projects that a saved file was made without.
    `not_rebuilt`: what no archive tells of, where what is in place now was made of archives alone. `removed`: older
    stores that are not kept any more. `newest_mail`: when the last message of the store that is in place now was sent.
    `no_undo`: why nobody goes back, if so.
    """

    source: Path
    undo: Path | None
    verified: bool | None
    removed: tuple[Path, ...] = ()
    store_id: str | None = None
    created: str | None = None
    projects: int | None = None
    messages: int | None = None
    newest_mail: str | None = None
    has_database: bool = True
    in_workspaces: tuple[str, ...] = ()
    now_in_store: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    not_rebuilt: tuple[str, ...] = ()
    no_undo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoreInPlace:
    projects: int | None = None
    messages: int | None = None
    newest: str | None = None
    not_rebuilt: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Restorer:
    """Of the store at `place`; `archiver` are the settings of its archiver."""

    place: StorePlace
    archiver: ArchiverSettings
    clock: Clock = system_clock
    told: Told = untold
    fault_hook: FaultHook = no_fault

    def restore(self, path: Path) -> RestoreReport:
        """Raises what `open_source` and `SavedSource` do, ForeignBackup, RestoreUnfit, NoteFailed; then nothing has
        changed.
        """
        building = built_in(self.place.storage_root / RESTORING, self.place)
        _remove(building)
        try:
            building.folder.mkdir(mode=_OWNER_ONLY)
            report = self._build_saved(path, building) if path.is_file() else self._build_backup(path, building)
            self.fault_hook(FailPoint.RESTORE_BUILT)
            self._note_given(building)
        except BaseException:
            _remove(building)
            raise
        undo, removed = self._put_in_place(building)
        found = _told_of(self.place.database_path)
        no_undo = "" if undo is None else why_no_undo(self.place)
        return replace(
            report,
            undo=undo,
            removed=removed,
            newest_mail=found.newest,
            not_rebuilt=found.not_rebuilt,
            no_undo=no_undo,
        )

    def _build_backup(self, path: Path, building: StoreParts) -> RestoreReport:
        with open_source(path, self.place, building.folder / "source") as source:
            require_known(source.manifest)
            replaces_itself = self._require_own(source.manifest.store_id) is not None
            self._build_database(source, building)
            returning = self._returning(source.manifest, building) if replaces_itself else frozenset()
            faults = self._build(source, building, returning)
        shutil.rmtree(building.folder / "source", ignore_errors=True)
        manifest = source.manifest
        return RestoreReport(
            source=path,
            undo=None,
            verified=not faults,
            store_id=manifest.store_id,
            created=manifest.created,
            projects=manifest.projects,
            messages=manifest.messages,
            in_workspaces=tuple(sorted(returning)),
            now_in_store=tuple(
                archive.slug for archive in manifest.archives if archive.work_tree and archive.slug not in returning
            ),
            findings=tuple(faults[:_SHOWN]),
        )

    def _build_saved(self, path: Path, building: StoreParts) -> RestoreReport:
        saved = SavedSource(path)
        if (found := self._require_own(saved.manifest.store_id)) is not None:
            saved.require_whole(found)
        made = saved.build(building, self.archiver, self.told)
        require_times_left(building.database, self.place.database_path, self.clock())
        self._go_on_above(building.database, building.folder)
        require_numbers_left(building.database)
        return RestoreReport(
            source=path,
            undo=None,
            verified=True,
            store_id=made.manifest.store_id,
            projects=made.rebuilt.projects,
            messages=made.rebuilt.messages,
            left_out=made.left_out,
        )

    def undo(self) -> RestoreReport:
        """Go back to the store that was replaced last; that one is kept now. `has_database` is False where that store
        had lost its own, which is then gone here too. Raises NothingToUndo, and ForeignParts or NewerStore where nobody
        would be served with it.
        """
        kept = newest_undo(self.place)
        with kept_told(kept):
            has_database = has_own_schema(kept.database) and read_numbers(kept.database) is not None
        if has_database:
            self._go_on_above(kept.database, kept.folder)
            self._note_given(kept)
        returning = tuple(_to_be_shown(kept.folder / PROJECTS_FOLDER))
        undo, removed = self._put_in_place(kept)
        found = _told_of(self.place.database_path) if has_database else _StoreInPlace()
        return RestoreReport(
            source=kept.folder,
            undo=undo,
            verified=None,
            in_workspaces=returning,
            removed=removed,
            projects=found.projects,
            messages=found.messages,
            newest_mail=found.newest,
            not_rebuilt=found.not_rebuilt,
            has_database=self.place.database_path.is_file(),
        )

    def _put_in_place(self, built: StoreParts) -> tuple[Path | None, tuple[Path, ...]]:
        """Where the old store is kept, and which older ones are not kept any more."""
        kept = new_undo(self.place, self.clock)
        removed = tuple(one.folder for one in surplus(kept, built, self.place))
        swap(
            SwapPlaces(storage_root=self.place.storage_root, database_path=self.place.database_path),
            list(built.moves_into(self.place, kept)),
            leftovers=list(leftovers(kept, built, self.place)),
            fault_hook=self.fault_hook,
        )
        is_kept = any(kept.folder.iterdir()) or kept.database.exists()
        return (kept.folder if is_kept else None), removed

    def _note_given(self, built: StoreParts) -> None:
        """Before it is in place: once that is begun, whoever comes next finishes it. Raises NoteFailed."""
        if (gives := read_numbers(built.database)) is not None:
            store_id, replaced = read_store_id(built.database), read_numbers(self.place.database_path)
            note_given(self.place.storage_root, store_id, gives, replaced=replaced)

    def _require_own(self, store_id: str) -> str | None:
        """An empty place takes any store; a store is replaced by none but itself. The id of the one that is there."""
        found = self._store_id()
        if found is not None and found != store_id:
            raise ForeignBackup(
                f"It is of store {store_id}; {self.place.storage_root} is store {found}.",
                hint="Nothing was changed. Set STORAGE_ROOT to an empty folder to have it there.",
                data={"store_id": store_id, "found": found},
            )
        return found

    def _go_on_above(self, database: Path, scratch: Path) -> None:
        """No number that the store there gave out is given out again."""
        there = self.place
        given = given_out(there.storage_root, there.database_path, database, scratch, self.clock())
        raise_numbers(database, given)

    def _store_id(self) -> str | None:
        """Of the store that is there; its archives say it too, where the database cannot."""
        if read_numbers(self.place.database_path) is not None:
            with suppress(ForeignParts):
                return read_store_id(self.place.database_path)
        folder = self.place.storage_root / PROJECTS_FOLDER
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            repository = ArchiveRepository(path, only_git=True)
            try:
                if repository.exists() and (found := store_of(repository)) is not None:
                    return found
            except GitFailed:
                continue
        return None

    def _build_database(self, source: RestoreSource, building: StoreParts) -> None:
        manifest = source.manifest
        with opened_of(source.folder, DATABASE_FILE) as database:
            write_new(building.database, pieces_of(database))
        require_ours(building.database)
        self._require_fit([fault.evidence for fault in faults_to_mend(building.database)], manifest)
        require_times_left(building.database, self.place.database_path, self.clock())
        with open_artifacts(building.database) as artifacts:
            found = (artifacts.store_id, artifacts.schema_version)
        if found != (manifest.store_id, manifest.schema_version):
            raise UnreadableBackup(
                f"The database in {source.named} is of another store than its manifest says.",
                hint="Nothing was changed. Go back to another backup.",
                data={"path": str(source.named)},
            )
        self._migrate(building.database)

    def _build(self, source: RestoreSource, building: StoreParts, returning: Collection[str]) -> list[str]:
        """What is wrong with the store that was built; nothing unless the backup was at fault already."""
        self._build_archives(source, building, returning)
        _copy_contents(source, building)
        self._go_on_above(building.database, building.folder)
        require_numbers_left(building.database)
        faults = faults_of_store(
            building.folder,
            building.database,
            self.told,
            shows_files=lambda slug: slug not in returning,
            names=self._names(source, building),
        )
        self._require_fit(faults, source.manifest)
        return faults

    def _names(self, source: RestoreSource, building: StoreParts) -> dict[Path, Path]:
        """Of what is refused with any fault (`_require_fit`) that of the source; else those that it is about to get."""
        if source.manifest.verified:
            return {building.folder: source.named, building.database: source.named / DATABASE_FILE}
        return {building.folder: self.place.storage_root, building.database: self.place.database_path}

    def _returning(self, manifest: Manifest, building: StoreParts) -> frozenset[str]:
        """The projects whose archives' files go back to their own directories: where the archive that is in place has
        its own there. What a backup says of that, and of where the project is, is the word of whoever made it.
        """
        with open_artifacts(building.database) as artifacts:
            directories = {project.slug: Path(project.human_key) for project in artifacts.projects()}
        root = self.place.storage_root
        return frozenset(
            archive.slug
            for archive in manifest.archives
            if archive.work_tree and archive.commit and not archive.is_adopted and archive.slug in directories
            if work_tree_of(archive_path(root, archive.slug)) == Path(archive.work_tree)
            if may_return(archive_path(root, archive.slug), Path(archive.work_tree), directories[archive.slug])
        )

    def _require_fit(self, faults: list[str], manifest: Manifest) -> None:
        """A backup of a store that was at fault is that store."""
        if faults and manifest.verified:
            raise RestoreUnfit(
                f"The store that was made of it is at fault: {faults[0]}.",
                hint="Nothing was changed. Go back to another backup: `am doctor backups --check` says which are "
                "whole.",
                data={"findings": faults[:_SHOWN]},
            )

    def _migrate(self, database: Path) -> None:
        migrate(database, fault_hook=no_fault)
        for copy in database.parent.glob(f"{database.name}.before-*"):
            copy.unlink()

    def _build_archives(self, source: RestoreSource, building: StoreParts, returning: Collection[str]) -> None:
        told = self.told("unpacking archives")
        (building.folder / PROJECTS_FOLDER).mkdir(mode=_OWNER_ONLY)
        for done, archive in enumerate(source.manifest.archives, start=1):
            if archive.commit is not None:
                is_returning = not archive.is_adopted and archive.slug in returning
                self._build_archive(source, building.folder, archive, is_returning=is_returning)
            told(done, len(source.manifest.archives))

    def _build_archive(self, source: RestoreSource, folder: Path, archive: SavedArchive, *, is_returning: bool) -> None:
        assert archive.commit is not None
        path = place_in(folder / (ADOPTED_FOLDER if archive.is_adopted else PROJECTS_FOLDER), archive.slug)
        work_tree = Path(archive.work_tree) if archive.work_tree and is_returning else None
        with opened_of(source.folder, archive.path) as bundle:
            begin_from_bundle(path, archive.commit, pieces_of(bundle), work_tree=work_tree)
        if work_tree is None:
            show_files(path, most=self.archiver.max_tracked_files, clock=self.clock)
        else:
            _note_to_be_shown(path)


def _note_to_be_shown(archive: Path) -> None:
    """Whoever opens it next writes every file that differs."""
    for note in (OPEN_NOTE, BLOCKED_NOTE):
        (archive / note).touch()


def _to_be_shown(projects: Path) -> Iterator[str]:
    """The archives whose files lie elsewhere: there the other store has written meanwhile."""
    for path in sorted(projects.iterdir()) if projects.is_dir() else ():
        if (path / STATE).is_dir() and work_tree_of(path) != path:
            _note_to_be_shown(path)
            yield path.name


def _told_of(database: Path) -> _StoreInPlace:
    """Nothing where its tables cannot be read."""
    with suppress(StoreFailed, StoreRefused), faults_told(), open_artifacts(database) as artifacts:
        newest = artifacts.newest_mail()
        return _StoreInPlace(
            projects=len(list(artifacts.projects())),
            messages=artifacts.counts()[0],
            newest=None if newest is None else iso(newest),
            not_rebuilt=NOT_REBUILT if artifacts.has_lost_tokens() else (),
        )
    return _StoreInPlace()


def _copy_contents(source: RestoreSource, building: StoreParts) -> None:
    for file in listed_files(source.folder):
        if file.path.startswith(f"{CONTENTS}/"):
            place = building.folder / ATTACHMENTS_FOLDER / file.path.removeprefix(f"{CONTENTS}/")
            make_private(place.parent)
            with opened_of(source.folder, file.path) as content:
                write_new(place, pieces_of(content))


def _remove(building: StoreParts) -> None:
    shutil.rmtree(building.folder, ignore_errors=True)
    building.database.unlink(missing_ok=True)
