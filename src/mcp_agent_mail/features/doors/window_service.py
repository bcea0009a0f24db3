"""Mailboxes of windows: what AgentMail's users ask beside sending and receiving. Their names come and go with windows
of a terminal, and their projects are working directories.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.agents import Agent, AgentStatus
from mcp_agent_mail.domain.doors.names import Door, WireName, require_wire_name, shown_to, wire_key
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.doors.homes import find_home
from mcp_agent_mail.features.doors.names import NameSupplies, find_agent, speak_as
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.service import DoorService
from mcp_agent_mail.features.identity.register import record_event
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View

MAX_NAMES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowMailbox:
    """What the mailbox of a window holds, and what its agent has said of itself."""

    name: str
    unread: int
    status: AgentStatus
    status_ts: Micros | None


def _is_own(view: View, door: Door, known: WireName) -> bool:
    """Whether the name is the door's, or nobody has spoken as it: it was only written to."""
    return known.owner is door or (known.owner is None and not view.agents.has_token(known.agent_id))


class WindowMailboxService:
    """Beside `doors`, by the same rules of names."""

    def __init__(self, store: Store, doors: DoorService, *, note_activity: Callable[[Agent], None]) -> None:
        self._store = store
        self._doors = doors
        self._note_activity = note_activity

    async def names(self, caller: DoorCaller) -> list[str]:
        """Whom the caller's project knows, by the names that its door shows: MAX_NAMES, the oldest agents first."""
        key = self._doors.homes.key_of(caller)

        def look(view: View) -> list[str]:
            project = find_home(view, key)
            if project is None:
                return []
            agents = view.agents.list_(project.id, include_retired=False, active_since=0, limit=MAX_NAMES)
            agents.sort(key=lambda agent: agent.id)
            return [shown_to(caller.door, view.wire_names.of_agent(one.id)) or one.name for one in agents]

        return await self._store.read(look)

    async def rename(self, caller: DoorCaller, was: str) -> bool:
        """The caller's window was called `was`: its mailbox goes on under the caller's name, where that is nobody's.

        False, and nothing changes, where it is, or `was` is another door's or a native agent's: then names decide.
        Raises UnfitWireName. Safe to repeat.
        """
        name = require_wire_name(caller.door, caller.name)
        before = require_wire_name(caller.door, was)
        key = self._doors.homes.key_of(caller)

        def unit(tx: Tx) -> bool:
            project = find_home(tx, key)
            known = None if project is None else tx.wire_names.find(project.id, before)
            if project is None or known is None or not _is_own(tx, caller.door, known):
                return False
            is_same = wire_key(name) == wire_key(before)
            if not is_same and find_agent(tx, project, name) is not None:
                return False
            agent = tx.agents.find(known.agent_id)
            assert agent is not None, known
            tx.wire_names.rename(known, name)
            record_event(tx, agent, None)
            return True

        return await self._store.write(unit)

    async def set_status(self, caller: DoorCaller, status: AgentStatus) -> Agent:
        """The caller's word on whether it is to be disturbed. Raises as DoorService.send does."""

        def unit(tx: Tx, project: Project, supplies: NameSupplies) -> Agent:
            speaker = speak_as(tx, project, caller.door, caller.name, supplies)
            return tx.agents.set_status(speaker.actor.agent.id, status, None, tx.now)

        agent = await self._doors.homes.write(caller, unit)
        self._note_activity(agent)
        return agent

    async def look(self, caller: DoorCaller, names: Sequence[str]) -> list[WindowMailbox]:
        """The mailboxes of these windows, without those that there are not. Changes and makes nothing."""
        key = self._doors.homes.key_of(caller)

        def look(view: View) -> list[WindowMailbox]:
            project = find_home(view, key)
            found = [] if project is None else [(one, find_agent(view, project, one)) for one in names]
            return [
                WindowMailbox(
                    name=name,
                    unread=view.pops.count_waiting(agent.id),
                    status=agent.status,
                    status_ts=agent.status_ts,
                )
                for name, agent in found
                if agent is not None
            ]

        return await self._store.read(look)
