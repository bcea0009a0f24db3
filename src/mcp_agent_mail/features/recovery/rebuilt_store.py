"""Makes a store of archives alone: in place of the one that is there, or as a whole store somewhere else.

What is made is verified before it is anybody's. In place the old database is kept; elsewhere nothing here is changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.locks import ArchiveLock
from mcp_agent_mail.archive.reading.branch import Branch
from mcp_agent_mail.archive.reading.hints import of_unfit
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.transfer.bundles import begin_from_bundle, bundle_pieces, show_files
from mcp_agent_mail.core.clock import Clock, Micros, iso, system_clock
from mcp_agent_mail.core.disk_space import disk_full
from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.lease_snapshot import snapshot_name
from mcp_agent_mail.domain.own_files import BUILDING, DATABASE_FILE, REBUILDING
from mcp_agent_mail.features.archiving.adopt import ADOPTED_FOLDER
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.backfill import has_backfill, queue_backfill
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.archiving.protocol import LOCK_FILE, PROJECTS_FOLDER, ArchiverSettings, archive_path
from mcp_agent_mail.features.doctor.verify import AHEAD, Finding, find_strange_archives, verify_archives
from mcp_agent_mail.features.doctor.verify_store import named_as, verify_store
from mcp_agent_mail.features.recovery.given_numbers import given_before
from mcp_agent_mail.features.recovery.kept_folders import free_place, remove_oldest_databases
from mcp_agent_mail.features.recovery.outside_store import require_outside
from mcp_agent_mail.features.recovery.rebuild import Rebuilt, rebuild_database
from mcp_agent_mail.features.recovery.refusals import ArchiveProblems, RebuildRefused, next_step
from mcp_agent_mail.features.recovery.replaced_store import is_readable
from mcp_agent_mail.features.recovery.scratch import aside, built_aside, remove_left, scratch_folder
from mcp_agent_mail.features.recovery.sources import (
    doubtful_slugs,
    former_slugs,
    open_sources,
    require_mentioned,
    require_there,
)
from mcp_agent_mail.store.checks.artifacts import open_artifacts, read_store_id
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.noted_numbers import note_given
from mcp_agent_mail.store.engine.sqlite.database_files import (
    database_files,
    kept_folder,
    rebuilt_aside,
    remove_unfinished,
)
from mcp_agent_mail.store.engine.sqlite.migrate import require_same
from mcp_agent_mail.store.engine.sqlite.numbers import raise_numbers, read_numbers
from mcp_agent_mail.store.engine.sqlite.swap import swap
from mcp_agent_mail.store.engine.sqlite.swap_places import Move, SwapPlaces

_TIMEOUT_S = 3_600.0
_OWNER_ONLY = 0o700
_SNAPSHOT = "lease snapshot"
_SNAPSHOTS_MOVED = 500  # The rest stay: what is put in place at once has a bound, and they do no harm.
_ELSEWHERE = ("work tree", "attachments", "history", "git")
"""Checks of what lay there before, as it was: a new database changes nothing about that."""

Told = Callable[[str], Progress]
"""Whom to tell how far a part of the work is, by the part's name."""


class NotInGit(Conflict):
    """The database that is to be replaced has events that Git has not got, and cannot be given."""


class RebuildUnverified(Conflict):
    """What was made differs from the archives that it was made of. It is not used."""


