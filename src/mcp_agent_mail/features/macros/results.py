"""What macros answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mcp_agent_mail.core.ids import AgentId, LeaseId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.presence import Presence
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.contacts.results import ContactAnswered, ContactRequested
from mcp_agent_mail.features.identity.idempotency import Replay
from mcp_agent_mail.features.identity.register import Registered
from mcp_agent_mail.features.messaging.read import InboxListing
from mcp_agent_mail.features.messaging.send import Sent
from mcp_agent_mail.features.reservations.grant import GrantResult
from mcp_agent_mail.features.reservations.release import ReleasedLeases
from mcp_agent_mail.features.summaries.results import SummarizedThread


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """What was granted and what was not, and which of the leases in the way look abandoned. Nothing when not asked."""

    decided: GrantResult | None
    stale: Collection[LeaseId]


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """`held` are the agent's live reservations of files, newest first, those of this call among them. `inbox` has the
    counts of all its mail, also when none was asked for. `presences`: whether each peer listens. `doubt` is whether the
    project that was made now was meant.
    """

    project: Project
    registered: Registered
    reserved: Reserved
    held: list[Lease]
    inbox: InboxListing
    peers: list[Agent]
    presences: Mapping[AgentId, Presence]
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRegistered:
    """A new agent, and its project. `doubt` is whether the project that was made now was meant."""

    project: Project
    registered: Registered
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    project: Project
    registered: Registered
    thread: SummarizedThread
    inbox: InboxListing


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycled:
    """`released` is None when nothing was to be given back."""

    reserved: Reserved
    released: ReleasedLeases | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handshake:
    """`response` is None while the target has to answer itself; `welcome` when there was none to send."""

    asked: ContactRequested
    response: ContactAnswered | None
    welcome: Sent | Replay | None
