"""One look at the store for all who wait in silence, in the place of one by each of them.

What this process commits wakes at once. This finds the rest: what another process has changed, and what was not told.
Whoever it concerns is woken, and looks itself; nobody else does anything. (docs/adr/0149)
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.features.delivery.last_look import is_unchanged
from mcp_agent_mail.features.delivery.waiters import MailWaiter, Waiters
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.feed import AgentState
from mcp_agent_mail.store.transaction import View

LOOK_EVERY_S = 15.0
"""So long at most a silent stream outlives its token, where another process took that back."""
AT_ONCE = 200
"""Agents of one read: one or two milliseconds."""


class _Rights(NamedTuple):
    project_id: ProjectId
    token_hash: bytes | None
    is_gone: bool


class _Known(NamedTuple):
    """`streams` are those that were there when it was found: what was known before says nothing to any other."""

    rights: _Rights | None
    streams: frozenset[MailWaiter]


class SharedLook:
    """`keeper.start()` on the running loop, `await keeper.stop()` while the store is still open."""

    def __init__(self, store: Store, waiters: Waiters, *, interval_s: float = LOOK_EVERY_S) -> None:
        self._store = store
        self._waiters = waiters
        self._known: dict[AgentId, _Known] = {}
        """Of agents that streams of resources hang on, as the last look found them."""
        self.keeper = Periodic("shared-look", self.look, interval_s=interval_s)
        self.start = self.keeper.start
        self.stop = self.keeper.stop

    async def look(self) -> None:
        """One pass; nothing is asked where nobody waits. Raises what a sick store raises."""
        followers = self._waiters.followers()
        self._known = {one: known for one, known in self._known.items() if one in followers}
        agents = sorted({*self._waiters.agents(), *followers})
        for start in range(0, len(agents), AT_ONCE):
            some = agents[start : start + AT_ONCE]
            tail, states = await self._store.read(partial(_states_of, agents=some))
            for agent_id in some:
                state = states.get(agent_id)
                for waiter in self._waiters.of(agent_id):
                    _judge(waiter, state, tail)
                if agent_id in followers:
                    self._doubt_changed(agent_id, state, followers[agent_id])
            await asyncio.sleep(0)
            if self.keeper.is_stopping:
                return

    def _doubt_changed(self, agent_id: AgentId, state: AgentState | None, streams: Sequence[MailWaiter]) -> None:
        """By what was known of the agent before; who hangs on it for the first time looks once."""
        rights = None if state is None else _Rights(state.project_id, state.token_hash, state.is_gone)
        before = self._known.get(agent_id)
        self._known[agent_id] = _Known(rights, frozenset(streams))
        for stream in streams:
            if before is None or rights != before.rights or stream not in before.streams:
                stream.doubt()


def _judge(waiter: MailWaiter, state: AgentState | None, tail: int) -> None:
    last_look = waiter.last_look
    if last_look is not None and is_unchanged(last_look, state):
        waiter.quiet_to = max(waiter.quiet_to, tail)
    else:
        waiter.wake()


def _states_of(view: View, agents: Sequence[AgentId]) -> tuple[int, dict[AgentId, AgentState]]:
    """With the last number that was given out."""
    return view.feed.ends().tail, view.feed.states_of(agents)
