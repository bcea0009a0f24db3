"""Is this server well: tried just now, not remembered."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.events import Backlog
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.features.health.results import Health, HealthStatus, ServerPlace, SweepFigures, WaitingFigures
from mcp_agent_mail.features.health.store_size import StoreSizeFigures
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View

PATIENCE_S = 5.0
"""How long the check waits for its own write: a writer that hangs is an answer too."""

ARCHIVE_LATE_S = 30.0
"""An event that waits longer for its commit than this means that something is wrong with the archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _HealthFigures:
    backlog: Backlog
    last_commit_at: Micros | None
    schema_version: int
    store_id: str
    feed_tail: int


class HealthService:
    """`sweep` tells what the sweeper of reservations did, `workers` what others did beside the requests, by name;
    `store_size` what the store was last found to take, `waiting` who waits for mail. `keepers` are those of every task
    beside the requests.
    """

    def __init__(
        self,
        store: Store,
        place: ServerPlace,
        *,
        clock: Clock,
        archive: ArchivingService,
        sweep: Callable[[], SweepFigures] | None = None,
        store_size: Callable[[], StoreSizeFigures] | None = None,
        workers: Callable[[], dict[str, Json]] = dict,
        waiting: Callable[[], WaitingFigures] | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._archive = archive
        self._sweep = sweep
        self._store_size = store_size
        self._workers = workers
        self._waiting = waiting
        self.keepers: Callable[[], Sequence[Keeper]] = tuple
        self.patience_s = PATIENCE_S
        self.place = place

    async def is_ready(self) -> bool:
        """Whether the store can be read now. Without room for more it can: a server that is taken out of use for that
        serves no readers either. Raises DatabaseTakenAway where another server would serve them better.
        """
        try:
            is_read = await self._store.read(lambda view: view.meta.schema_version()) > 0
        except Unavailable:
            return False
        self._store.require_in_place()
        return is_read

    async def check(self) -> Health:
        """Write and read the store now. Never raises what a sick store raises: it reports."""
        figures = await self._figures()
        failing = [figures for figures in (keeper.figures() for keeper in self.keepers()) if figures.error is not None]
        archive_error = self._archive.problem() or (_late(figures.backlog) if figures else None)
        store_problem = self._store.problem
        if figures is None:
            status = HealthStatus.ERROR
        elif archive_error is not None or failing or store_problem is not None:
            status = HealthStatus.DEGRADED
        else:
            status = HealthStatus.OK
        return Health(
            status=status,
            place=self.place,
            backlog=figures.backlog if figures else None,
            last_commit_at=figures.last_commit_at if figures else None,
            archive_error=archive_error,
            archive_care=self._archive.care(),
            sweep=self._sweep() if self._sweep is not None else None,
            workers=self._workers(),
            waiting=self._waiting() if self._waiting is not None else None,
            feed_tail=figures.feed_tail if figures else None,
            failing=failing,
            store_size=self._store_size() if self._store_size is not None else None,
            store_problem=store_problem,
            owner_pid=os.getpid(),
            schema_version=figures.schema_version if figures else None,
            store_id=figures.store_id if figures else None,
        )

    def count_owed(self) -> int:
        """How many outcomes of answers the store has not taken yet."""
        return self._store.count_owed()

    async def _figures(self) -> _HealthFigures | None:
        """What the store says after a write that is on disk; None when it cannot be written or read."""
        now = self._clock()

        def note(tx: Tx) -> None:
            tx.meta.note_check(now)

        def look(view: View) -> _HealthFigures:
            assert view.meta.checked_at() is not None, "the write above is committed"
            return _HealthFigures(
                backlog=view.outbox.backlog(now),
                last_commit_at=view.outbox.last_commit_at(),
                schema_version=view.meta.schema_version(),
                store_id=view.meta.store_id(),
                feed_tail=view.feed.ends().tail,
            )

        try:
            await asyncio.wait_for(self._store.write(note), self.patience_s)
            return await self._store.read(look)
        except (Unavailable, TimeoutError):
            return None


def _late(backlog: Backlog) -> str | None:
    """What a backlog says that nobody has reported a reason for: the archiver hangs, or cannot keep up."""
    if backlog.oldest_pending_s <= ARCHIVE_LATE_S:
        return None
    return f"{backlog.pending_events} events wait for Git, the oldest for {backlog.oldest_pending_s:.0f} s."