class NotEmpty(InvalidInput):
    """The place of a new store holds something already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltStore:
    """`kept`: where lies what was replaced. `removed`: databases that were kept there before, and are not any more.
    `findings`: what was wrong before, and still is.
    """

    database: Path
    rebuilt: Rebuilt
    kept: Path | None
    findings: tuple[Finding, ...]
    removed: tuple[Path, ...] = ()


async def give_pending(settings: ArchiverSettings, *, without: Collection[str], progress: Progress) -> str | None:
    """Let Git have what the present database knows; whose store that is, None where there is none that can be read.

    The caller holds the store lock. Raises NotInGit, DiskFull where it is for want of room, RebuildRefused for a
    project of it that has no archive, and StoreRefused for a store of another version.
    """
    path = Path(settings.database_path)
    if not is_readable(path):
        return None
    require_same(path)
    async with Store(path) as store:
        while await store.read(has_backfill):
            await store.write(queue_backfill)
        failed = await drain_in_process(store, settings, timeout_s=_TIMEOUT_S, progress=progress)
        store_id, waiting = await store.read(
            lambda view: (
                view.meta.store_id(),
                {
                    project.slug: view.outbox.count_pending(project.id)
                    for project_id in view.outbox.pending_projects()
                    if (project := view.projects.find(project_id)) is not None
                },
            )
        )
    require_there(Path(settings.storage_root), path, without=without)
    left = {slug: count for slug, count in waiting.items() if slug not in without}
    if left:
        slug = min(left)
        if any(one.lacks_room for one in failed if one.project in left):
            # Nothing is to be mended or left out: no archive has a fault.
            raise disk_full(Path(settings.storage_root))
        why = next((f"{one.message} {one.hint}".strip() for one in failed if one.project == slug), "")
        raise NotInGit(
            f"{left[slug]} events of {slug} are in the database and cannot be given to Git: {why}",
            hint=_hint(slug, is_ahead=any(one.is_ahead for one in failed if one.project == slug)),
            data={"projects": left},
        )
    return store_id


def _hint(slug: str, *, is_ahead: bool) -> str:
    """Of an archive that is ahead nothing is to be mended or left out: it has more than the database."""
    if is_ahead:
        return (
            "That archive has what the database lost: leave it in. Move the database away, and keep it (these events, "
            "which only it knows, are not rebuilt); then run this again, and all that is in Git is there."
        )
    return (
        f"{of_unfit([slug], has_database=True)}. Or move the database away, and keep it: what only it knows is then "
        "not rebuilt."
    )


def rebuild_in_place(
    settings: ArchiverSettings,
    *,
    without: Collection[str] = (),
    store_id: str | None = None,
    told: Told,
    clock: Clock = system_clock,
    fault_hook: FaultHook = no_fault,
) -> RebuiltStore:
    """Put a new database in the place of the present one, whatever that is; what is left out is moved away as well.

    The caller holds the store lock. `store_id`: of the present one, where that can be read. Raises RebuildRefused,
    RebuildUnverified, UnknownSlug, NoteFailed; then nothing has changed.
    """
    root, database = Path(settings.storage_root), Path(settings.database_path).resolve()
    doubtful = doubtful_slugs(root, without, database)
    built = rebuilt_aside(database)
    remove_unfinished(built)
    AttachmentFiles(root / ATTACHMENTS_FOLDER).remove_leftovers()
    with ArchiveLock(root / LOCK_FILE, timeout_s=settings.lock_timeout_s), _repair_told(store_id):
        try:
            rebuilt = rebuild_database(
                root / PROJECTS_FOLDER,
                built,
                root / ATTACHMENTS_FOLDER,
                without=without,
                store_id=store_id,
                progress=told("reading messages"),
                clock=clock,
            )
            require_mentioned(doubtful, rebuilt.stand_ins, root)
            _go_on_above(root, database, built, without, clock())
            findings = _verified(root, built, told, without)
            if (gives := read_numbers(built)) is not None:
                note_given(root, read_store_id(built), gives, replaced=read_numbers(database))
            fault_hook(FailPoint.REBUILT)
        except BaseException:
            remove_unfinished(built)
            raise
        kept = free_place(database.parent, root, clock)
        moves = [Move(place=database, built=built, kept=kept / database.name)]
        moves += [Move(place=log, built=None, kept=kept / log.name) for log in database_files(database)[1:]]
        moves += _moves_of_left_out(root, kept.name, without, built)
        # From here on what is built is needed: a swap that was begun is finished by whoever comes next.
        swap(SwapPlaces(storage_root=root, database_path=database), moves, fault_hook=fault_hook)
    with suppress(OSError):
        kept.rmdir()  # Nothing was there.
    removed = remove_oldest_databases(kept.parent, database.name, new=kept)
    return RebuiltStore(
        database=database,
        rebuilt=rebuilt,
        kept=kept if kept.exists() else None,
        findings=findings,
        removed=removed,
    )


def _go_on_above(root: Path, database: Path, built: Path, without: Collection[str], now: Micros) -> None:
    """Above what any database of this store is known to have given out, not only above what those archives show of
    which it is made.
    """
    with scratch_folder(aside(database, REBUILDING), for_what=database) as scratch:
        raise_numbers(built, given_before(root, database, built, scratch.path, now, without=without))


@contextmanager
def _repair_told(store_id: str | None) -> Iterator[None]:
    """Where the present database can be read, what is refused can be made whole with it: nothing need be given up."""
    try:
        yield
    except RebuildRefused as refused:
        if store_id is None:
            raise
        hint = next_step(refused.data["archives"], has_database=True)
        raise refused.reworded(hint=hint, data=refused.data) from refused


def _moves_of_left_out(root: Path, stamp: str, without: Collection[str], built: Path) -> Iterator[Move]:
    """And of snapshots of leases without a project, which nothing reads any more."""
    projects, kept = root / PROJECTS_FOLDER, kept_folder(root) / stamp / PROJECTS_FOLDER
    with open_artifacts(built) as artifacts:
        known = {project.slug for project in artifacts.projects()}
    strange = (Path(one.path).name for one in find_strange_archives(root, known) if one.check == _SNAPSHOT and one.path)
    names = {*without, *map(snapshot_name, without), *islice(strange, _SNAPSHOTS_MOVED)}
    for name in sorted(names):
        if os.path.lexists(projects / name):
            yield Move(place=projects / name, built=None, kept=kept / name)


def _verified(
    root: Path, database: Path, told: Told, without: Collection[str] = (), *, becomes: Path | None = None
) -> tuple[Finding, ...]:
    """What is wrong with the archives themselves; `becomes`: where what lies in `root` is to be. Raises
    RebuildUnverified for anything else.
    """
    names = {database: "it", root: becomes or root}
    of_store = named_as(verify_store(database), names)
    report = verify_archives(root, database, progress=told("rendering messages"), comparing=told("comparing files"))
    found = named_as(report.findings, names)
    is_strange = [one for one in found if _is_nobodys(one, without)]
    others = [one for one in found if one not in is_strange]
    new = [*of_store, *(one for one in others if one.check not in _ELSEWHERE)]
    if new:
        first = new[0]
        where = " ".join(part for part in (first.project, first.path) if part)
        raise RebuildUnverified(
            f"The new database differs from its archives: {where} is {first.problem}: {first.evidence}"
            f"{f' (and {len(new) - 1} more)' if len(new) > 1 else ''}.",
            hint="Nothing was changed. Keep the archives as they are, and report this: it is a fault of the program, "
            "or somebody has changed an archive by hand (git log in it says who).",
            data={"findings": len(new)},
        )
    left_out = frozenset(without)
    return tuple(
        one for one in found if one not in is_strange or (one.check != _SNAPSHOT and one.project not in left_out)
    )


def _is_nobodys(finding: Finding, without: Collection[str]) -> bool:
    """What lies beside the archives, and is none of a project of the new database, or is left out: it contradicts
    nothing.
    """
    if finding.problem == AHEAD:
        return finding.project in without
    return finding.problem == "unexpected" and (finding.check == _SNAPSHOT or finding.path is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCopyPlan:
    """`until`: as the archives were then. `most_files`: of a work tree; beyond, it shows recent months alone.
    `database`: of the archives' store; where it can be read, what it knows of is to be there.
    """

    without: Collection[str] = ()
    until: Micros | None = None
    most_files: int
    database: Path | None = None


def rebuild_into(
    storage_root: Path, into: Path, plan: StoreCopyPlan, *, told: Told, clock: Clock = system_clock
) -> RebuiltStore:
    """Make a whole store in `into`, which is empty or not there: archives, database, contents. Here nothing is changed,
    and a server may run.

    Raises PartOfStore, NotEmpty, RebuildRefused, RebuildUnverified, UnknownSlug; then nothing is there.
    """
    into = into.absolute()
    _require_room(storage_root, into)
    doubtful = doubtful_slugs(storage_root, plan.without, None)
    if plan.database is not None:
        require_there(storage_root, plan.database, without=plan.without, until=plan.until)
    into.parent.mkdir(parents=True, exist_ok=True)
    with built_aside(into, BUILDING) as building:
        commits = _commits_at(storage_root, plan)
        (building / PROJECTS_FOLDER).mkdir(mode=_OWNER_ONLY)
        copied = told("copying archives")
        for done, (slug, (source, commit)) in enumerate(sorted(commits.items()), start=1):
            place = archive_path(building, slug)
            begin_from_bundle(
                place, commit, bundle_pieces(ArchiveRepository(source, only_git=True), commit, as_it_lies=True)
            )
            show_files(place, most=plan.most_files, clock=clock)
            copied(done, len(commits))
        database = building / DATABASE_FILE
        rebuilt = rebuild_database(
            building / PROJECTS_FOLDER,
            database,
            building / ATTACHMENTS_FOLDER,
            without=_without(storage_root, plan, commits),
            progress=told("reading messages"),
            clock=clock,
        )
        require_mentioned(doubtful, rebuilt.stand_ins, storage_root)
        findings = _verified(building, database, told, becomes=into)
    return RebuiltStore(database=into / DATABASE_FILE, rebuilt=rebuilt, kept=None, findings=findings)


def _require_room(storage_root: Path, into: Path) -> None:
    require_outside(storage_root, into, is_made=True)
    if os.path.lexists(into) and (into.is_symlink() or not into.is_dir() or any(into.iterdir())):
        remove_left(aside(into, BUILDING))
        raise NotEmpty(f"{into} is not empty.", hint="Name a folder that is empty, or not there yet.")


def _commits_at(storage_root: Path, plan: StoreCopyPlan) -> dict[str, tuple[Path, str]]:
    """By slug the archive that is read, and where: the newest commit, or the newest that was made until then.

    Of a project that was adopted since, its own archive, which was kept, holds what it was.
    """
    found: dict[str, tuple[Path, str]] = {}
    problems = ArchiveProblems()
    for folder in (PROJECTS_FOLDER, ADOPTED_FOLDER) if plan.until is not None else (PROJECTS_FOLDER,):
        place = storage_root / folder
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            if path.name in plan.without or not (path.is_dir() or path.is_symlink()):
                continue
            try:
                branch = Branch(path)
                newest = branch.newest(plan.until) if branch.exists() else None
            except (ArchiveRefused, GitFailed) as refused:
                problems.add(path.name, refused.message)
                continue
            if newest is not None:
                found.setdefault(path.name, (path, newest.hexsha))
    problems.require_none()
    if not found:
        when = "" if plan.until is None else f" that was there at {iso(plan.until)}"
        raise NotFound(f"There is no archive in {storage_root}{when}.", hint="Look at STORAGE_ROOT: am config show")
    return _without_adopted(storage_root, found)


def _without_adopted(storage_root: Path, found: Mapping[str, tuple[Path, str]]) -> dict[str, tuple[Path, str]]:
    """Less those whose history another archive has by then."""
    problems = ArchiveProblems()
    at = {slug: commit for slug, (path, commit) in found.items() if path.parent.name == PROJECTS_FOLDER}
    adopted = former_slugs(open_sources(storage_root / PROJECTS_FOLDER, problems, without=(), at=at))
    return {
        slug: (path, commit)
        for slug, (path, commit) in found.items()
        if path.parent.name == PROJECTS_FOLDER or slug not in adopted
    }


def _without(storage_root: Path, plan: StoreCopyPlan, commits: Mapping[str, tuple[Path, str]]) -> Collection[str]:
    """What is left out; at a time also projects whose archives began later, though others may speak of them already."""
    if plan.until is None:
        return plan.without
    there = {path.name for path in (storage_root / PROJECTS_FOLDER).iterdir() if path.is_dir()}
    return frozenset(plan.without) | (there - commits.keys())
