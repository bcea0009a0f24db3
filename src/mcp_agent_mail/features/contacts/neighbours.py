"""Who works on the same files: overlapping live reservations, as far as a unit of work can tell in a moment."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, Work
from mcp_agent_mail.domain.patterns.pattern import Pattern, overlap, stored_pattern
from mcp_agent_mail.store.transaction import View

MAX_OWN = 20
MAX_OTHERS = 100
"""Leases that are compared, of the sender and of all the others together: the oldest. Beyond, none is found."""
MAX_STEPS = 20_000
"""Of comparing patterns. Patterns that need more are not found to overlap."""


def overlapping_holders(view: View, agent_id: AgentId, others: Sequence[AgentId], now: Micros) -> set[AgentId]:
    """Those of `others` who hold a live file reservation that overlaps one of the agent's, shared or exclusive."""
    mine = _patterns(_live(view, agent_id, now, MAX_OWN))
    found: set[AgentId] = set()
    if not mine:
        return found
    work, room = Work(MAX_STEPS), MAX_OTHERS
    try:
        for other in others:
            theirs = _live(view, other, now, room)
            room -= len(theirs)
            if any(overlap(a, b, work) for at, b in _patterns(theirs) for here, a in mine if at == here):
                found.add(other)
            if not room:
                break
    except PatternsTooHard:
        return found
    return found


def _live(view: View, agent_id: AgentId, now: Micros, limit: int) -> list[Lease]:
    leases = view.leases.of_agent(agent_id, limit=limit)
    return [lease for lease in leases if lease.kind is LeaseKind.FILE and lease.is_live(now)]


def _patterns(leases: Sequence[Lease]) -> list[tuple[int, Pattern]]:
    """With the project they lie in: paths of two projects have nothing to do with each other."""
    return [
        (
            lease.project_id,
            stored_pattern(lease.path_pattern, is_folder=lease.is_folder, ignore_case=lease.ignore_case),
        )
        for lease in leases
    ]
