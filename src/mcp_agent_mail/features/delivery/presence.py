"""Who is there: what clients' hooks have told, in this process's memory alone, and what stands open just now.

Nothing of it is stored: after a restart nobody listens until it is heard or connects again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Protocol

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.presence import (
    ABSENT,
    ClientSession,
    ListeningVia,
    Presence,
    SessionEvent,
    SessionName,
    after_event,
    is_gone,
    listening_until,
    presence_of,
)
from mcp_agent_mail.features.delivery.requests import HeartbeatRequest
from mcp_agent_mail.features.identity.actor import Actor, require_able, require_actor
from mcp_agent_mail.store.transaction import View

MAX_AGENTS = 10_000
"""Of whom sessions are remembered. Beyond, the one heard longest ago is forgotten, and counts as not listening."""

MAX_SESSIONS = 8
"""Of one agent that are heard with proof, and as many of the others, likewise."""


class OpenConnections(Protocol):
    """The waits and streams that stand open."""

    def via_of(self, agent_id: AgentId) -> ListeningVia | None:
        """WAIT or STREAM while the agent has one, the wait where it has both. Asked from any thread, for each agent
        that an answer shows.
        """


class NoConnections:
    """Where nothing waits and nothing streams."""

    def via_of(self, agent_id: AgentId) -> ListeningVia | None:  # noqa: ARG002  # as the protocol has it
        return None


NO_CONNECTIONS = NoConnections()


class Presences:
    """Told of heartbeats on the event loop, and asked from any thread: what stands for an agent is replaced as a whole,
    and never changed.
    """

    def __init__(
        self, *, window_s: int, clock: Clock, live: OpenConnections = NO_CONNECTIONS, max_agents: int = MAX_AGENTS
    ) -> None:
        self._window_s = window_s
        self._clock = clock
        self._live = live
        self._max_agents = max_agents
        self._sessions: OrderedDict[AgentId, tuple[ClientSession, ...]] = OrderedDict()

    def hear(self, agent_id: AgentId, name: SessionName, event: SessionEvent) -> Micros | None:
        """Note what the session of this name told. Until when it listens by that; None when it has ended."""
        known = self._sessions.get(agent_id, ())
        before = next((one for one in known if one.name == name), None)
        session = after_event(before, name, event, self._clock())
        others = tuple(one for one in known if one.name != name)
        if session is not None:
            self._keep(agent_id, (*_with_room(others, name), session))
            return listening_until(session, self._window_s)
        if others:
            self._sessions[agent_id] = others
        else:
            self._sessions.pop(agent_id, None)
        return None

    def of(self, agent_id: AgentId) -> Presence:
        """The agent as it is just now."""
        sessions = self._sessions.get(agent_id, ())
        return presence_of(sessions, self._live.via_of(agent_id), self._clock(), self._window_s)

    def _keep(self, agent_id: AgentId, sessions: tuple[ClientSession, ...]) -> None:
        self._sessions[agent_id] = sessions
        self._sessions.move_to_end(agent_id)
        if len(self._sessions) > self._max_agents:
            self._sessions.popitem(last=False)


def _with_room(sessions: tuple[ClientSession, ...], name: SessionName) -> tuple[ClientSession, ...]:
    """Less the one of the same kind that was heard longest ago, where there are too many of it."""
    of_kind = [one for one in sessions if one.name.is_proven == name.is_proven]
    return sessions if len(of_kind) < MAX_SESSIONS else tuple(one for one in sessions if one is not of_kind[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardSession:
    """`listening_until` None: the session has ended, or it was the operator who told of it."""

    actor: Actor
    listening_until: Micros | None


def require_heard(view: View, caller: Caller, request: HeartbeatRequest) -> Actor:
    """The agent whose session tells of itself. Whoever is retired, or whose project is archived, gets no mail to
    listen for: its sessions can only end.
    """
    actor = require_actor(view, caller, request.project_key, request.agent_name)
    if request.event is not SessionEvent.END:
        require_listener(actor)
    return actor


def require_listener(actor: Actor) -> None:
    """Raise AgentRetired, or as for every archived project, for an agent that no mail comes for any more."""
    require_able(actor, "no mail comes for it to listen for")


def without_gone(view: View, presences: Mapping[AgentId, Presence]) -> dict[AgentId, Presence]:
    """By the same rule for agents that are known by their ids alone. Only those who seem to listen are looked up."""
    return {
        one: ABSENT if presence != ABSENT and _is_gone(view, one) else presence for one, presence in presences.items()
    }


def _is_gone(view: View, agent_id: AgentId) -> bool:
    agent = view.agents.find(agent_id)
    project = None if agent is None else view.projects.find(agent.project_id)
    return agent is None or project is None or is_gone(agent, project)
