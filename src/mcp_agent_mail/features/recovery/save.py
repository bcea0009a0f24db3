"""Saves archives into one file, also beside a running server: what Git has, and nothing of the database.

The newest commits are looked up first, then each archive is packed up to its own, one after the other, into a folder
beside the file; so the disk needs room for the file and for its largest archive.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from mcp_agent_mail.archive.ownership import require_in_store
from mcp_agent_mail.archive.reading.faults import ArchiveDamaged, damage_of, damage_told
from mcp_agent_mail.archive.reading.hints import of_lost
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.transfer.bundles import bundle_pieces
from mcp_agent_mail.archive.transfer.description import describe
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import Conflict, NotFound, Unavailable
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.own_files import SAVING
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER, archive_path
from mcp_agent_mail.features.recovery.found_archives import slugs_on_disk
from mcp_agent_mail.features.recovery.outside_store import require_outside
from mcp_agent_mail.features.recovery.saved_file import (
    SavedFileWriter,
    SavedManifest,
    SavedProject,
    require_writable_name,
)
from mcp_agent_mail.features.recovery.scratch import PlaceTaken, UnfitTarget, aside, remove_left, scratch_folder
from mcp_agent_mail.store.checks.artifacts import Artifacts

_NAMED = 10
_CHUNK = 1 << 20
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ArchiveNotWhole(Conflict):
    """An archive lacks what was in it once, or is another store's: a file of it would look like all there is."""


