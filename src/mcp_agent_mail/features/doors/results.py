"""What doors are given."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.doors.names import Door, WireName


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorSent:
    """`id` is the door's. `held`: it is delivered once its recipient approves. `is_repeat`: it was there before."""

    id: str
    message_id: MessageId
    created_ts: Micros
    held: bool
    is_repeat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Popped:
    """The oldest message of a mailbox, as its door shows it. It is the caller's from `popped_ts` on, and read once the
    answer with it was written; once the caller has said so, by the `claim`, where it settles by itself.
    """

    id: str
    sender: str
    body: str
    created_ts: Micros
    message_id: MessageId
    agent_id: AgentId
    door: Door
    popped_ts: Micros
    claim: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """How many messages a mailbox would give, and since when the oldest waits."""

    count: int
    oldest_ts: Micros | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWireName:
    """A name that doors know, with the agent that it is of."""

    wire_name: WireName
    agent: str
    project: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorPlace:
    """A door as the settings have it: `setting` opens it, and it is `at` these places while it is open. `door` is what
    it is called: the profile `claims` is one too, whose callers are agents as all others.
    """

    door: str
    is_open: bool
    setting: str
    at: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """All that waited in a mailbox, oldest first; `name` is the mailbox's as it is kept."""

    name: str
    messages: list[Popped]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameChange:
    """A mailbox has another name, and `transferred` messages that wait in it."""

    former: str
    name: str
    transferred: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailbox:
    """One line of a list. `pending` waits in it; `pending_for_caller` is what waits for who asks, and comes from it.
    `last_seen_ts` is None of one that mail has made and nobody has spoken as.
    """

    name: str
    last_seen_ts: Micros | None
    pending: int
    pending_for_caller: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxList:
    """Those seen last first, then those that nobody has spoken as. `total` counts what is left out too, because it is
    idle or the list is full.
    """

    mailboxes: list[Mailbox]
    total: int
