"""Keeps the signal files true: one exists exactly while its agent has unread mail.

Level-triggered: a change only says whose mail to look at again, and the file follows what the store says then. So a
lost or doubled word does no harm, and at the start every agent is looked at once. One task, which owns the files.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.concurrency.keeper import STOP_WITHIN_S, Keeper
from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.signals import UnreadInbox
from mcp_agent_mail.notify.bus import MailBus
from mcp_agent_mail.notify.signal_files import SignalFiles

logger = logging.getLogger("mcp_agent_mail.signals")

AT_ONCE = 100
"""Agents whose mail one read looks at: about 3 ms."""
RETRY_S = 1.0
REST_PER_WORK = 50
MAX_REST_S = 0.6
"""Under load the files of twenty busy agents, ten times a second, cost the server 15 % of CPU per request: so a pass is
followed by a rest of so many times what it took, within the second that signals have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """What the store tells. `settle` returns when what was committed before is told, or can be read."""

    inboxes: Callable[[Sequence[AgentId]], Awaitable[list[UnreadInbox]]]
    agents_after: Callable[[int, int], Awaitable[list[AgentId]]]
    settle: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalFigures:
    """Since the start; `pending` agents are still to be looked at, `failed` ones are tried again."""

    reconciled_at: Micros | None
    changed: int
    pending: int
    failed: int
    last_error: str | None


class Signals:
    """`start()` on the running loop, `await stop()` while the store is still open."""

    def __init__(self, mail: Mail, bus: MailBus, files: SignalFiles, *, debounce_s: float, clock: Clock) -> None:
        self._mail = mail
        self._bus = bus
        self._files = files
        self._debounce_s = debounce_s
        self._clock = clock
        self._woken = asyncio.Event()
        self.keeper = Keeper("signals", self._keep_on, clock=clock)
        # A folder of its own choosing may lie on a mount that hangs.
        self.looks = Looks(threads=1)
        self._pending: set[AgentId] = set()
        self._failed: set[AgentId] = set()
        self._reconciled_at: Micros | None = None
        self._changed = 0
        self._error: str | None = None
        self._rests_until = 0.0

    def start(self) -> None:
        """Look at everybody, then at whom the bus names. Does not wait for it."""
        self._bus.subscribe(self.note)
        self.keeper.start()

    async def stop(self, within_s: float = STOP_WITHIN_S) -> None:
        """After one last look at whose mail has changed. Nothing when it was never started."""
        if not self.keeper.is_running:
            return
        self.keeper.stopping.set()
        self._woken.set()
        await self.keeper.stop(within_s)
        self.looks.close()
        self._bus.unsubscribe(self.note)

    def figures(self) -> SignalFigures:
        """How the signal files fare at this moment, for health. `last_error` is what ended the task, else what the last
        pass met.
        """
        return SignalFigures(
            reconciled_at=self._reconciled_at,
            changed=self._changed,
            pending=len(self._pending),
            failed=len(self._failed),
            last_error=self.keeper.error or self._error,
        )

    def note(self, agents: frozenset[AgentId]) -> None:
        """Look at these again. The set is bounded by the agents there are."""
        self._pending |= agents
        self._woken.set()

    async def reconcile(self) -> None:
        """Note every agent there is. Raises what a sick store raises."""
        await self._mail.settle()
        last = 0
        while found := await self._mail.agents_after(last, AT_ONCE):
            self._pending.update(found)
            last = found[-1]
            await asyncio.sleep(0)
        self._reconciled_at = self._clock()

    async def catch_up(self) -> None:
        """Make the files of all who are noted true. Those that cannot be written are tried again later."""
        problems: list[str] = []
        while self._pending:
            some = sorted(self._pending)[:AT_ONCE]
            self._pending.difference_update(some)
            problems += await self._show(some)
        if problems and problems[0] != self._error:
            logger.warning("signal files could not be written", extra={"facts": {"first": problems[0]}})
        self._error = problems[0] if problems else self._error if self._failed else None

    async def _show(self, some: list[AgentId]) -> list[str]:
        self._failed.update(some)  # Whatever happens now, none of them is forgotten.
        try:
            inboxes = await self._mail.inboxes(some)
            changed, failed = await self.looks.look(str(self._files.root), partial(_show_all, self._files, inboxes))
        except AgentMailError as sick:
            return [sick.message]
        self._failed.difference_update(some)
        self._changed += changed
        self._failed.update(failed)
        return list(failed.values())

    async def _keep_on(self) -> None:
        while not self.keeper.is_stopping:
            await self._begin()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), RETRY_S if self._is_behind() else None)
            # The first change opens the window and all that follow fall into it: none waits longer, the last one lands.
            await self.keeper.rest(self.window_s(time.monotonic()))
            self._woken.clear()
            self._pending |= self._failed
            began = time.monotonic()
            await self.catch_up()
            self.rest_from(time.monotonic(), worked_s=time.monotonic() - began)
            self.keeper.worked()

    def rest_from(self, now_s: float, *, worked_s: float) -> None:
        """A pass of so many seconds has ended: the next one waits in proportion."""
        self._rests_until = now_s + min(MAX_REST_S, REST_PER_WORK * worked_s)

    def window_s(self, now_s: float) -> float:
        """How long changes are gathered from the first one on: after a quiet time just the debounce."""
        return max(self._debounce_s, self._rests_until - now_s)

    async def _begin(self) -> None:
        """Until it has worked once."""
        if self._reconciled_at is not None:
            return
        await self.reconcile()
        await self.catch_up()
        self.keeper.worked()

    def _is_behind(self) -> bool:
        return bool(self._failed) or self._reconciled_at is None


def _show_all(files: SignalFiles, inboxes: Sequence[UnreadInbox]) -> tuple[int, dict[AgentId, str]]:
    """How many files changed, and what went wrong with the others. On a thread of its own."""
    changed, failed = 0, {}
    for inbox in inboxes:
        try:
            changed += files.show(inbox)
        except (OSError, ValueError) as problem:
            failed[inbox.agent_id] = str(problem)
    return changed, failed
