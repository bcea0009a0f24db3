"""What all committers of a drain share: where archives are and whose, the store that they read, what many may not do at
once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.archive.contents import Contents
from mcp_agent_mail.archive.ownership import NOTHING, ArchiveOwner, OutboxPosition
from mcp_agent_mail.archive.repository import PLAIN_RUN, GitRun
from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.failpoints import FaultHook
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.events import OutboxEvent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.archives import ArchiveState
from mcp_agent_mail.features.archiving.index_refresh import MOST_AT_ONCE
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.archiving.protocol import LOCKS_FOLDER, MAX_TRACKED_FILES, Report
from mcp_agent_mail.features.archiving.threads import HANGS_AFTER_S, PATIENCE_S, Permits
from mcp_agent_mail.store.mail.thread_pages import ThreadPages
from mcp_agent_mail.store.outbox import Outbox
from mcp_agent_mail.store.projects import Projects


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainPlan:
    """Where the archives are, whose they are, and the shortest time between two commits of a project.

    What is at work on an archive is waited for `patience_s`, and told as hanging after `hangs_after_s`. `converts`:
    archives of an older version of the format are brought to this one.
    """

    projects_path: Path
    owner: ArchiveOwner
    interval: Micros
    git_run: GitRun = PLAIN_RUN
    in_workspace: bool = False
    max_tracked_files: int = MAX_TRACKED_FILES
    database_path: Path | None = None
    lock_timeout_s: float = 30.0
    patience_s: float = PATIENCE_S
    hangs_after_s: float = HANGS_AFTER_S
    converts: bool = False

    @property
    def places(self) -> ArchivePlaces:
        return ArchivePlaces(projects_path=self.projects_path, in_workspace=self.in_workspace)

    @property
    def locks_path(self) -> Path:
        return self.projects_path.parent / LOCKS_FOLDER

    @property
    def contents(self) -> Contents:
        """Of attachments, beside the database."""
        return Contents(AttachmentFiles(self.projects_path.parent / ATTACHMENTS_FOLDER))


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainReaders:
    """`outbox` and `projects` over the scheduling thread's connection, `events` over one that only committers use."""

    outbox: Outbox
    projects: Projects
    events: Outbox


class CommitterContext:
    """The store is read by one committer at a time. Any of their threads calls `report`, `note`."""

    def __init__(
        self,
        plan: DrainPlan,
        outbox: Outbox,
        *,
        report: Callable[[Report], None],
        note: Callable[[Project, Sequence[OutboxEvent]], None],
        clock: Clock,
        fault_hook: FaultHook,
    ) -> None:
        self.plan = plan
        self.report = report
        self.note = note
        self.clock = clock
        self.fault_hook = fault_hook
        self.refreshes = Permits(MOST_AT_ONCE)
        self.care = Permits(1)
        self.conversions = Permits(1)
        self._outbox = outbox
        self._pages = outbox.pages
        self._reading = threading.Lock()

    def forget(self, slug: str) -> None:
        """Give back the permits of an archive that hangs or is given up, so that it keeps nobody else waiting."""
        self.refreshes.give_back(slug)
        self.care.give_back(slug)
        self.conversions.give_back(slug)

    def is_turn_of(self, slug: str) -> bool:
        """Whether the archive waits for a permit and could have it now."""
        return any(permits.is_turn_of(slug) for permits in (self.refreshes, self.care, self.conversions))

    def pending(self, archive: ArchiveState) -> list[OutboxEvent]:
        with self._reading:
            return self._outbox.pending(archive.project.id, after=archive.reported)

    def claim(self, archive: ArchiveState) -> OutboxPosition:
        """What must be there. Where no commit is known any more the archive was lost: it is begun anew."""
        with self._reading:
            if self._outbox.last_commit(archive.project.id) is None:
                archive.reported = NOTHING
            return OutboxPosition(highest_seq=self._outbox.highest_seq(), archived_seq=archive.reported)

    @contextmanager
    def pages(self) -> Iterator[ThreadPages]:
        """The pages of threads, for one committer's thread at a time."""
        with self._reading:
            yield self._pages
