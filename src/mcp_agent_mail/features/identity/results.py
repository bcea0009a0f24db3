"""What the identity use cases answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.names import WireName
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.domain.presence import ABSENT, Presence
from mcp_agent_mail.domain.projects import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChange:
    """What an act on an agent left, and whether the caller was proven to be it. `released` leases ended with it."""

    project: Project
    agent: Agent
    is_verified: bool
    presence: Presence = ABSENT
    released: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAgent:
    """`aliases` are the names that doors know it by."""

    agent: Agent
    recent_commits: list[ArchiveCommit]
    presence: Presence
    aliases: Sequence[WireName] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentList:
    """Last active first; `total` counts what a limit left out too. `unread`: what the caller may know of each agent's
    unread mail, None where that is nothing. `presences`: whether each listens. `aliases`: of those that doors know.
    """

    project: Project
    agents: list[Agent]
    total: int
    unread: Mapping[AgentId, int | None]
    presences: Mapping[AgentId, Presence]
    aliases: Mapping[AgentId, Sequence[WireName]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityProof:
    """The agent that a token proves, by name, and the human key of its project."""

    project: str
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedAgent:
    """An agent of another project of the same product."""

    project: Project
    agent: Agent
