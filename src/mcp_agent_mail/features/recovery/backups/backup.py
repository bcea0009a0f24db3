"""Makes a backup: the store as it was at one instant, beside a running server or without one.

The instant is that of the database's copy. Of each archive everything up to the commit that this copy names comes
along, so no archive is ahead of it; what was pending is in the copy itself. A backup has no name before a store made
of it aside was verified.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from types import MappingProxyType

from mcp_agent_mail import __version__
from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER
from mcp_agent_mail.archive.git_folder import work_tree_of
from mcp_agent_mail.archive.inspection import Inspection
from mcp_agent_mail.archive.ownership import ArchiveAhead, store_of
from mcp_agent_mail.archive.reading.faults import ArchiveDamaged, damage_of, damage_told
from mcp_agent_mail.archive.reading.hints import of_lost
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.transfer.bundles import UnfitBundle, begin_from_bundle, bundle_pieces
from mcp_agent_mail.core.clock import Clock, iso, system_clock, to_datetime
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.own_files import DATABASE_FILE
from mcp_agent_mail.features.archiving.ahead.older_database import find_ahead, find_unclaimed
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER, archive_folders, archive_path, place_in
from mcp_agent_mail.features.doctor.verify import Finding, verify_archives
from mcp_agent_mail.features.doctor.verify_store import named_as, says_nothing, verify_store
from mcp_agent_mail.features.recovery.backups.backup_folder import (
    BUILDING,
    alone,
    free_name,
    next_number,
    remove_oldest,
)
from mcp_agent_mail.features.recovery.backups.contents import content_pieces
from mcp_agent_mail.features.recovery.backups.files import BackupFiles, pieces_of, write_new
from mcp_agent_mail.features.recovery.backups.manifest import (
    ADOPTED,
    CONTENTS,
    MANIFEST_FILE,
    Manifest,
    SavedArchive,
    opened_of,
)
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.outside_store import require_outside
from mcp_agent_mail.store.checks.artifacts import Artifacts, open_artifacts
from mcp_agent_mail.store.checks.derived_parts import is_derived
from mcp_agent_mail.store.checks.integrity import find_faults
from mcp_agent_mail.store.engine.sqlite.database_copy import copy_database
from mcp_agent_mail.store.engine.sqlite.faults import WAYS_BACK
from mcp_agent_mail.store.engine.sqlite.schema import require_own_schema

_SCRATCH = ".scratch"
_OWNER_ONLY = 0o700
_TRIES = 3
_SHOWN = 20

Told = Callable[[str], Progress]
"""Whom to tell how far a part of the work is, by the part's name."""


class BackupUnfit(Conflict):
    """A store made of the backup differs from what it should be: the store itself is at fault. No backup was made."""