class NothingSaved(NotFound):
    """There is no archive to save."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownStore:
    """What the database says of its archives: the newest commit that was seen of each, by slug; None where there is
    nothing yet.
    """

    store_id: str
    commits: dict[str, str | None]
    pending_events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedArchives:
    """`pending_events`: what Git has yet to catch up with, so is not in the file; None where no database was asked."""

    manifest: SavedManifest
    bytes: int
    sha256: str
    pending_events: int | None


def known_store(artifacts: Artifacts, now: Micros) -> KnownStore:
    """Of one unchanging view, before the archives are looked at: what is pending may be in them by then."""
    commits: dict[str, str | None] = {}
    for project in artifacts.projects():
        last = artifacts.outbox.last_commit(project.id)
        commits[project.slug] = None if last is None else last.hexsha
    pending = artifacts.outbox.backlog(now).pending_events
    return KnownStore(store_id=artifacts.store_id, commits=commits, pending_events=pending)


def save(
    storage_root: Path,
    target: Path,
    *,
    known: KnownStore | None,
    only: Collection[str] = (),
    progress: Progress,
    fault_hook: FaultHook = no_fault,
) -> SavedArchives:
    """Write the archives of these slugs, or of all, to `target`, mode 0600: whole and on disk, or not at all, and never
    over anything nor into the store. Raises PartOfStore, PlaceTaken, UnfitTarget, ArchiveNotWhole, ArchiveRefused,
    NothingSaved.
    """
    target = target.absolute()
    require_outside(storage_root, target)
    if os.path.lexists(target):
        remove_left(aside(target, SAVING))
        raise _in_the_way(target)
    manifest = _manifest(storage_root, known, only)
    try:
        with scratch_folder(aside(target, SAVING), for_what=target) as scratch:
            staged = scratch.path / "file"
            with os.fdopen(os.open(staged, _NEW, 0o600), "wb") as out:
                saved = _write(storage_root, manifest, out, scratch.path, known, progress, fault_hook)
                out.flush()
                os.fsync(out.fileno())
            fault_hook(FailPoint.SAVE_STAGED)
            try:
                scratch.link(staged.name, target)
            except FileExistsError:
                raise _in_the_way(target) from None
            fault_hook(FailPoint.SAVE_NAMED)
    except OSError as failed:
        raise _cannot(target, failed) from failed
    return saved


def save_to_stream(
    storage_root: Path,
    out: BinaryIO,
    *,
    known: KnownStore | None,
    only: Collection[str] = (),
    progress: Progress,
) -> SavedArchives:
    """As `save`, into a stream; what had been written when something failed is no whole file."""
    manifest = _manifest(storage_root, known, only)
    with TemporaryDirectory(prefix="am-save-") as folder:
        saved = _write(storage_root, manifest, out, Path(folder), known, progress, no_fault)
        out.flush()
    return saved


def _write(
    storage_root: Path,
    manifest: SavedManifest,
    out: BinaryIO,
    folder: Path,
    known: KnownStore | None,
    progress: Progress,
    fault_hook: FaultHook,
) -> SavedArchives:
    writer = SavedFileWriter(out, manifest)
    for done, project in enumerate(manifest.projects):
        progress(done, len(manifest.projects))
        fault_hook(FailPoint.SAVE)
        repository = _repository(storage_root, project.slug)
        bundle = folder / "bundle"
        telling = damage_told(repository.path, has_database=known is not None)
        with telling, os.fdopen(os.open(bundle, _NEW, 0o600), "w+b") as staged:
            for piece in bundle_pieces(repository, project.commit):
                staged.write(piece)
            size = staged.tell()
            staged.seek(0)
            writer.add(project, size, _pieces(staged))
        bundle.unlink()
    writer.finish()
    return SavedArchives(
        manifest=manifest,
        bytes=writer.bytes,
        sha256=writer.sha256,
        pending_events=None if known is None else known.pending_events,
    )


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_CHUNK):
        yield piece


def _manifest(storage_root: Path, known: KnownStore | None, only: Collection[str]) -> SavedManifest:
    there = slugs_on_disk(storage_root)
    wanted = sorted(set(only)) if only else sorted({*there, *(() if known is None else known.commits)})
    projects, store_ids = [], {} if known is None else {known.store_id: "its database"}
    for slug in wanted:
        found = _described(storage_root, slug, known)
        if found is None:
            if slug in only:
                raise _unsaved(slug, there)
            continue
        project, store_id = found
        projects.append(project)
        store_ids.setdefault(store_id, f"{archive_path(storage_root, slug)}")
    if len(store_ids) > 1:
        said = "; ".join(f"{where} says {store_id}" for store_id, where in store_ids.items())
        raise ArchiveNotWhole(
            f"Not all archives in {storage_root} are of one store: {said}.",
            hint="Move the other store's archive away and keep it, or name the projects to save with --project.",
        )
    if not projects:
        raise NothingSaved(
            f"There is nothing to save in {storage_root / PROJECTS_FOLDER}: no archive has a commit yet.",
            hint="Archives begin with the first mail. Look at STORAGE_ROOT: am config show",
        )
    left_out = {*there, *(() if known is None else known.commits)} - {project.slug for project in projects}
    return SavedManifest(store_id=next(iter(store_ids)), is_partial=bool(only and left_out), projects=tuple(projects))


def _unsaved(slug: str, there: Iterable[str]) -> NothingSaved:
    known = ", ".join(sorted(there)[:_NAMED]) or "none"
    return NothingSaved(
        f"There is no archive {slug!r:.100} with a commit; nothing was saved.",
        hint=f"Name one of those that are there: {known}. An archive begins with the first mail.",
        data={"project": slug[:100]},
    )


def _repository(storage_root: Path, slug: str) -> ArchiveRepository:
    return ArchiveRepository(archive_path(storage_root, slug), only_git=True)


def _described(storage_root: Path, slug: str, known: KnownStore | None) -> tuple[SavedProject, str] | None:
    """What is saved of a project, and of which store it is; None where its archive has not begun."""
    require_writable_name(slug)
    repository = _repository(storage_root, slug)
    require_in_store(repository)
    commit = require_held(storage_root, slug, known)
    if commit is None:
        return None
    with damage_told(repository.path, has_database=known is not None):
        said = describe(repository, commit)
    if said.slug != slug:
        raise ArchiveNotWhole(
            f"{repository.path} says that it is the archive of {said.slug}.",
            hint=f"Move it to {repository.path.with_name(said.slug)}, or away.",
            data={"project": slug, "path": str(repository.path)},
        )
    project = SavedProject(slug=slug, human_key=said.human_key, commit=commit, messages=said.messages)
    return project, said.store_id


def require_held(storage_root: Path, slug: str, known: KnownStore | None) -> str | None:
    """The newest commit of an archive; None where it has not begun. Raises ArchiveNotWhole where it lacks what the
    database has seen in it, ArchiveDamaged where that cannot be read.
    """
    repository = _repository(storage_root, slug)
    seen = None if known is None else known.commits.get(slug)
    with damage_told(repository.path, has_database=known is not None):
        commit = repository.tip() if repository.exists() else None
    if seen is not None and (commit is None or not _holds(repository, seen, commit)):
        if commit is not None and (problem := damage_of(repository.path)):
            raise ArchiveDamaged(repository.path, problem, has_database=True)
        raise ArchiveNotWhole(
            f"{repository.path} lacks commit {seen}, which the database has seen in it: it was deleted, or set back.",
            hint=f"{of_lost(repository.path, has_database=True)} To save the others, name them with --project.",
            data={"project": slug, "path": str(repository.path)},
        )
    return commit


def _holds(repository: ArchiveRepository, seen: str, commit: str) -> bool:
    try:
        repository.git("merge-base", "--is-ancestor", seen, commit)
    except GitFailed:
        return False
    return True


def _in_the_way(target: Path) -> PlaceTaken:
    return PlaceTaken(
        f"{target} is there already; nothing is written over.", hint="Name another file, or move that one away."
    )


def _cannot(target: Path, failed: OSError) -> UnfitTarget | Unavailable:
    if failed.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        return Unavailable(
            f"Cannot write {target}: {failed.strerror}. Nothing of it was left.",
            hint="Free some space there, or name a file on another disk.",
        )
    return UnfitTarget(
        f"Cannot write {target}: {failed.strerror or failed}.", hint="Name a file in a folder that you may write to."
    )
