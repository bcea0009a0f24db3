"""What the contact use cases answer."""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import Contact, HeldMail
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.contacts.links import LinkAnswer
from mcp_agent_mail.features.identity.actor import Actor


class Direction(StrEnum):
    """`inbound` waits for the agent itself, `outbound` is what it sent and others have not approved."""

    INBOUND = "inbound"
    OUTBOUND = "outbound"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactRequested:
    """The link after a request, and both its ends. `source` acted, proven or not.

    `has_registered`: the target was not there, and is now.
    """

    source: Actor
    target: Actor
    contact: Contact
    now: Micros
    has_registered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactAnswered:
    """The link after an answer, and both its ends. `target` acted, proven or not."""

    source: Actor
    target: Actor
    answered: LinkAnswer
    now: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedContact:
    """One link as one side sees it. `messageable`: would plain mail along it be delivered now?"""

    direction: Direction
    contact: Contact
    messageable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactList:
    """Outbound first, each oldest first."""

    project: Project
    links: list[ListedContact]
    now: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySet:
    agent: Agent
    is_verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldList:
    """Never the bodies: the recipient has not agreed to see them, the sender has them in its outbox."""

    project: Project
    agent: Agent
    direction: Direction
    mail: list[HeldMail]
