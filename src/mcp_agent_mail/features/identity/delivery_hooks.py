"""What delivery, a slice above, is told by the slices below it, and what it tells them of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.presence import PresenceOf, nobody_listens

NoteHanded = Callable[[Caller, Agent, Iterable[MessageId]], None]
"""Told of whose copies, all of them delivered, the answer of the running call has."""

WithActivity = Callable[[Iterable[Agent]], list[Agent]]


def note_nothing(_: Caller, __: Agent, ___: Iterable[MessageId]) -> None:
    pass


def tell_nobody(_: Agent) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryHooks:
    """`acting` is told whose a call is, as soon as that is known, `handed` what is in its answer; `presence_of` says
    who listens. `with_activity` gives agents back with what they did and nobody has written yet.
    """

    acting: Callable[[Agent], None] = tell_nobody
    handed: NoteHanded = note_nothing
    presence_of: PresenceOf = nobody_listens
    with_activity: WithActivity = list


NO_HOOKS = DeliveryHooks()
