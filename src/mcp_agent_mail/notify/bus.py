"""The bus of a process: which agents' unread mail, or feed, has changed, told after the commit to whoever listens."""

from __future__ import annotations

from collections.abc import Callable

from mcp_agent_mail.core.ids import AgentId

Listener = Callable[[frozenset[AgentId]], None]


class MailBus:
    """Silent, and without cost, until somebody subscribes.

    `connect` is called once, with the first subscriber: it makes whoever knows of commits tell the bus. All of it
    happens on the event loop; a listener returns at once and never raises.
    """

    def __init__(self, connect: Callable[[Listener], None]) -> None:
        self._connect = connect
        self._connected = False
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        """From now on `listener` is told after each commit that changed unread mail or a feed. Who subscribes twice is
        told twice.
        """
        self._listeners.append(listener)
        if not self._connected:
            self._connected = True
            self._connect(self._tell)

    def unsubscribe(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    def _tell(self, agents: frozenset[AgentId]) -> None:
        for listener in list(self._listeners):
            listener(agents)
