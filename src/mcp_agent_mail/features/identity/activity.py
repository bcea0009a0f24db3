"""When agents were last active: noted in memory, written every few seconds, laid over what reads show.

A write per call would turn every read into a write. What a crash loses is a few seconds of
`last_active_ts` and nothing else (docs/adr).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.store.database import Store

MAX_NOTED = 10_000
"""Agents noted between two writes. Full: further agents wait for their next call, a few seconds later."""

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
        self, store: Store, *, clock: Clock, interval_s: float = FLUSH_INTERVAL_S, max_noted: int = MAX_NOTED
    ) -> None:
        self._store = store
        self._clock = clock
        self._interval_s = interval_s
        self._max_noted = max_noted
        self._noted: dict[AgentId, _Note] = {}
        self._writing: dict[AgentId, _Note] = {}
        self._stopping = asyncio.Event()
        self._flusher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def note(self, agent: Agent) -> None:
        """`agent` has just done something."""
        if agent.id not in self._noted and len(self._noted) >= self._max_noted:
            return
        self._noted[agent.id] = _Note(agent.project_id, self._clock())
        if self._flusher is None and not self._stopping.is_set():
            self._flusher = asyncio.create_task(self._flush_at_intervals(), name="activity-flush")

    def laid_over(self, agents: Iterable[Agent]) -> list[Agent]:
        """The agents with what is not written yet, in the order given."""
        return [self._newest(agent) for agent in agents]

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
        """Write all that is noted. What cannot be written now is kept for the next time."""
        self._writing, self._noted = self._noted, {}
        rows = [(agent_id, note.at) for agent_id, note in self._writing.items()]
        try:
            await self._store.write(lambda tx: tx.agents.touch_many(rows))
        except Unavailable:
            self._noted = {**self._writing, **self._noted}
        finally:
            self._writing = {}

    async def close(self) -> None:
        """Write what is noted and stop noting. Safe to call twice."""
        self._stopping.set()
        if self._flusher is not None:
            await self._flusher
            self._flusher = None
        if self._noted:
            await self.flush()

    async def _flush_at_intervals(self) -> None:
        while self._noted and not self._stopping.is_set():
            try:
                await asyncio.wait_for(self._stopping.wait(), self._interval_s)
            except TimeoutError:
                await self.flush()
        if not self._stopping.is_set():
            self._flusher = None
