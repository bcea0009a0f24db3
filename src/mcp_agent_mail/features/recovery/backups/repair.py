"""Makes anew what of a store follows from the rest of it, and tells what does not.

A backup comes first, of the store as it is, faults and all. Mail, people, leases and history are never written here:
where they are damaged, a restore or a rebuild is the way.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.archive.contents import Contents, MissingContents
from mcp_agent_mail.archive.git_folder import ArchiveRefused, work_tree_of
from mcp_agent_mail.archive.index import is_index_torn
from mcp_agent_mail.archive.inspection import Inspection
from mcp_agent_mail.archive.locks import ArchiveLock
from mcp_agent_mail.archive.ownership import ArchiveBehind, OutboxPosition
from mcp_agent_mail.archive.reading.faults import ArchiveDamaged, damage_of
from mcp_agent_mail.archive.recovery import LACKED_NOTE, is_newly_made, is_unfinished
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.clock import Clock, system_clock
from mcp_agent_mail.core.errors import AgentMailError, NotFound
from mcp_agent_mail.core.failpoints import FaultHook, no_fault
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.git.process import GitDiskFull, GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.lost_database import require_database
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.archiving.protocol import (
    LOCKS_FOLDER,
    PROJECTS_FOLDER,
    ArchiverSettings,
    archive_path,
    place_in,
)
from mcp_agent_mail.features.archiving.renew import claim_of, renew_archive
from mcp_agent_mail.features.doctor.verify import AHEAD, Finding, verify_archives
from mcp_agent_mail.features.recovery.backups.backup import BackupMaker, Told, untold
from mcp_agent_mail.features.recovery.backups.contents import bring_back, find_mendable
from mcp_agent_mail.features.recovery.backups.git_repair import (
    has_unindexed_packs,
    note_to_be_shown,
    renew_pack_indexes,
    unindexable,
)
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.kept_folders import free_place
from mcp_agent_mail.store.checks.artifacts import open_artifacts
from mcp_agent_mail.store.checks.derived_parts import REWRITTEN, is_derived, rewrite_derived
from mcp_agent_mail.store.checks.integrity import find_faults
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite.database_files import database_files
from mcp_agent_mail.store.engine.sqlite.migrate import require_current

_WRITTEN_AGAIN = "The archive is set aside, in kept/, and written again from the database."
_OTHERS = 0o077
_OWNER_ONLY = 0o700
_DRAIN_S = 3_600.0
_LOCK_S = 30.0
_PRIVATE_FILES = ("operator.token", "server.json", "server.lock")
_REBUILD = (
    "am doctor restore BACKUP (am doctor backups lists them), or am doctor rebuild, which makes one from Git, without "
    "what Git had not got yet. Both keep the old one"
)
_CONTENT_LEFT = "no archive has it whole: copy it there from a backup (am doctor backups), or from where it was sent"
_RESTORE = "am doctor restore, from the newest backup that is whole (am doctor backups --check)"


class NoDatabase(NotFound):
    """There is no database to repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """`what` is at fault, and how that shows. `next_step`: what a person does where it is left."""

    what: str
    evidence: str
    next_step: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """`repaired`, or what would be; `backup`: of the store before, None where nothing was done. `removed`: older
    backups, which were more than are kept. `kept`: where archives lie whose objects are damaged, and that were written
    again.
    """

    repaired: tuple[Repair, ...]
    left: tuple[Repair, ...]
    backup: Path | None
    kept: tuple[Path, ...] = ()
    removed: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairer:
    """Of the store at `place`, whose lock the caller holds."""

    place: StorePlace
    archiver: ArchiverSettings
    backups: Path
    keep: int
    clock: Clock = system_clock
    told: Told = untold
    fault_hook: FaultHook = no_fault

    async def repair(self, *, dry_run: bool) -> RepairReport:
        """Raises NoDatabase, StoreRefused, and what `BackupMaker.make` does: then nothing was changed."""
        self._require_database()
        found = _each_once(self._find())
        wanted = [one for one in found if not one.next_step]
        if dry_run or not wanted or any(one.next_step == _REBUILD for one in found):
            left = [one for one in found if one.next_step]
            if not dry_run:
                left += [_left(one, _REBUILD) for one in wanted]
            return RepairReport(repaired=tuple(wanted) if dry_run else (), left=tuple(left), backup=None)
        maker = BackupMaker(
            place=self.place, takes_faults=True, clock=self.clock, told=self.told, fault_hook=self.fault_hook
        )
        backup = maker.make(self.backups, keep=self.keep)
        kept: list[Path] = []
        failed = await self._mend(kept)
        left = _each_once([*failed, *self._find()])
        still = {one.what for one in left}
        return RepairReport(
            repaired=tuple(one for one in _each_once([*wanted, *_set_aside(kept, wanted)]) if one.what not in still),
            left=tuple(one if one.next_step else _left(one, _RESTORE) for one in left),
            backup=backup.path,
            removed=backup.removed,
            kept=tuple(kept),
        )

    def _require_database(self) -> None:
        require_database(self.place.storage_root, self.place.database_path)
        if not self.place.database_path.is_file():
            raise NoDatabase(
                f"There is no database at {self.place.database_path}.",
                hint="`am doctor restore BACKUP` goes back to a backup; `am doctor rebuild` makes it of archives.",
            )
        require_current(self.place.database_path)

    def _find(self) -> Iterator[Repair]:
        yield from self._open_to_others()
        parts = list(self._database_faults())
        yield from parts
        if any(one.next_step for one in parts):
            return  # What it says of archives cannot be relied on.
        yield from self._archive_faults()

    def _private(self) -> Iterator[Path]:
        root, database = self.place.storage_root, self.place.database_path
        yield root
        yield from (root / name for name in _PRIVATE_FILES)
        yield from database_files(database)

    def _open_to_others(self) -> Iterator[Repair]:
        for path in self._private():
            if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & _OTHERS:
                yield Repair(what=f"permissions of {path}", evidence=f"its mode is {mode:o}: others may read it")

    def _database_faults(self) -> Iterator[Repair]:
        for fault in find_faults(self.place.database_path):
            yield Repair(
                what=f"database: {fault.part.name.lower().replace('_', ' ')}",
                evidence=fault.evidence,
                next_step="" if is_derived(fault) else _REBUILD,
            )

    def _archive_faults(self) -> Iterator[Repair]:
        with open_artifacts(self.place.database_path) as artifacts:
            projects = list(artifacts.projects())
            claims = {project.slug: claim_of(artifacts.outbox, project.id) for project in projects}
            store_id = artifacts.store_id
        unreadable: set[str] = set()
        for project in projects:
            path = archive_path(self.place.storage_root, project.slug)
            faults = {one.what: one for one in _faults_of_archive(path, store_id, claims[project.slug])}
            if not faults.keys().isdisjoint({_objects(project.slug), _pack_index(project.slug)}):
                unreadable.add(project.slug)
            yield from faults.values()
            yield from self._lacked(path, project.slug)
        yield from self._different_files(unreadable)

    def _lacked(self, path: Path, slug: str) -> Iterator[Repair]:
        """What Git lacks and lies beside the database whole; the rest is told of as what is missing there."""
        contents = Contents(AttachmentFiles(self._contents))
        if any(contents.has(one) for one in MissingContents(path / LACKED_NOTE).files.values()):
            yield Repair(
                what=f"archive {slug}: contents", evidence="it lacks contents of attachments that are there again"
            )

    def _different_files(self, unreadable: Collection[str]) -> Iterator[Repair]:
        """`unreadable`: of which archives that has been told, and nothing else can be."""
        report = verify_archives(
            self.place.storage_root,
            self.place.database_path,
            progress=self.told("rendering messages"),
            comparing=self.told("comparing files"),
        )
        seen: set[str] = set()
        mendable = frozenset(self._mendable_contents()) if any(_is_content(one) for one in report.findings) else ()
        for finding in report.findings:
            if finding.project in unreadable:
                continue
            if finding.problem == AHEAD:
                yield Repair(what=f"archive {finding.project}", evidence=finding.evidence, next_step=finding.next_step)
            elif finding.check == "work tree" and finding.path is not None:
                what = f"archive {finding.project}: work tree"
                if what not in seen:
                    yield Repair(what=what, evidence=f"{finding.path} is {finding.problem}")
                seen.add(what)
            elif _is_content(finding) and Path(finding.path or "").name in mendable:
                yield Repair(what=f"attachment {finding.path}", evidence=f"{finding.evidence}; Git has it")
            elif finding.check != "archive" or finding.problem != "missing" or finding.path is not None:
                what = f"{finding.check} {finding.problem}: {finding.project or ''} {finding.path or ''}".rstrip()
                next_step = _CONTENT_LEFT if _is_content(finding) else finding.next_step
                yield Repair(what=what, evidence=finding.evidence, next_step=next_step)

    @property
    def _contents(self) -> Path:
        return self.place.storage_root / ATTACHMENTS_FOLDER

    def _mendable_contents(self) -> Iterator[str]:
        with open_artifacts(self.place.database_path) as artifacts:
            yield from find_mendable(self._contents, self._holders(), artifacts.contents())

    def _holders(self) -> Iterator[tuple[Path, str]]:
        """Each archive that Git can read, at the end of its branch."""
        with open_artifacts(self.place.database_path) as artifacts:
            projects = list(artifacts.projects())
        for project in projects:
            path = archive_path(self.place.storage_root, project.slug)
            with suppress(ArchiveRefused, GitFailed):
                repository = ArchiveRepository(path, only_git=True)
                if repository.exists() and (tip := repository.tip()) is not None:
                    yield path, tip

    async def _mend(self, kept: list[Path]) -> list[Repair]:
        """What could not be mended; `kept` grows by the folders that are set aside."""
        for path in self._private():
            if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & _OTHERS:
                path.chmod(mode & ~_OTHERS)
        rewrite_derived(self.place.database_path, REWRITTEN)
        for sha256 in list(self._mendable_contents()):
            bring_back(self._contents, self._holders(), sha256)
        failed: list[Repair] = []
        async with Store(self.place.database_path) as store:
            for project in await store.read(lambda view: view.projects.list_(include_archived=True, limit=100_000)):
                failed += await self._mend_archive(store, project, kept)
            # Opens each that is not whole, shows its files, makes its index anew, and writes the leases' snapshots.
            for late in await drain_in_process(store, self.archiver, timeout_s=_DRAIN_S):
                what = f"archive {late.project}"
                failed.append(Repair(what=what, evidence=late.message, next_step=late.hint or _RESTORE))
        return failed

    async def _mend_archive(self, store: Store, project: Project, kept: list[Path]) -> list[Repair]:
        path = archive_path(self.place.storage_root, project.slug)
        locks = place_in(self.place.storage_root / LOCKS_FOLDER, project.slug)
        try:
            claim, store_id = await store.read(lambda view: (claim_of(view.outbox, project.id), view.meta.store_id()))
            if Inspection(path).exists():
                with ArchiveLock(locks, timeout_s=_LOCK_S, archive=project.slug):
                    if problem := _damage_that_stays(path):
                        kept.append(self._set_aside(path, problem, store_id, claim))
                    else:
                        note_to_be_shown(path)
            Inspection(path).require_fit(store_id, claim)
        except GitDiskFull:
            raise
        except ArchiveBehind:
            renewed = await renew_archive(store, self.archiver, project)
            return [
                Repair(what=f"archive {failed.project}", evidence=failed.message, next_step=failed.hint or _RESTORE)
                for failed in renewed.failed
            ]
        except AgentMailError as refused:
            step = refused.hint or _RESTORE
            return [Repair(what=f"archive {project.slug}", evidence=refused.message, next_step=step)]
        return []

    def _set_aside(self, archive: Path, problem: str, store_id: str, claim: OutboxPosition) -> Path:
        """Where its folder lies then: what only it holds is not lost. What the database knows of it is written again.
        Raises ArchiveRefused for one that is not this store's, or whose files lie elsewhere.
        """
        with suppress(ArchiveBehind, GitFailed):
            Inspection(archive).require_fit(store_id, claim)
        if not _lies_in_store(archive):
            raise ArchiveDamaged(archive, problem, has_database=True).reworded(hint=_in_workspace(archive), data={})
        place = (
            free_place(self.place.storage_root, self.place.database_path.parent, self.clock)
            / PROJECTS_FOLDER
            / archive.name
        )
        place.parent.mkdir(parents=True, mode=_OWNER_ONLY)
        archive.rename(place)
        for folder in (place.parent, *place.parent.parents[:3], archive.parent):
            sync_path(folder)
        return place


