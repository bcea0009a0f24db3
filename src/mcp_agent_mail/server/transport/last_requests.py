"""Connections at a stop: a request that is on its way is still answered, so that no restart loses one."""

from __future__ import annotations

from mcp_agent_mail.server.transport.client_kernel import has_sent
from mcp_agent_mail.server.transport.protocol import BoundedHttp

LAST_REQUESTS_WITHIN_S = 1.0
"""So long a connection that was taken, and has asked nothing yet, may take to ask."""


class ClosingHttp(BoundedHttp):
    """One connection, and its end. Who is closed without an answer was not heard: asking again does nothing twice."""

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self._limiter.is_stopping:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """The stop begins. What is idle is closed; what is being answered, or has yet to come whole, is the last."""
        cycle = self._unanswered()
        if cycle is not None:
            cycle.keep_alive = False
        elif self not in self._limiter.unfinished and not has_sent(self.transport.get_extra_info("socket")):
            super().shutdown()

    def end_unfinished(self) -> None:
        """LAST_REQUESTS_WITHIN_S is over. A request that is not complete is refused, so that it holds up nothing."""
        if self._is_reading:
            self.evict(503, "The server is stopping.")
        else:
            super().shutdown()
