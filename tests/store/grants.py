"""Leases granted at the store itself, without any of the checks of a reservation."""

from __future__ import annotations

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.leases import Lease, LeaseKind, NewLease
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import parse_pattern
from tests.seeded_store import SeededStore

TTL_S = 600


def new_lease(
    seeded: SeededStore,
    agent: Agent,
    text: str = "src/**",
    *,
    kind: LeaseKind = LeaseKind.FILE,
    exclusive: bool = True,
    ttl_s: int = TTL_S,
) -> NewLease:
    return NewLease(
        project_id=agent.project_id,
        agent_id=agent.id,
        agent=agent.name,
        kind=kind,
        path_pattern=text,
        keys=keys_of(parse_pattern(text)),
        exclusive=exclusive,
        reason="why",
        expires_ts=Micros(seeded.clock.now + ttl_s * SECOND),
    )


async def grant(
    seeded: SeededStore,
    agent: Agent,
    *texts: str,
    kind: LeaseKind = LeaseKind.FILE,
    exclusive: bool = True,
    ttl_s: int = TTL_S,
) -> list[Lease]:
    new = [new_lease(seeded, agent, text, kind=kind, exclusive=exclusive, ttl_s=ttl_s) for text in texts]
    return await seeded.store.write(lambda tx: tx.leases.add_many(new, tx.now))


def texts_of(leases: list[Lease]) -> list[str]:
    return [lease.path_pattern for lease in leases]
