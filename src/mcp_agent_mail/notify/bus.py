"""The buses of a process: whose unread mail or feed has changed, what has changed of messages and their copies, whose
rights have, and what a person steers by. Told after the commit to whoever listens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.copy_changes import CopyChange, OversightChange

Change = TypeVar("Change")


class ChangeBus(Generic[Change]):
    """Silent, and without cost, until somebody subscribes.

    `connect` is called once, with the first subscriber: it makes whoever knows of commits tell the bus. All of it
    happens on the event loop; a listener returns at once and never raises.
    """

    def __init__(self, connect: Callable[[Callable[[frozenset[Change]], None]], None]) -> None:
        self._connect = connect
        self._connected = False
        self._listeners: list[Callable[[frozenset[Change]], None]] = []

    def subscribe(self, listener: Callable[[frozenset[Change]], None]) -> None:
        """From now on `listener` is told after each commit that changed something. Who subscribes twice is told
        twice.
        """
        self._listeners.append(listener)
        if not self._connected:
            self._connected = True
            self._connect(self._tell)

    def unsubscribe(self, listener: Callable[[frozenset[Change]], None]) -> None:
        self._listeners.remove(listener)

    def _tell(self, changes: frozenset[Change]) -> None:
        for listener in list(self._listeners):
            listener(changes)


class MailBus(ChangeBus[AgentId]):
    """Of agents whose unread mail, or feed, a commit changed."""


class CopyBus(ChangeBus[CopyChange]):
    """Of messages and copies that a commit changed."""


class RightsBus(ChangeBus[AgentId]):
    """Of agents whose token, standing or project a commit changed."""


class OversightBus(ChangeBus[OversightChange]):
    """Of contacts, leases, held mail and agents that a commit changed."""
