"""The steps that evidence proves, on their way into the store: noted in memory, written in groups within a second.

A write per answer would turn every read into a write. What a crash loses is a step that has happened; none is ever
written that has not. Full, further steps are not noted: they are when the mail is read again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import groupby, islice

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx

logger = logging.getLogger("mcp_agent_mail.delivery_marks")

WRITE_EVERY_S = 0.5
MAX_NOTED = 50_000
"""Steps of copies that wait to be written."""
MAX_WRITTEN = 50_000
"""Copies whose steps are known to be in the store, so that reading them again writes nothing."""
AT_ONCE = 1_000
"""Steps written in one unit of work."""

_Copy = tuple[AgentId, MessageId]
_Noted = dict[_Copy, Micros]


class DeliveryMarks:
    """The first note starts a task that writes at each interval and ends when nothing is left. `close` writes the
    last.
    """

    def __init__(
        self, store: Store, *, clock: Clock, interval_s: float = WRITE_EVERY_S, max_noted: int = MAX_NOTED
    ) -> None:
        self._store = store
        self._clock = clock
        self._interval_s = interval_s
        self._max_noted = max_noted
        self._handed: _Noted = {}
        self._shown: _Noted = {}
        self._written: dict[_Copy, bool] = {}
        """Copies that are handed over in the store, and whether they are shown; the oldest known first."""
        self._settled: dict[AgentId, set[MessageId]] = {}
        """Those of `_shown` and those shown of `_written`, by agent: a page that is read again asks for each copy."""
        self.keeper = Keeper("delivery-marks", self._write_at_intervals, clock=clock)

    def without_shown(self, agent_id: AgentId, message_ids: Iterable[MessageId]) -> tuple[MessageId, ...]:
        """Those of the agent's copies that are not known to be shown: of the others nothing is left to note."""
        settled = self._settled.get(agent_id, ())
        return tuple([one for one in message_ids if one not in settled])

    def note_handed(self, agent_id: AgentId, message_ids: Iterable[MessageId]) -> None:
        """An answer with the agent's copies of these has left the process."""
        at = self._clock()
        for copy in [(agent_id, one) for one in message_ids]:
            if copy not in self._written and len(self._handed) < self._max_noted:
                self._handed.setdefault(copy, at)
        self._write_later()

    def note_shown(self, agent_id: AgentId, message_ids: Iterable[MessageId]) -> None:
        """It is proven that the agent got an answer with these, which was noted to be handed over."""
        at = self._clock()
        for copy in [(agent_id, one) for one in message_ids]:
            is_handed = copy in self._handed or copy in self._written
            if is_handed and not self._written.get(copy, False) and len(self._shown) < self._max_noted:
                self._shown.setdefault(copy, at)
                self._settled.setdefault(agent_id, set()).add(copy[1])
        self._write_later()

    def _write_later(self) -> None:
        if (self._handed or self._shown) and not self.keeper.is_running:
            self.keeper.start()

    async def write(self) -> None:
        """Write all that is noted. What cannot be written now stays noted; raises what refused it. Several may write at
        once: a step that is written twice keeps its first time.
        """
        while self._handed or self._shown:
            handed = dict(islice(self._handed.items(), AT_ONCE))
            # What is shown has been handed over before it, in this unit at the latest.
            ready = len(handed) == len(self._handed)
            shown = dict(islice(self._shown.items(), AT_ONCE)) if ready else {}

            def unit(tx: Tx, handed: _Noted = handed, shown: _Noted = shown) -> None:
                for (agent_id, at), message_ids in _grouped(handed):
                    tx.ladder.hand_over(agent_id, message_ids, at)
                for (agent_id, at), message_ids in _grouped(shown):
                    tx.ladder.show(agent_id, message_ids, at)

            await self._store.write(unit)
            for copy in handed:
                self._handed.pop(copy, None)
                self._written.setdefault(copy, False)
            for copy in shown:
                self._shown.pop(copy, None)
                self._written[copy] = True
            for copy in list(islice(self._written, max(0, len(self._written) - MAX_WRITTEN))):
                self._forget_written(copy)

    def _forget_written(self, copy: _Copy) -> None:
        del self._written[copy]
        agent_id, message_id = copy
        settled = self._settled.get(agent_id)
        if settled is not None and copy not in self._shown:
            settled.discard(message_id)
            if not settled:
                del self._settled[agent_id]

    async def close(self) -> None:
        """Write what is noted and stop. Safe to call twice."""
        await self.keeper.stop()
        try:
            await self.write()
        except AgentMailError as refused:
            logger.warning("the last steps of delivery were not written", extra={"facts": {"error": refused.message}})

    async def _write_at_intervals(self) -> None:
        while self._handed or self._shown:
            await self.keeper.rest(self._interval_s)
            if self.keeper.is_stopping:
                return
            await self.write()
            self.keeper.worked()


def _grouped(noted: _Noted) -> Iterable[tuple[tuple[AgentId, Micros], list[MessageId]]]:
    """By agent and time, in the order noted."""
    for (agent_id, at), rows in groupby(noted.items(), key=lambda row: (row[0][0], row[1])):
        yield (agent_id, at), [message_id for (_, message_id), _ in rows]
