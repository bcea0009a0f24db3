"""Every file that archives hold, rendered from the database: for whoever compares them, or writes them anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from mcp_agent_mail.core.ids import OutboxSeq, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.attachments import Content, carried_files
from mcp_agent_mail.domain.archive_format.contacts import contact_snapshot
from mcp_agent_mail.domain.archive_format.imports import import_file, import_snapshot
from mcp_agent_mail.domain.archive_format.layout import (
    ARCHIVE_FILE,
    File,
    archive_file,
    contact_file,
    involved_projects,
    mail_files,
    mail_snapshot,
    profile_file,
    profile_path,
    project_snapshot,
    receipt_line,
    receipt_snapshot,
    receipts_of,
    receipts_path,
)
from mcp_agent_mail.domain.archive_format.leases import KIND_OF_EVENT, lease_file, lease_path, lease_snapshot
from mcp_agent_mail.domain.archive_format.overdue_notices import overdue_notice_file, overdue_snapshot
from mcp_agent_mail.domain.archive_format.products import product_file, product_snapshot
from mcp_agent_mail.domain.archive_format.thread_pages import page_path
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.checks.artifacts import Artifacts

Progress = Callable[[int, int], None]
"""Called with how many are done and how many there are."""

Put = Callable[[ProjectId, str, Content | None], None]
"""Called for every file; without a content for one that is about to be written again: Git may have an older version,
or none. The copies of one message follow one another and are one object; what several carry comes with each of them.
"""

IsWritten = Callable[[ProjectId, OutboxSeq], bool]
"""Whether the project's pages of threads tell of what this event is about; else they are about to."""

_PROGRESS_EVERY = 200


def _always(_project_id: ProjectId, _seq: OutboxSeq) -> bool:
    """For whoever writes all of them."""
    return True


