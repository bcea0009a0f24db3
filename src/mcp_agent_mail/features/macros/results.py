"""What macros answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.contacts.results import ContactAnswered, ContactRequested
from mcp_agent_mail.features.identity.register import Registered
from mcp_agent_mail.features.messaging.read import InboxListing
from mcp_agent_mail.features.messaging.send import ReplayedSend, Sent
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
    """`inbox` is None when no mail was asked for."""

    project: Project
    registered: Registered
    reserved: Reserved
    inbox: InboxListing | None
    peers: list[Agent]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    project: Project
    registered: Registered
    thread: SummarizedThread
    inbox: InboxListing | None


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
    welcome: Sent | ReplayedSend | None
