"""Which archives have more than the database, which is an older copy then: for whoever checks, backs up or mends.

An archive is ahead by its numbers, by events that are not those of the database, or since its project is not known
there at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.ownership import ArchiveAhead, ahead_of, archive_of, require_same, unclaimed, written_in
from mcp_agent_mail.archive.repository import ArchiveRepository, SealedCommit
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.ahead_archives import archives_in, is_stray
from mcp_agent_mail.features.archiving.batch_content import what_was_written
from mcp_agent_mail.features.archiving.protocol import archive_folders, archive_path
from mcp_agent_mail.features.archiving.renew import claim_of
from mcp_agent_mail.store.checks.artifacts import Artifacts, open_artifacts


def find_ahead(storage_root: Path, project: Project, artifacts: Artifacts, database_path: Path) -> ArchiveAhead | None:
    """How the project's archive is ahead of the database, which is an older copy then; None where it is not, or is
    unfit otherwise, which others tell.

    `artifacts` may be a view of a while ago: what a server has given out and committed since is not ahead of what lies
    at `database_path` now.
    """
    repository = ArchiveRepository(archive_path(storage_root, project.slug), only_git=True)
    try:
        if archive_of(repository, artifacts.store_id) is None:
            return None
        after = claim_of(artifacts.outbox, project.id).archived_seq
        # What an archive has adopted was known by other numbers.
        commits = _after(after, repository.sealed(is_own=True))
        with suppress(ArchiveAhead):
            _require_known(repository, commits, project, artifacts)
            return None
        with open_artifacts(database_path) as now:
            if now.find_project(project.slug) is not None:
                _require_known(repository, commits, project, now)
    except ArchiveAhead as ahead:
        return ahead
    except (ArchiveRefused, GitFailed, OSError):
        return None
    return None


def _after(seq: OutboxSeq, commits: Iterable[SealedCommit]) -> list[SealedCommit]:
    """Oldest first."""
    found: list[SealedCommit] = []
    for commit in commits:
        if commit.last_seq <= seq:
            break
        found.append(commit)
    return found[::-1]


def _require_known(
    repository: ArchiveRepository, commits: Iterable[SealedCommit], project: Project, artifacts: Artifacts
) -> None:
    """Raise ArchiveAhead unless each is marked, or holds what waits to be: a server that was killed has committed it,
    and not marked it yet.
    """
    claim = claim_of(artifacts.outbox, project.id)
    reported = claim.archived_seq
    for sealed in commits:
        if sealed.last_seq > claim.highest_seq:
            raise ahead_of(repository, claim, sealed.last_seq)
        if sealed.last_seq <= reported:
            continue
        pending = artifacts.outbox.pending(project.id, after=reported)
        batch = [event for event in pending if event.seq <= sealed.last_seq]
        version = written_in(repository, sealed.hexsha)
        require_same(repository, sealed, what_was_written(batch, artifacts.store_id, version))
        reported = sealed.last_seq


def find_unclaimed(storage_root: Path, artifacts: Artifacts, database_path: Path) -> list[ArchiveAhead]:
    """The archives of this store whose projects the database does not know. `artifacts` and `database_path`: as for
    `find_ahead`.
    """
    folders = [path for path in archive_folders(storage_root) if not artifacts.knows(path.name)]
    highest = artifacts.outbox.highest_seq()
    ours = [one for one in archives_in(folders, artifacts.store_id) if is_stray(one, artifacts.knows, highest)]
    if not ours:
        return []
    with open_artifacts(database_path) as now:
        highest = now.outbox.highest_seq()
        return [unclaimed(one) for one in ours if is_stray(one, now.knows, highest)]
