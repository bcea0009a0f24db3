"""What a transaction changed, as far as anybody listens: taken before its COMMIT, told after it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.copy_changes import CopyChange, OversightChange
from mcp_agent_mail.store.engine.sqlite.copy_changes import CopyChanges
from mcp_agent_mail.store.engine.sqlite.mail_changes import MailChanges
from mcp_agent_mail.store.engine.sqlite.right_changes import OversightChanges, RightChanges

T = TypeVar("T")
Listeners = list[Callable[[frozenset[T]], None]]


class Changed(NamedTuple):
    """Whose mail or feed, which messages and copies, whose rights, and what a person steers by."""

    agents: frozenset[AgentId]
    copies: frozenset[CopyChange]
    rights: frozenset[AgentId]
    oversight: frozenset[OversightChange]


NOTHING = Changed(frozenset(), frozenset(), frozenset(), frozenset())


class Changes:
    """`watch` and `take` are for the writer's thread, all else for the event loop."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.of_mail: Listeners[AgentId] = []
        self.of_copies: Listeners[CopyChange] = []
        self.of_rights: Listeners[AgentId] = []
        self.of_oversight: Listeners[OversightChange] = []
        self._mail = MailChanges(connection)
        self._copies = CopyChanges(connection)
        self._rights = RightChanges(connection)
        self._oversight = OversightChanges(connection)

    def watch(self) -> None:
        """From the next transaction on, what somebody listens to by now. Called outside of one."""
        if self.of_mail:
            self._mail.watch()
        if self.of_copies:
            self._copies.watch()
        if self.of_rights:
            self._rights.watch()
        if self.of_oversight:
            self._oversight.watch()

    def take(self) -> Changed:
        """What the running transaction has changed, before it is committed."""
        return Changed(self._mail.take(), self._copies.take(), self._rights.take(), self._oversight.take())

    def tell(self, loop: asyncio.AbstractEventLoop, changed: Changed) -> None:
        """Each listener on its own: an error in one is reported by the loop and keeps no other from being told."""
        _tell(loop, self.of_mail, changed.agents)
        _tell(loop, self.of_copies, changed.copies)
        _tell(loop, self.of_rights, changed.rights)
        _tell(loop, self.of_oversight, changed.oversight)


def _tell(loop: asyncio.AbstractEventLoop, listeners: Listeners[T], changes: frozenset[T]) -> None:
    if changes:
        for listener in listeners:
            loop.call_soon(listener, changes)
