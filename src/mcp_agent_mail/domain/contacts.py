"""Contacts: one-way links between agents, and the one decision whether mail may reach its recipient.

The decision is pure. It is taken in the unit of work that stores the mail, so that it is true of
the moment in which the mail exists. docs/concepts/contacts.md tells the same for users.
"""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import (
    ContactBlocked,
    ContactRequired,
    InvalidInput,
    QuotaExceeded,
    RecipientRetired,
)
from mcp_agent_mail.core.ids import AgentId, ContactId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import ContactPolicy

MIN_TTL_S = 60
MAX_TTL_S = 31_536_000
REQUEST_TTL_S = 604_800
"""How long a request stands that a held message made."""

MAX_HELD_OF_PAIR = 25
"""Messages of one sender that wait for one recipient ..."""
MAX_HELD_BYTES_OF_PAIR = 2 * 1024 * 1024
"""... and their bodies; one fits whatever its size. Approval delivers them all in one short unit of work ..."""
MAX_HELD_COPIES_OF_PAIR = 2_000
"""... that writes every recipient of each of them into the archive's events: so many, and one message more."""
MAX_HELD_OF_TARGET = 1_000
"""Messages that wait for one recipient, whoever sent them."""
MAX_HELD_OF_MESSAGE = 50
"""Recipients of one message whose copies are held: each costs a request, all in one unit of work."""
MAX_REQUESTS_OF_TARGET = 500
"""Requests that stand before one agent and wait for its answer."""
MAX_LINKS_OF_SOURCE = 10_000
"""Links one agent has asked for, whatever became of them."""


HELD_REASON = "It has sent you mail that waits for your approval."
"""Of a request that a held message made: said to the agent that is asked."""

INTRO = "Contact request from "
_ANSWERED_BY = "respond_contact("
"""In the text of every introduction: the call that answers it."""


def intro_subject(sender: str) -> str:
    return f"{INTRO}{sender}"


def is_intro(subject: str, body_md: str) -> bool:
    """Whether a message is an introduction, which is the server's text under its sender's name."""
    return subject.startswith(INTRO) and _ANSWERED_BY in body_md


class AutoScope(StrEnum):
    """Whom the policy `auto` lets in: all of the same project, or those who share a context with the recipient."""

    PROJECT = "project"
    CONTEXT = "context"


class LinkStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    BLOCKED = "blocked"


class Relation(StrEnum):
    """What the link from sender to recipient is at this instant."""

    NONE = "none"
    PENDING = "pending"
    APPROVED = "approved"
    EXPIRED = "expired"
    BLOCKED = "blocked"


class SharedThread(StrEnum):
    """Who of the two has taken part in the message's thread, openly, before this message."""

    BOTH = "both"
    ONE = "one"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """One end of a link."""

    agent_id: AgentId
    name: str
    project_id: ProjectId
    project_slug: str
    project_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """A stored link: may `source` write to `target`? `expires_ts` is None for a denial that stands.

    A denial that the target has lifted by writing to the source has expired in that moment.
    """

    id: ContactId
    source: Party
    target: Party
    status: LinkStatus
    reason: str
    created_ts: Micros
    updated_ts: Micros
    expires_ts: Micros | None

    def relation(self, now: Micros) -> Relation:
        return relation(self.status, self.expires_ts, now)


def relation(status: LinkStatus, expires_ts: Micros | None, now: Micros) -> Relation:
    """What a link is at `now`; it ends at the very instant of its expiry."""
    if expires_ts is not None and expires_ts <= now:
        return Relation.EXPIRED
    return Relation(status.value)


