"""The archives that a store is made of: whose they are, at which commit each is read, and what speaks against one."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.inspection import Inspection
from mcp_agent_mail.archive.ownership import ArchiveBehind, OutboxPosition
from mcp_agent_mail.archive.reading.branch import Branch, BranchReader
from mcp_agent_mail.archive.repository import GitContentTooLarge
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedProject
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE
from mcp_agent_mail.domain.archive_format.lease_snapshot import slug_of_snapshot
from mcp_agent_mail.domain.archive_format.parse.fields import MAX_JSON_BYTES
from mcp_agent_mail.domain.archive_format.parse.files import UnreadableArtifact, most_bytes_of, parse_file, require_size
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION, version_in
from mcp_agent_mail.domain.project_identity import slug_alias
from mcp_agent_mail.domain.projects import AliasKind, Project, is_slug
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER, archive_path
from mcp_agent_mail.features.archiving.renew import claim_of
from mcp_agent_mail.features.recovery.mail_copies import CopiesDiffer
from mcp_agent_mail.features.recovery.refusals import ArchiveProblems
from mcp_agent_mail.store.checks.artifacts import open_artifacts
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed, faults_told
from mcp_agent_mail.store.engine.sqlite.migrate import StoreRefused, require_same
from mcp_agent_mail.store.rebuild.database import RowsContradict

_READERS_OPEN = 64
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSource:
    """One archive, read at `commit`; `number` is its place among the others."""

    number: int
    branch: Branch
    commit: str
    archived: ArchivedProject

    @property
    def slug(self) -> str:
        return self.project.slug

    @property
    def project(self) -> Project:
        return self.archived.project

    @property
    def version(self) -> int:
        return self.archived.version


class UnknownSlug(NotFound):
    """What is to be left out is no project of the store. Nothing was changed."""


class UnfitSource(ValueError):
    """Why an archive cannot be part of a store."""


def open_sources(
    archives: Path,
    problems: ArchiveProblems,
    *,
    without: Collection[str],
    at: Mapping[str, str] | None,
    store_id: str | None = None,
) -> list[ArchiveSource]:
    """Every archive in the folder but those that are left out; with `at` those that it names, at these commits.

    They are of the store that `store_id` names, or else of the one that most are of. What speaks against one stands in
    `problems` afterwards.
    """
    found: list[ArchiveSource] = []
    names = sorted(entry.name for entry in archives.iterdir() if entry.is_dir()) if archives.is_dir() else []
    for name in names:
        if name in without or (at is not None and name not in at):
            continue
        try:
            source = _opened(archives / name, None if at is None else at[name], number=len(found))
        except (UnfitSource, ArchiveRefused, GitFailed, UnreadableArtifact, OSError) as refused:
            problems.add(name, refused.message if isinstance(refused, ArchiveRefused | GitFailed) else str(refused))
        else:
            if source is not None:
                found.append(source)
    _require_one_store(found, store_id, problems)
    _require_different(found, problems)
    return found


def _opened(path: Path, commit: str | None, *, number: int) -> ArchiveSource | None:
    branch = Branch(path)
    if not branch.exists():
        if any(path.iterdir()):
            raise UnfitSource(f"{path} holds no archive")
        return None
    if commit is None:
        newest = branch.newest()
        if newest is None:
            raise UnfitSource(f"no commit in {path} is the archiver's")
        commit = newest.hexsha
    content = branch.file(commit, ARCHIVE_FILE, MAX_JSON_BYTES)
    if content is None:
        raise UnfitSource(f"{path} has no {ARCHIVE_FILE}")
    if (version := version_in(content)) > FORMAT_VERSION:
        raise UnfitSource(f"it is in version {version} of the format; this program knows those up to {FORMAT_VERSION}")
    archived = parse_file(ARCHIVE_FILE, content, version)
    assert isinstance(archived, ArchivedProject), path
    if archived.project.slug != path.name:
        raise UnfitSource(f"{path} is the archive of {archived.project.slug}")
    return ArchiveSource(number=number, branch=branch, commit=commit, archived=archived)


def _require_one_store(sources: list[ArchiveSource], store_id: str | None, problems: ArchiveProblems) -> None:
    stores = Counter(source.archived.store_id for source in sources)
    if not stores:
        return
    expected = store_id or stores.most_common(1)[0][0]
    for source in sources:
        if source.archived.store_id != expected:
            problems.add(source.slug, f"it belongs to store {source.archived.store_id}; the others to {expected}")


def _require_different(sources: list[ArchiveSource], problems: ArchiveProblems) -> None:
    by_id: dict[int, str] = {}
    for source in sources:
        other = by_id.setdefault(source.project.id, source.slug)
        if other != source.slug:
            problems.add(source.slug, f"{other} is project {source.project.id} as well")


def former_slugs(sources: Collection[ArchiveSource]) -> dict[str, ArchiveSource]:
    """Slugs of projects that became part of one of these."""
    return {
        alias.name.removeprefix(slug_alias("")): source
        for source in sources
        for alias in source.archived.aliases
        if alias.kind is AliasKind.FORMER and alias.name.startswith(slug_alias(""))
    }


def doubtful_slugs(root: Path, without: Collection[str], database: Path | None) -> Collection[str]:
    """What is to be left out, and is known neither by its folder, or the snapshot of leases that is left beside it, nor
    by the database: others may still speak of it.

    Raises UnknownSlug for what is no slug.
    """
    left = frozenset(without) - frozenset(_folders(root)) - frozenset(_snapshots(root))
    if left and database is not None:
        left -= _slugs_in(database)
    _require_none([slug for slug in left if not is_slug(slug)], root)
    return left


def require_mentioned(doubtful: Collection[str], mentioned: Collection[str], root: Path) -> None:
    """Raise UnknownSlug unless other archives speak of them."""
    _require_none(frozenset(doubtful) - frozenset(mentioned), root)


def _require_none(unknown: Collection[str], root: Path) -> None:
    if unknown:
        known = sorted(_folders(root))
        told = ", ".join(known[:_SHOWN]) + (f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else "")
        raise UnknownSlug(
            f"{min(unknown)!r:.200} is no project of the store in {root}, so there is nothing to leave out.",
            hint=f"Nothing was changed. The archives there are {told or 'none'}.",
            data={"projects": known[:_SHOWN]},
        )


def _folders(root: Path) -> Collection[str]:
    projects = root / PROJECTS_FOLDER
    return [path.name for path in projects.iterdir() if path.is_dir()] if projects.is_dir() else []


def _snapshots(root: Path) -> Iterator[str]:
    """Slugs of projects whose leases were told there."""
    projects = root / PROJECTS_FOLDER
    for path in projects.iterdir() if projects.is_dir() else ():
        if (slug := slug_of_snapshot(path.name)) is not None:
            yield slug


def _slugs_in(database: Path) -> frozenset[str]:
    try:
        with faults_told():
            require_same(database)
            with open_artifacts(database) as artifacts:
                return frozenset(project.slug for project in artifacts.projects())
    except (StoreRefused, StoreFailed, OSError):
        return frozenset()


def require_there(
    storage_root: Path, database_path: Path, *, without: Collection[str], until: Micros | None = None
) -> None:
    """Raise RebuildRefused, with all their names, unless the archives hold what the database has seen in them; what is
    left out need not. A database that cannot be asked demands nothing. `until`: what there was then is to be there.
    """
    problems = ArchiveProblems()
    with suppress(StoreRefused, StoreFailed, OSError), faults_told():
        require_same(database_path)
        with open_artifacts(database_path) as artifacts:
            for project in artifacts.projects():
                claim = claim_of(artifacts.outbox, project.id)
                is_later = until is not None and project.created_ts > until
                if not claim.archived_seq or is_later or project.slug in without:
                    continue
                if problem := _lacking(storage_root, project.slug, artifacts.store_id, claim, is_whole=until is None):
                    problems.add(project.slug, problem)
    problems.require_none(has_database=True)


def _lacking(storage_root: Path, slug: str, store_id: str, claim: OutboxPosition, *, is_whole: bool) -> str | None:
    """What else is wrong with one that is there is told when it is read; none is called after what is no slug."""
    with suppress(ArchiveRefused, GitFailed):
        archive = archive_path(storage_root, slug)
        if not Branch(archive).exists():
            return f"{archive} holds no archive, and the database knows of one"
        try:
            Inspection(archive).require_fit(store_id, claim)
        except ArchiveBehind as behind:
            return behind.message if is_whole else None
    return None


@contextmanager
def blamed(source: ArchiveSource, problems: ArchiveProblems) -> Iterator[None]:
    """What goes wrong with an archive stands in `problems`: its own where nobody else is named."""
    try:
        yield
    except CopiesDiffer as differ:
        problems.add(differ.slug, differ.problem)
    except GitFailed as failed:
        problems.add(source.slug, f"it cannot be read: {failed.message}")
    except (UnreadableArtifact, RowsContradict) as unfit:
        problems.add(source.slug, str(unfit))


class Readers:
    """Contents of the archives, by source: a Git process each, the longest unused ends when there are too many."""

    def __init__(self) -> None:
        self._open: OrderedDict[int, BranchReader] = OrderedDict()

    def read(self, source: ArchiveSource, path: str, blob: str) -> bytes:
        """The content of the file at `path`, one of ours. Raises GitFailed, and UnreadableArtifact for one that is too
        large to be read.
        """
        reader = self._open.get(source.number)
        if reader is None:
            if len(self._open) >= _READERS_OPEN:
                _, oldest = self._open.popitem(last=False)
                oldest.__exit__(None, None, None)
            reader = self._open[source.number] = source.branch.reader().__enter__()
        self._open.move_to_end(source.number)
        try:
            return reader(blob, most_bytes_of(path) or 0)
        except GitContentTooLarge as large:
            require_size(path, large.size)
            raise

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].__exit__(None, None, None)


@contextmanager
def open_readers() -> Iterator[Readers]:
    """Readers that are closed at the end."""
    readers = Readers()
    try:
        yield readers
    finally:
        readers.close()
