"""When agents were last active, and windows last used: noted in memory, written every few seconds, laid over what reads
show.

A write per call would turn every read into a write. What a crash loses is a few seconds of
`last_active_ts` and nothing else (docs/adr).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType
from typing import Self

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.windows import DEFAULT_TTL, Window
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx

logger = logging.getLogger("mcp_agent_mail.activity")

MAX_NOTED = 10_000
"""Agents noted between two writes. Full: further agents wait for their next call, a few seconds later."""

MAX_WINDOWS_NOTED = 2_000
"""The same of windows. Any client can make them up."""

FLUSH_INTERVAL_S = 5.0


@dataclass(frozen=True, slots=True)
class _Note:
    project_id: ProjectId
    at: Micros


class Activity:
    """`async with Activity(store, clock=...) as activity`: leaving it writes what is noted.

    The first note starts a task that writes at each interval and ends when nothing is left.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        interval_s: float = FLUSH_INTERVAL_S,
        max_noted: int = MAX_NOTED,
        window_ttl: Micros = DEFAULT_TTL,
    ) -> None:
        self._store = store
        self._clock = clock
        self._interval_s = interval_s
        self._max_noted = max_noted
        self._noted: dict[AgentId, _Note] = {}
        self._writing: dict[AgentId, _Note] = {}
        self.window_ttl = window_ttl
        self._windows: dict[str, Micros] = {}
        self._writing_windows: dict[str, Micros] = {}
        self.keeper = Keeper("activity", self._flush_at_intervals, clock=clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def note(self, agent: Agent) -> None:
        """Note that `agent` has just done something; beyond the bound of agents noted it is left out."""
        if agent.id not in self._noted and len(self._noted) >= self._max_noted:
            return
        self._noted[agent.id] = _Note(agent.project_id, self._clock())
        self._flush_later()

    def note_window(self, uuid: str) -> None:
        """A call has just come from this window, which may be none that any project knows."""
        if uuid not in self._windows and len(self._windows) >= MAX_WINDOWS_NOTED:
            return
        self._windows[uuid] = self._clock()
        self._flush_later()

    def _flush_later(self) -> None:
        if not self.keeper.is_running:
            self.keeper.start()

    def with_activity(self, agents: Iterable[Agent]) -> list[Agent]:
        """The agents with what is not written yet, in the order given."""
        return [self._newest(agent) for agent in agents]

    def windows_with_activity(self, windows: Iterable[Window]) -> list[Window]:
        """The windows with what is not written yet, in the order given. A window that has ended stays ended."""
        return [self._newest_of_window(window) for window in windows]

    def _newest_of_window(self, window: Window) -> Window:
        at = self._windows.get(window.uuid) or self._writing_windows.get(window.uuid)
        if at is None or at <= window.last_active_ts or not window.is_live(at, self.window_ttl):
            return window
        return replace(window, last_active_ts=at)

    def noted_in(self, project_id: ProjectId) -> list[AgentId]:
        """The agents of the project whose last activity the store may not know yet."""
        both = {**self._writing, **self._noted}
        return [agent_id for agent_id, note in both.items() if note.project_id == project_id]

    def _newest(self, agent: Agent) -> Agent:
        note = self._noted.get(agent.id) or self._writing.get(agent.id)
        if note is None or note.at <= agent.last_active_ts:
            return agent
        return replace(agent, last_active_ts=note.at)

    async def flush(self) -> None:
        """Write all that is noted. What cannot be written now is kept for the next time; raises what refused it."""
        self._writing, self._noted = self._noted, {}
        self._writing_windows, self._windows = self._windows, {}
        agents = [(agent_id, note.at) for agent_id, note in self._writing.items()]
        windows = list(self._writing_windows.items())

        def unit(tx: Tx) -> None:
            tx.agents.touch_many(agents)
            tx.windows.touch_many(windows, self.window_ttl)

        try:
            await self._store.write(unit)
        except BaseException:
            self._noted = {**self._writing, **self._noted}
            self._windows = {**self._writing_windows, **self._windows}
            raise
        finally:
            self._writing = {}
            self._writing_windows = {}

    async def close(self) -> None:
        """Write what is noted and stop noting. Safe to call twice."""
        await self.keeper.stop()
        if self._noted or self._windows:
            try:
                await self.flush()
            except AgentMailError as refused:
                logger.warning("the last activity was not written", extra={"facts": {"error": refused.message}})

    async def _flush_at_intervals(self) -> None:
        while self._noted or self._windows:
            await self.keeper.rest(self._interval_s)
            if self.keeper.is_stopping:
                return
            await self.flush()
            self.keeper.worked()