_DAY = Micros(86_400 * SECOND)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactRules:
    """The server's settings: CONTACT_* and MESSAGING_AUTO_HANDSHAKE_ON_BLOCK."""

    enforced: bool = True
    scope: AutoScope = AutoScope.PROJECT
    recent: Micros = _DAY
    hold: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactFacts:
    """All that the decision looks at, of one sender and one recipient.

    The last four are the costly ones. They can only open what is closed without them, so they are
    gathered when the others alone say CONTACT_REQUIRED (a test holds `decide` to that).
    """

    policy: ContactPolicy
    relation: Relation = Relation.NONE
    is_retired: bool = False
    is_self: bool = False
    is_overseer: bool = False
    same_project: bool = True
    enforced: bool = True
    scope: AutoScope = AutoScope.PROJECT
    answers: bool = False
    thread: SharedThread = SharedThread.NONE
    overlapping_reservations: bool = False
    wrote_to_each_other: bool = False


class Verdict(StrEnum):
    """What becomes of the mail; all but the first are wire error codes."""

    DELIVER = "DELIVER"
    RECIPIENT_RETIRED = "RECIPIENT_RETIRED"
    CONTACT_BLOCKED = "CONTACT_BLOCKED"
    CONTACT_REQUIRED = "CONTACT_REQUIRED"


def decide(facts: ContactFacts) -> Verdict:
    """The contact rules, first match wins. Only CONTACT_REQUIRED can be held for the recipient to decide."""
    if facts.is_retired:
        return Verdict.RECIPIENT_RETIRED
    if facts.policy is ContactPolicy.BLOCK_ALL:
        return Verdict.CONTACT_BLOCKED
    if not facts.enforced:
        return Verdict.DELIVER
    if facts.relation is Relation.BLOCKED:
        return Verdict.CONTACT_BLOCKED
    return Verdict.DELIVER if _is_welcome(facts) else Verdict.CONTACT_REQUIRED


def _is_welcome(facts: ContactFacts) -> bool:
    if facts.is_self or facts.is_overseer or facts.answers:
        return True
    if facts.policy is ContactPolicy.OPEN or facts.relation is Relation.APPROVED:
        return True
    return facts.policy is ContactPolicy.AUTO and _is_let_in_by_auto(facts)


def _is_let_in_by_auto(facts: ContactFacts) -> bool:
    if facts.scope is AutoScope.PROJECT:
        return facts.same_project
    return facts.thread is SharedThread.BOTH or facts.overlapping_reservations or facts.wrote_to_each_other


def reason_of(verdict: Verdict, facts: ContactFacts, name: str) -> str:
    """Why mail to `name` is held or refused, as the end of a line about it."""
    if verdict is Verdict.RECIPIENT_RETIRED:
        return f"{name} is retired"
    if verdict is Verdict.CONTACT_BLOCKED:
        return f"{name} {'takes no mail' if facts.policy is ContactPolicy.BLOCK_ALL else 'has declined your contact'}"
    asked = ", and has not answered your contact request yet" if facts.relation is Relation.PENDING else ""
    if facts.policy is ContactPolicy.CONTACTS_ONLY:
        return f"{name} takes mail from its contacts only{asked}"
    whom = "agents of its own project" if facts.scope is AutoScope.PROJECT else "agents it works with"
    return f"{name} takes mail from its contacts and {whom} only{asked}"


class SenderNotWelcome(ContactRequired):
    """The recipient has to approve the sender first."""


class SenderDeclined(ContactBlocked):
    """The recipient takes no mail at all, or none from this sender."""


class TargetRetired(RecipientRetired):
    """A retired agent gets no mail and answers no request."""


class TooMuchHeld(QuotaExceeded):
    """The queue of mail that waits for the recipient's approval is full."""


class TooManyRequests(QuotaExceeded):
    """Too many contact requests wait for an answer."""


class ContactWithSelf(InvalidInput):
    """An agent needs no link to itself."""


class AddressesDiffer(InvalidInput):
    """The address names another project than the parameter beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldMail:
    """One copy that waits for its recipient's approval, or was returned: what both sides may know. Never the body."""

    message_id: int
    subject: str
    created_ts: Micros
    sender: str
    sender_project_id: ProjectId
    sender_project_slug: str
    recipient: str
    recipient_project_id: ProjectId
    recipient_project_slug: str
    code: str
    refused_ts: Micros | None
