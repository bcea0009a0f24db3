"""Every file the archives should hold, rendered again from the database: its path and Git's name for its content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.archive_contacts import contact_snapshot
from mcp_agent_mail.domain.archive_layout import (
    ARCHIVE_FILE,
    File,
    archive_file,
    contact_file,
    involved_projects,
    mail_files,
    mail_snapshot,
    profile_file,
    profile_path,
    profile_snapshot,
    project_snapshot,
    receipt_line,
    receipt_snapshot,
    receipts_path,
)
from mcp_agent_mail.domain.archive_leases import KIND_OF_EVENT, lease_file, lease_path, lease_snapshot
from mcp_agent_mail.domain.archive_products import product_file, product_snapshot
from mcp_agent_mail.domain.blobs import blob_id
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.upkeep.spool import Spool
from mcp_agent_mail.store.artifacts import Artifacts

Progress = Callable[[int, int], None]
"""Called with how many are done and how many there are."""

_PROGRESS_EVERY = 200


_ANY = b"-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """`blob` is None for a file about to be written again: Git may have an older version, or none."""

    path: str
    blob: str | None


class ExpectedFiles:
    """Rendered once, sorted on disk, then read project by project in the order of their slugs."""

    def __init__(self, artifacts: Artifacts, folder: Path, progress: Progress) -> None:
        self._artifacts = artifacts
        self._spool = Spool(folder)
        self._slugs: dict[ProjectId, bytes] = {}
        self._add_projects()
        self._add_profiles()
        self._add_contacts()
        self._add_products()
        self._add_receipts()
        self._add_mail(progress)

    def __len__(self) -> int:
        return len(self._spool)

    def by_project(self) -> Iterator[tuple[str, Iterator[Expected]]]:
        """Sorted by slug, each project's files sorted by path as Git sorts them."""
        for slug, lines in groupby(self._spool, key=lambda line: line.partition(b"\0")[0]):
            yield slug.decode(), map(_parse, lines)

    def _add(self, project_id: ProjectId, files: list[File]) -> None:
        slug = self._slugs[project_id]
        names: dict[int, bytes] = {}
        for path, content in files:
            blob = names.get(id(content))
            if blob is None:
                blob = names[id(content)] = blob_id(content).encode()
            self._spool.add(b"\0".join((slug, path.encode(), blob)))

    def _add_any(self, project_id: ProjectId, path: str) -> None:
        self._spool.add(b"\0".join((self._slugs[project_id], path.encode(), _ANY)))

    def _add_projects(self) -> None:
        pending = self._artifacts.pending_projects()
        for project in self._artifacts.projects():
            self._slugs[project.id] = project.slug.encode()
            if project.id in pending:
                self._add_any(project.id, ARCHIVE_FILE)
            else:
                content = archive_file(
                    project_snapshot(project, self._artifacts.aliases(project)), self._artifacts.store_id
                )
                self._add(project.id, [(ARCHIVE_FILE, content)])
            for kind in LeaseKind:
                self._add_leases(project, kind)

    def _add_leases(self, project: Project, kind: LeaseKind) -> None:
        """Each lies where it belongs, or on its way there may lie in both places."""
        event = KIND_OF_EVENT[kind]
        pending = self._artifacts.pending_leases(event)
        for lease in self._artifacts.leases(project, kind):
            path = lease_path(event, lease.id, lease.released_ts)
            if lease.id in pending:
                ends = (None, *pending[lease.id])
                for possible in {path, *(lease_path(event, lease.id, end) for end in ends)}:
                    self._add_any(project.id, possible)
            else:
                self._add(project.id, [(path, lease_file(event, lease_snapshot(lease, project)))])

    def _add_profiles(self) -> None:
        pending = self._artifacts.pending_profiles()
        for agent in self._artifacts.agents():
            if agent.id in pending:
                self._add_any(agent.project_id, profile_path(agent.name))
            else:
                self._add(agent.project_id, [(profile_path(agent.name), profile_file(profile_snapshot(agent)))])

    def _add_contacts(self) -> None:
        pending = self._artifacts.pending_contacts()
        for contact in self._artifacts.contacts():
            for project_id in dict.fromkeys((contact.target.project_id, contact.source.project_id)):
                path, content = contact_file(contact_snapshot(contact, project_id, None))
                if (project_id, contact.id) in pending:
                    self._add_any(project_id, path)
                else:
                    self._add(project_id, [(path, content)])

    def _add_products(self) -> None:
        pending = self._artifacts.pending_products()
        for link in self._artifacts.product_links():
            path, content = product_file(product_snapshot(link, None))
            if (link.project_id, link.product.id) in pending:
                self._add_any(link.project_id, path)
            else:
                self._add(link.project_id, [(path, content)])

    def _add_mail(self, progress: Progress) -> None:
        total, _ = self._artifacts.counts()
        for done, (message, recipients, pending) in enumerate(self._artifacts.messages(), start=1):
            for project_id in involved_projects(message, recipients):
                files = mail_files(mail_snapshot(message, recipients, project_id))
                if project_id in pending:
                    for path, _ in files:
                        self._add_any(project_id, path)
                else:
                    self._add(project_id, list(files))
            if done % _PROGRESS_EVERY == 0 or done == total:
                progress(done, total)

    def _add_receipts(self) -> None:
        open_files: dict[ProjectId, _ReceiptsFile] = {}
        for archived in self._artifacts.receipts():
            current = open_files.get(archived.project_id)
            # Commits of one project follow one another: a new one means that the file before is complete.
            if current is None or current.commit_id != archived.commit_id:
                if current is not None:
                    self._close(archived.project_id, current)
                path = receipts_path(archived.seq, archived.created_ts)
                current = open_files[archived.project_id] = _ReceiptsFile(path, archived.commit_id)
            current.lines.append(receipt_line(receipt_snapshot(archived.receipt)))
        for project_id, receipts in open_files.items():
            self._close(project_id, receipts)

    def _close(self, project_id: ProjectId, receipts: _ReceiptsFile) -> None:
        self._add(project_id, [(receipts.path, b"".join(receipts.lines))])


class _ReceiptsFile:
    def __init__(self, path: str, commit_id: int) -> None:
        self.path = path
        self.commit_id = commit_id
        self.lines: list[bytes] = []


def _parse(line: bytes) -> Expected:
    _, path, blob = line.split(b"\0")
    return Expected(path=path.decode(), blob=None if blob == _ANY else blob.decode())
