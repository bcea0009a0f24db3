"""What a reservation of a moment leaves: nothing that was not there before."""

from __future__ import annotations

from collections.abc import Collection

from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.leases import EndedBy, LeaseKind
from mcp_agent_mail.features.reservations.deciding import Decided, Holder
from mcp_agent_mail.features.reservations.releasing import Released
from mcp_agent_mail.features.reservations.reserving import Claim
from mcp_agent_mail.store.ending import end_leases
from mcp_agent_mail.store.view import Tx


def held_before(tx: Tx, holder: Holder, claim: Claim) -> set[LeaseId]:
    """The holder's own leases of these very paths: the claim prolongs them and does not make them its own."""
    names = [wanted.pattern.text for wanted in claim.wanted]
    return {lease.id for lease in tx.leases.own(holder.agent.id, LeaseKind.FILE, names, tx.now()).values()}


def give_back(tx: Tx, decided: Decided, before: Collection[LeaseId]) -> Released:
    """What the decision granted newly."""
    fresh = [lease for lease in decided.granted if lease.id not in before]
    ended = end_leases(tx, fresh, EndedBy.RELEASE, decided.now, acting=decided.holder.agent)
    return Released(holder=decided.holder, leases=ended, refused=[], at=decided.now if ended else None)
