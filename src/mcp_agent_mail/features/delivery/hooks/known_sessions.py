"""What memory knows of clients' sessions: when each was told last, and when calls of it were refused."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import field

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.hooks.announcements import MAX_STOPS, STOPS_WITHIN_S

MAX_OF_AGENT = 200
MAX_KNOWN = 10_000
"""Of all agents. Beyond, whoever has most loses its oldest: many sessions of one push out nobody else's."""


@dataclass(slots=True, kw_only=True)
class KnownSession:
    """`told_s` and `refused_s` are by `time.monotonic`, of `refused_s` the last MAX_STOPS."""

    told_s: float = -math.inf
    refused_s: Sequence[float] = ()

    def takes_stops(self, now_s: float) -> bool:
        """Whether another call may be refused for mail of agents."""
        return sum(now_s - one < STOPS_WITHIN_S for one in self.refused_s) < MAX_STOPS

    def note_stop(self, now_s: float) -> None:
        self.refused_s = (*self.refused_s, now_s)[-MAX_STOPS:]


@dataclass(slots=True, kw_only=True)
class KnownSessions:
    """Those that were heard last, of each agent and in all."""

    by_agent: OrderedDict[AgentId, OrderedDict[str, KnownSession]] = field(default_factory=OrderedDict)
    count: int = 0

    def of(self, agent_id: AgentId, session: str) -> KnownSession:
        """What is known of it, from now on too; where there are too many, another one is forgotten for it."""
        own = self.by_agent.setdefault(agent_id, OrderedDict())
        self.by_agent.move_to_end(agent_id)
        self.count += session not in own
        known = own.setdefault(session, KnownSession())
        own.move_to_end(session)
        if len(own) > MAX_OF_AGENT:
            self.forget(agent_id, next(iter(own)))
        elif self.count > MAX_KNOWN:
            most = max(self.by_agent, key=lambda one: len(self.by_agent[one]))
            self.forget(most, next(iter(self.by_agent[most])))
        return known

    def forget(self, agent_id: AgentId, session: str) -> None:
        """It has ended, or has to make room; one that is not known is none."""
        own = self.by_agent.get(agent_id)
        if own is not None and own.pop(session, None) is not None:
            self.count -= 1
            if not own:
                del self.by_agent[agent_id]