def _faults_of_archive(archive: Path, store_id: str, claim: OutboxPosition) -> Iterator[Repair]:
    slug, is_unreadable = archive.name, False
    try:
        for one in _git_faults(archive, slug):
            is_unreadable |= one.what in (_objects(slug), _pack_index(slug))
            yield one
        Inspection(archive).require_fit(store_id, claim)
    except ArchiveBehind as lost:
        yield Repair(what=f"archive {slug}: lost", evidence=lost.message)
    except ArchiveRefused as refused:
        yield Repair(what=f"archive {slug}", evidence=refused.message, next_step=refused.hint)
    except GitFailed as damaged:
        if not is_unreadable:  # Which was told then; more may be read once it is mended.
            yield _damaged(archive, damaged.message)


def _damage_that_stays(archive: Path) -> str | None:
    """What Git cannot read even with every index of a pack made anew."""
    try:
        renew_pack_indexes(archive)
    except GitDiskFull:
        raise  # An index could not be written: that proves nothing of its pack.
    except GitFailed as damaged:
        return damaged.message
    return damage_of(archive)


def _damaged(archive: Path, problem: str) -> Repair:
    if _lies_in_store(archive):
        return Repair(what=_objects(archive.name), evidence=f"{problem.rstrip('.')}. {_WRITTEN_AGAIN}")
    return Repair(what=_objects(archive.name), evidence=problem, next_step=_in_workspace(archive))


