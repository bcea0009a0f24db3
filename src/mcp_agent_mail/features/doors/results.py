"""What doors are given."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.doors.names import Door, WireName


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorSent:
    """`id` is the door's. `held`: it is delivered once its recipient approves. `is_repeat`: it was there before."""

    id: str
    message_id: MessageId
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