class ArchiveMissing(Conflict):
    """An archive does not have the commit that the database says was in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """`removed`: older backups of this store, which were more than are kept."""

    path: Path
    bytes: int
    verified: bool
    projects: int
    messages: int
    removed: tuple[Path, ...] = ()
    findings: tuple[str, ...] = ()


def untold(_what: str) -> Progress:
    return lambda _done, _total: None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupMaker:
    """Backs up the store at `place`. `takes_faults`: also one that is at fault, as it is; the backup says so.
    `database_named`: what the database is called to people, where `place` has a copy of it.
    """

    place: StorePlace
    database_named: Path | None = None
    clock: Clock = system_clock
    takes_faults: bool = False
    told: Told = untold
    fault_hook: FaultHook = no_fault

    def make(self, target: Path, *, keep: int) -> BackupReport:
        """A new backup in the folder `target`; of this store no more than `keep` that were verified stay there, and as
        many that were not.

        Raises PartOfStore, UnfitTarget, BackupBusy, BackupUnfit, ArchiveMissing, ArchiveDamaged, StoreRefused and
        OSError, and leaves nothing then; what a killed one left goes with the next.
        """
        require_outside(self.place.storage_root, target)
        with alone(target):
            building = target / f"{BUILDING}{token_hex(8)}"
            try:
                manifest = self.fill(building, number=next_number(target))
                path = self._name(building, target)
            except BaseException:
                shutil.rmtree(building, ignore_errors=True)
                raise
            removed = remove_oldest(target, keep, manifest.store_id, path, fault_hook=self.fault_hook)
        return BackupReport(
            path=path,
            bytes=manifest.bytes,
            verified=manifest.verified,
            projects=manifest.projects,
            messages=manifest.messages,
            removed=removed,
            findings=manifest.findings,
        )

    def fill(self, folder: Path, *, number: int = 0) -> Manifest:
        """Make `folder`, which is not there, a backup, whatever its name. Raises as `make`, and leaves what there
        is.
        """
        for tried in range(1, _TRIES + 1):
            folder.mkdir(mode=_OWNER_ONLY)
            try:
                return self._fill(folder, number=number)
            except ArchiveMissing:
                # Beside a server a project may have become part of another one meanwhile.
                if tried == _TRIES:
                    raise
                shutil.rmtree(folder)
        raise AssertionError("the last try returns or raises")

    def _fill(self, folder: Path, *, number: int) -> Manifest:
        created = iso(self.clock())
        database, findings = folder / DATABASE_FILE, list[str]()
        copy_database(
            self.place.database_path,
            database,
            progress=self.told("copying the database"),
            fault_hook=self.fault_hook,
        )
        # As it is asked of the copy below: here it is told of by the name that people know.
        require_own_schema(self.place.database_path)
        with BackupFiles(folder, self.fault_hook) as files, open_artifacts(database) as artifacts:
            strays = self._strays(artifacts, findings)
            archives = [*self._save_adopted(files, artifacts), *self._save_archives(files, artifacts, strays, findings)]
            self._save_contents(files, artifacts, archives)
            files.note_database(database)
            messages, _ = artifacts.counts()
            store_id, schema_version = artifacts.store_id, artifacts.schema_version
        self.fault_hook(FailPoint.BACKUP_WRITTEN)
        findings += self._faults_of(folder, archives)
        manifest = Manifest(
            store_id=store_id,
            schema_version=schema_version,
            program=__version__,
            created=created,
            messages=messages,
            archives=tuple(archives),
            bytes=files.bytes,
            checksums_sha256=files.checksums_sha256,
            verified=not findings,
            findings=tuple(findings[:_SHOWN]),
            number=number,
        )
        write_new(folder / MANIFEST_FILE, [manifest.to_text().encode()])
        return manifest

    def _name(self, building: Path, target: Path) -> Path:
        for below, _, _ in os.walk(building, topdown=False):
            sync_path(Path(below))
        self.fault_hook(FailPoint.BACKUP_VERIFIED)
        path = free_name(target, to_datetime(self.clock()).strftime("%Y-%m-%dT%H%M%SZ"))
        building.rename(path)
        sync_path(target)
        self.fault_hook(FailPoint.BACKUP_NAMED)
        return path

    def _save_adopted(self, files: BackupFiles, artifacts: Artifacts) -> Iterator[SavedArchive]:
        """Archives of adopted projects, whole: also those that are about to be set aside."""
        known = {project.slug for project in artifacts.projects()}
        found: dict[str, Path] = {}
        for path in archive_folders(self.place.storage_root):
            if path.name not in known and artifacts.knows(path.name):
                found[path.name] = path
        with suppress(FileNotFoundError):
            adopted = self.place.storage_root / ADOPTED
            found.update({path.name: path for path in adopted.iterdir() if path.name not in known})
        for slug, path in sorted(found.items()):
            repository = ArchiveRepository(path, only_git=True)
            if not repository.exists() or store_of(repository) != artifacts.store_id:
                continue
            commit = repository.tip()
            assert commit is not None, "it has said whose it is"
            archive = SavedArchive(slug=slug, commit=commit, is_adopted=True)
            files.write(archive.path, bundle_pieces(repository, commit, as_it_lies=True))
            yield archive

    def _strays(self, artifacts: Artifacts, findings: list[str]) -> dict[str, str | None]:
        """By slug the newest commits of the archives that no project claims: a store that is made of the backup is to
        show them too.
        """
        root = self.place.storage_root
        found: dict[str, str | None] = {}
        for stray in find_unclaimed(root, artifacts, self.place.database_path):
            self._note_ahead(stray, findings)
            slug = Path(stray.data["path"]).name
            with suppress(GitFailed):
                found[slug] = ArchiveRepository(archive_path(root, slug), only_git=True).tip()
        return found

    def _save_archives(
        self, files: BackupFiles, artifacts: Artifacts, strays: Mapping[str, str | None], findings: list[str]
    ) -> Iterator[SavedArchive]:
        told = self.told("saving archives")
        projects = {project.slug: project for project in artifacts.projects()}
        slugs = sorted({*projects, *strays}, key=lambda slug: f"{slug}.bundle")
        for done, slug in enumerate(slugs, start=1):
            try:
                commit = strays.get(slug)
                if (project := projects.get(slug)) is not None:
                    root, database = self.place.storage_root, self.place.database_path
                    self._note_ahead(find_ahead(root, project, artifacts, database), findings)
                    last = artifacts.outbox.last_commit(project.id)
                    commit = None if last is None else last.hexsha
                yield self._save_archive(files, slug, commit)
            except (ArchiveMissing, ArchiveDamaged) as lacking:
                if not self.takes_faults:
                    raise
                findings.append(lacking.message)
                yield SavedArchive(slug=slug, commit=None)
            told(done, len(slugs))

    def _note_ahead(self, ahead: ArchiveAhead | None, findings: list[str]) -> None:
        """A backup of a database that lost mail would look like all that there is."""
        if ahead is None:
            return
        if not self.takes_faults:
            raise BackupUnfit(f"No backup was made: {ahead.message}", hint=ahead.hint, data=dict(ahead.data))
        findings.append(ahead.message)

    def _save_archive(self, files: BackupFiles, slug: str, commit: str | None) -> SavedArchive:
        path = archive_path(self.place.storage_root, slug)
        if commit is None:
            return SavedArchive(slug=slug, commit=None)
        if not _has(path, commit):
            raise _lacking(path, commit)
        work_tree = work_tree_of(path)
        archive = SavedArchive(slug=slug, commit=commit, work_tree=None if work_tree == path else str(work_tree))
        if self.takes_faults and (problem := damage_of(path)):
            # Its objects would come along as they lie, and no store could be made of them.
            raise ArchiveDamaged(path, problem, has_database=True)
        try:
            with damage_told(path):
                files.write(
                    archive.path, bundle_pieces(ArchiveRepository(path, only_git=True), commit, as_it_lies=True)
                )
        except GitFailed as failed:
            raise _lacking(path, commit) from failed
        return archive

    def _save_contents(self, files: BackupFiles, artifacts: Artifacts, archives: Iterable[SavedArchive]) -> None:
        """Of what is gone beside the database the archives have a copy; what is nowhere is told by the verification."""
        beside = self.place.storage_root / ATTACHMENTS_FOLDER
        holders = [
            (archive_path(self.place.storage_root, archive.slug), archive.commit)
            for archive in archives
            if archive.commit is not None and not archive.is_adopted
        ]
        for sha256 in artifacts.contents():
            pieces = content_pieces(beside, holders, sha256)
            if pieces is not None:
                files.write(f"{CONTENTS}/{sha256[:2]}/{sha256}", pieces)

    def _faults_of(self, folder: Path, archives: Iterable[SavedArchive]) -> list[str]:
        """What is wrong with a store made of it. Raises BackupUnfit unless faults are taken."""
        scratch = folder / _SCRATCH
        (scratch / PROJECTS_FOLDER).mkdir(parents=True, mode=_OWNER_ONLY)
        try:
            (scratch / ATTACHMENTS_FOLDER).symlink_to(Path("..") / CONTENTS)
            for archive in archives:
                if archive.commit is not None:
                    among = ADOPTED if archive.is_adopted else PROJECTS_FOLDER
                    place = place_in(scratch / among, archive.slug)
                    source = place_in(self.place.storage_root / among, archive.slug)
                    with damage_told(source, told_by=(UnfitBundle,)), opened_of(folder, archive.path) as bundle:
                        begin_from_bundle(place, archive.commit, pieces_of(bundle))
            names = {
                scratch: self.place.storage_root,
                folder / DATABASE_FILE: self.database_named or self.place.database_path,
            }
            found = faults_of_store(scratch, folder / DATABASE_FILE, self.told, names=names)
        finally:
            shutil.rmtree(scratch)
        if found and not self.takes_faults:
            raise BackupUnfit(
                f"No backup was made: the store is at fault, and so is what a restore would give ({found[0]}).",
                hint=f"`am doctor verify` lists what is wrong{_way_on(folder / DATABASE_FILE)}",
                data={"findings": found[:_SHOWN]},
            )
        return found


def _way_on(database: Path) -> str:
    """A repair leaves alone a database that is itself at fault, and backs nothing up then."""
    if all(is_derived(fault) for fault in find_faults(database)):
        return "; `am doctor repair` backs up as it is, and mends what it can."
    return f". Stop the server, if one runs. {WAYS_BACK}"


def faults_of_store(
    storage_root: Path,
    database_path: Path,
    told: Told,
    *,
    shows_files: Callable[[str], bool] = lambda _: False,
    names: Mapping[Path, object] = MappingProxyType({}),
) -> list[str]:
    """What is wrong with a store, in words: its database, and its archives against that. `names`: as for `named_as`."""
    found = [*verify_store(database_path)]
    if says_nothing(found):
        return [_in_words(finding) for finding in named_as(found, names)]
    report = verify_archives(
        storage_root,
        database_path,
        progress=told("rendering messages"),
        comparing=told("comparing files"),
        shows_files=shows_files,
    )
    return [_in_words(finding) for finding in named_as((*found, *report.findings), names)]


def _in_words(finding: Finding) -> str:
    where = " ".join(part for part in (finding.project, finding.path) if part)
    return f"{finding.check} {finding.problem}: {where or 'the store'}: {finding.evidence}"


def _has(archive: Path, commit: str) -> bool:
    try:
        found = Inspection(archive)
        return found.exists() and found.has_commit(commit)
    except (OSError, GitFailed):
        return False


def _lacking(archive: Path, commit: str) -> ArchiveMissing:
    return ArchiveMissing(
        f"{archive} does not hold all of commit {commit}, which the database has seen there: it was deleted, moved "
        "away, set back or damaged.",
        hint=of_lost(archive, has_database=True),
        data={"path": str(archive)},
    )
