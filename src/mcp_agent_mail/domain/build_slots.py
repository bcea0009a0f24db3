"""Build slots: a name, such as `frontend-build`, that one agent holds for a while, or several together.

The same primitive as file reservations. A slot's name stands for nothing but itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.reservations import conflicts_with

MAX_SLOT_LENGTH = 128


class UnfitSlot(InvalidInput):
    """The text is no name of a slot."""


def slot_name(text: str) -> str:
    """The name without outer blanks; letter case matters. Raises UnfitSlot."""
    name = text.strip()
    if not name:
        raise _unfit("is blank", "Name the slot, like frontend-build.")
    if len(name) > MAX_SLOT_LENGTH:
        raise _unfit(f"has {len(name)} characters; at most {MAX_SLOT_LENGTH} are accepted", "Choose a shorter name.")
    if not name.isprintable():
        raise _unfit("holds control characters", "Write it on one line.")
    return name


def _unfit(fact: str, hint: str) -> UnfitSlot:
    return UnfitSlot(f"slot {fact}.", hint=hint, data={"parameter": "slot", "max_length": MAX_SLOT_LENGTH})


def in_the_way(held: Sequence[Lease], agent_id: AgentId, *, exclusive: bool, now: Micros) -> list[Lease]:
    """Of the leases on one slot, others' live ones that keep the agent from having it."""
    return [lease for lease in held if lease.is_live(now) and conflicts_with(lease, agent_id, exclusive=exclusive)]
