"""What a keyed reservation adds to the answer that is kept for it: which of its grants still hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.idempotency import Replayed, Wire, find_answer
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.store.transaction import Tx, View


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedGrants(Replayed):
    """`live` are those of its grants that still hold, as they are now."""

    live: tuple[Lease, ...]


def find_grants(view: View, holder: Actor, request: ReserveRequest) -> ReplayedGrants | None:
    """Each grant in it says whether it still holds. Raises IdempotencyKeyConflict when the key was used for another
    call.
    """
    replayed = find_answer(view, holder, request)
    if replayed is None:
        return None
    live = _still_held(view, holder, replayed.answer["granted"])
    held = {lease.id for lease in live}
    granted = [{**grant, "live": grant["id"] in held} for grant in replayed.answer["granted"]]
    return ReplayedGrants(actor=holder, answer={**replayed.answer, "granted": granted}, live=live)


def repeat_grants(tx: Tx, holder: Actor, request: ReserveRequest) -> ReplayedGrants | None:
    """As `find_grants`, for a caller who is told: whatever holds is promised once more."""
    replayed = find_grants(tx, holder, request)
    if replayed is not None and replayed.live:
        tx.leases.promise([lease.id for lease in replayed.live])
    return replayed


def _still_held(view: View, holder: Actor, granted: Sequence[Wire]) -> tuple[Lease, ...]:
    """A lease that lapsed and came back, or changed between shared and exclusive, is another grant."""
    if not granted or holder.project.is_archived or holder.agent.is_retired:
        return ()
    numbers = {grant["id"]: grant["fencing"] for grant in granted}
    return tuple(
        lease
        for lease in view.leases.find_many([LeaseId(number) for number in numbers])
        if lease.is_live(view.now) and lease.agent_id == holder.agent.id and lease.fencing == numbers[lease.id]
    )
