"""What a reservation of a moment leaves: nothing that was not there before."""

from __future__ import annotations

from mcp_agent_mail.domain.leases import EndedBy
from mcp_agent_mail.features.reservations.grant import Decided
from mcp_agent_mail.features.reservations.release import Released
from mcp_agent_mail.store.lease_events import end_leases
from mcp_agent_mail.store.transaction import Tx


def give_back(tx: Tx, decided: Decided) -> Released:
    """What the decision granted newly: what it only prolonged was held before."""
    fresh = [lease for lease in decided.granted if lease.id not in decided.before]
    ended = end_leases(tx, fresh, EndedBy.RELEASE, decided.now, acting=decided.holder.agent)
    return Released(holder=decided.holder, leases=ended, refused=[], at=decided.now if ended else None)