class ArtifactFiles:
    """Renders every file that archives hold and hands it to `put`: of all projects, or of the project `only`. Each
    archive is in the version of the format that `version_of` says, and its pages of threads tell of what `is_written`.
    """

    def __init__(
        self,
        artifacts: Artifacts,
        put: Put,
        progress: Progress,
        *,
        version_of: Callable[[ProjectId], int],
        only: ProjectId | None = None,
        is_written: IsWritten = _always,
    ) -> None:
        self._artifacts = artifacts
        self._version_of = version_of
        self._put = put
        self._progress = progress
        self._only = only
        self._is_written = is_written

    def run(self) -> None:
        """Every file that the store says there must be, of all projects wanted; mail comes last."""
        self._add_projects()
        self._add_profiles()
        self._add_contacts()
        self._add_products()
        self._add_imports()
        self._add_receipts()
        self._add_overdue_notices()
        self._add_pages()
        self._add_mail(self._progress)

    def _is_wanted(self, project_id: ProjectId) -> bool:
        return self._only is None or self._only == project_id

    def _add(self, project_id: ProjectId, files: list[File]) -> None:
        if self._is_wanted(project_id):
            for path, content in files:
                self._put(project_id, path, content)

    def _add_any(self, project_id: ProjectId, path: str) -> None:
        if self._is_wanted(project_id):
            self._put(project_id, path, None)

    def _add_projects(self) -> None:
        pending = self._artifacts.pending_projects()
        for project in self._artifacts.projects():
            if not self._is_wanted(project.id):
                continue
            if project.id in pending:
                self._add_any(project.id, ARCHIVE_FILE)
            else:
                snapshot = project_snapshot(project, self._artifacts.aliases(project))
                content = archive_file(snapshot, self._artifacts.store_id, self._version_of(project.id))
                self._add(project.id, [(ARCHIVE_FILE, content)])
            for kind in LeaseKind:
                self._add_leases(project, kind)

    def _add_leases(self, project: Project, kind: LeaseKind) -> None:
        """Each lies where it belongs, or on its way there may lie in both places."""
        event, version = KIND_OF_EVENT[kind], self._version_of(project.id)
        pending = self._artifacts.pending_leases(event)
        for lease in self._artifacts.leases(project, kind):
            path = lease_path(event, lease.id, lease.released_ts, version)
            if lease.id in pending:
                ends = (None, *pending[lease.id])
                for possible in {path, *(lease_path(event, lease.id, end, version) for end in ends)}:
                    self._add_any(project.id, possible)
            else:
                self._add(project.id, [(path, lease_file(event, lease_snapshot(lease, project)))])

    def _add_profiles(self) -> None:
        pending = self._artifacts.pending_profiles()
        for agent in self._artifacts.agents():
            if agent.id in pending:
                self._add_any(agent.project_id, profile_path(agent.name))
            else:
                content = profile_file(self._artifacts.profile(agent))
                self._add(agent.project_id, [(profile_path(agent.name), content)])

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

    def _add_imports(self) -> None:
        pending = self._artifacts.pending_imports()
        for unit in self._artifacts.imports():
            path, content = import_file(import_snapshot(unit))
            if (unit.project_id, unit.id) in pending:
                self._add_any(unit.project_id, path)
            else:
                self._add(unit.project_id, [(path, content)])

    def _add_overdue_notices(self) -> None:
        pending = self._artifacts.pending_notices()
        for noted in self._artifacts.overdue_notices():
            path, content = overdue_notice_file(overdue_snapshot(noted), self._version_of(noted.project_id))
            if noted.message_id in pending:
                self._add_any(noted.project_id, path)
            else:
                self._add(noted.project_id, [(path, content)])

    def _add_pages(self) -> None:
        pages = self._artifacts.pages
        for project_id, thread_id in pages.each():
            if not self._is_wanted(project_id):
                continue
            is_written = self._is_written(project_id, pages.newest_event(project_id, thread_id))
            page = pages.render(project_id, thread_id) if is_written else None
            self._put(project_id, page_path(thread_id), page)

    def _add_mail(self, progress: Progress) -> None:
        for project_id, path in self._artifacts.pending_removals():
            self._add_any(project_id, path)
        total, _ = self._artifacts.counts()
        for done, (message, recipients, pending) in enumerate(self._artifacts.messages(), start=1):
            for project_id in filter(self._is_wanted, involved_projects(message, recipients)):
                snapshot = mail_snapshot(message, recipients, project_id)
                files: list[tuple[str, Content]] = list(mail_files(snapshot, self._version_of(project_id)))
                files += carried_files(snapshot)
                for path, content in files:
                    self._put(project_id, path, None if project_id in pending else content)
            if done % _PROGRESS_EVERY == 0 or done == total:
                progress(done, total)

    def _add_receipts(self) -> None:
        """The lines of one commit are one file, and one of each agent's for blind copies. Of an adopted project's
        commits and its own, those of both are open.
        """
        open_files: dict[tuple[ProjectId, int, str | None], _ReceiptsFile] = {}
        for archived in self._artifacts.receipts():
            snapshot = receipt_snapshot(archived.receipt)
            agent = receipts_of(snapshot)
            key = (archived.project_id, archived.commit_id, agent)
            if key not in open_files:
                for done in [done for done in open_files if open_files[done].last_seq < archived.seq]:
                    self._close(done[0], open_files.pop(done))
                path = receipts_path(archived.seq, archived.created_ts, agent)
                open_files[key] = _ReceiptsFile(path=path, last_seq=archived.last_seq)
            open_files[key].lines.append(receipt_line(snapshot))
        for (project_id, *_), receipts in open_files.items():
            self._close(project_id, receipts)

    def _close(self, project_id: ProjectId, receipts: _ReceiptsFile) -> None:
        self._add(project_id, [(receipts.path, b"".join(receipts.lines))])


@dataclass(slots=True, kw_only=True)
class _ReceiptsFile:
    path: str
    last_seq: OutboxSeq
    lines: list[bytes] = field(default_factory=list)