def _set_aside(kept: Collection[Path], known: Collection[Repair]) -> Iterator[Repair]:
    """What showed only as the rest of an archive was mended."""
    for place in kept:
        if all(one.what != _objects(place.name) for one in known):
            yield Repair(what=_objects(place.name), evidence=f"Git cannot read all of it. {_WRITTEN_AGAIN}")


def _lies_in_store(archive: Path) -> bool:
    return work_tree_of(archive) == archive


def _in_workspace(archive: Path) -> str:
    return f"move {archive} away and keep it, then am doctor repair; or am doctor restore BACKUP"


def _objects(slug: str) -> str:
    return f"archive {slug}: objects"


def _pack_index(slug: str) -> str:
    return f"archive {slug}: pack index"


def _git_faults(archive: Path, slug: str) -> Iterator[Repair]:
    found = Inspection(archive)
    if not found.exists():
        return
    if has_unindexed_packs(archive):
        if problem := unindexable(archive):
            yield _damaged(archive, problem)
            return
        yield Repair(what=_pack_index(slug), evidence="a pack has no index, or one that is wrong")
        return  # Nothing else can be told before that.
    if problem := damage_of(archive):
        yield _damaged(archive, problem)
        return
    if is_unfinished(archive, counts_lacked=False) and not is_newly_made(archive):
        yield Repair(what=f"archive {slug}: unfinished", evidence="a stop left it in the middle of something")
    elif is_index_torn(ArchiveRepository(archive)):
        yield Repair(what=f"archive {slug}: index", evidence="the index of its work tree is not as Git wrote it")


def _each_once(found: Iterable[Repair]) -> list[Repair]:
    """What was found twice, by two ways that lead to it, is one thing to do."""
    return list({(one.what, one.evidence): one for one in found}.values())


def _is_content(finding: Finding) -> bool:
    return finding.check == "attachments"


def _left(one: Repair, next_step: str) -> Repair:
    return Repair(what=one.what, evidence=one.evidence, next_step=next_step)
