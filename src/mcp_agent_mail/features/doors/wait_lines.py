"""Who watches which mailbox, the longest first: of several the first alone takes what comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.features.delivery.waiters import MailWaiter


class WaitLines:
    """On the event loop and in memory, beside the places of `Waiters`, which bound how many there are."""

    def __init__(self) -> None:
        self._lines: dict[AgentId, dict[MailWaiter, None]] = {}

    @contextmanager
    def place(self, agent_id: AgentId, waiter: MailWaiter) -> Iterator[None]:
        """The last place of the line for the time of the block. When the first leaves, the next one is woken."""
        line = self._lines.setdefault(agent_id, {})
        line[waiter] = None
        try:
            yield
        finally:
            del line[waiter]
            if line:
                next(iter(line)).wake()
            else:
                del self._lines[agent_id]

    def is_first(self, agent_id: AgentId, waiter: MailWaiter) -> bool:
        return next(iter(self._lines[agent_id])) is waiter
