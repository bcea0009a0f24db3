"""Retention: old mail that everyone has read leaves the live store, and a tombstone stays.

Looking goes on beside everything else; purging comes in lots so small that nobody waits for the writer, and each lot
looks again at what it takes. A kill between two lots leaves nothing half done, and a repeat goes on.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from mcp_agent_mail.archive.attachments import UNTOUCHED_S, AttachmentFiles
from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.retention import OldMessage, cutoff_of, is_ignored
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.message_events import record_purges
from mcp_agent_mail.store.retention import RetentionCutoff, list_old
from mcp_agent_mail.store.transaction import Tx, View

logger = logging.getLogger("mcp_agent_mail.retention")

LOOKED_AT_ONCE = 500
MESSAGES_AT_ONCE = 10
COPIES_AT_ONCE = 250
BODY_BYTES_AT_ONCE = 64 * 1024
"""One unit of work purges no more than these, about 4 ms; a larger message comes alone, as it was sent."""
PURGED_PER_CALL = 10_000
_PROJECTS_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRules:
    max_age_days: int
    ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OldMail:
    """Of one project: how much is old, how much of that may go, and how much went."""

    old: int = 0
    may_go: int = 0
    purged: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """What a purge found, or did. `cutoff` is the time up to which mail counts as old."""

    dry_run: bool
    messages_affected: int
    cutoff: Micros
    max_age_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeRequest:
    """`max_age_days` None: as the server is set."""

    project_key: str
    max_age_days: int | None
    dry_run: bool


class RetentionService:
    """`find_project` raises for a key that no project has. `throttle` is awaited before each lot. From `contents` goes
    what no mail carries any more.
    """

    def __init__(
        self,
        store: Store,
        rules: RetentionRules,
        *,
        find_project: Callable[[View, str], Project],
        throttle: Callable[[], Awaitable[None]],
        contents: AttachmentFiles,
        clock: Clock,
    ) -> None:
        self._store = store
        self._rules = rules
        self._find_project = find_project
        self._throttle = throttle
        self._contents = contents
        self._clock = clock

    async def purge(self, caller: Caller, request: PurgeRequest) -> Purge:
        """Count what may go, or let it go: PURGED_PER_CALL at most, the oldest first. A repeat goes on.

        A project that the settings leave out is purged when it is named; what others of them got stays.
        """
        require_operator(caller)
        project = await self._store.read(lambda view: self._find_project(view, request.project_key))
        days = request.max_age_days or self._rules.max_age_days
        cutoff = RetentionCutoff(at=cutoff_of(self._clock(), days), spared=await self._spared() - {project.id})
        most = 0 if request.dry_run else PURGED_PER_CALL
        found = await self.go_through(project, cutoff, most=most)
        return Purge(
            dry_run=request.dry_run,
            messages_affected=found.may_go if request.dry_run else found.purged,
            cutoff=cutoff.at,
            max_age_days=days,
        )

    async def in_turn(self) -> tuple[list[Project], RetentionCutoff]:
        """The projects that a pass over all of them looks at, and what counts as old in them."""
        cutoff = RetentionCutoff(at=cutoff_of(self._clock(), self._rules.max_age_days), spared=await self._spared())
        return [project for project in await self._projects() if project.id not in cutoff.spared], cutoff

    async def go_through(
        self, project: Project, cutoff: RetentionCutoff, *, most: int, is_over: Callable[[], bool] = lambda: False
    ) -> OldMail:
        """Count the old mail of a project, and purge `most` messages of what may go."""
        found = OldMail()
        async for page in self._pages(project.id, cutoff):
            going = [one for one in page if one.may_go]
            found = replace(found, old=found.old + len(page), may_go=found.may_go + len(going))
            for lot in _lots(going[: most - found.purged]):
                await self._throttle()
                purged, left = await self._store.write(partial(_purge, lot, cutoff))
                found = replace(found, purged=found.purged + purged)
                if left:
                    await computed(partial(self._remove, left))
            if is_over() or (most and found.purged >= most):
                break
        return found

    def _remove(self, digests: Sequence[str]) -> None:
        """Once it is committed that no mail carries them. What a send has touched lately may be under way again, and
        what the disk does not let go stays too: both are left to `am archive gc`.
        """
        for sha256 in digests:
            try:
                self._contents.remove(sha256, untouched_s=UNTOUCHED_S)
            except OSError as failed:
                facts = {"sha256": sha256, "why": str(failed)}
                logger.warning("what no mail carries any more cannot be removed", extra={"facts": facts})

    async def _pages(self, project_id: ProjectId, cutoff: RetentionCutoff) -> AsyncIterator[list[OldMessage]]:
        last: OldMessage | None = None
        while True:
            page = await list_old(self._store, project_id, cutoff, last, LOOKED_AT_ONCE)
            if page:
                yield page
            if len(page) < LOOKED_AT_ONCE:
                return
            last = page[-1]

    async def _spared(self) -> frozenset[ProjectId]:
        if not self._rules.ignored:
            return frozenset()
        return frozenset(one.id for one in await self._projects() if is_ignored(one, self._rules.ignored))

    async def _projects(self) -> list[Project]:
        found: list[Project] = []
        while page := await self._store.read(partial(_projects_after, found[-1].id if found else 0)):
            found += page
        return found


def _projects_after(last: int, view: View) -> list[Project]:
    return view.projects.list_(include_archived=True, limit=_PROJECTS_AT_ONCE, after_id=last)


def _lots(messages: Sequence[OldMessage]) -> list[list[OldMessage]]:
    lots: list[list[OldMessage]] = []
    for one in messages:
        if not lots or not _fits([*lots[-1], one]):
            lots.append([])
        lots[-1].append(one)
    return lots


def _fits(lot: Collection[OldMessage]) -> bool:
    return (
        len(lot) <= MESSAGES_AT_ONCE
        and sum(one.copies for one in lot) <= COPIES_AT_ONCE
        and sum(one.body_bytes for one in lot) <= BODY_BYTES_AT_ONCE
    )


def _purge(lot: Sequence[OldMessage], cutoff: RetentionCutoff, tx: Tx) -> tuple[int, list[str]]:
    """How many of them may still go and went; their archives get tombstones too, and lose what these alone carried. And
    the digests of what no mail carries any more.
    """
    now = tx.now
    gone = [one.id for one in lot if tx.retention.purge(one.id, cutoff, now)]
    return len(gone), record_purges(tx, gone)
