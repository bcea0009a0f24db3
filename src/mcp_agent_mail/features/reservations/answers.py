"""The first answer to a keyed reservation, given again with what still holds of it."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.features.identity import idempotency
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.store.transaction import Tx, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The first answer to the same call. `live` are those of its grants that still hold, as they are now."""

    holder: Actor
    answer: JsonObject
    live: tuple[Lease, ...]


def find_answer(view: View, holder: Actor, request: ReserveRequest) -> Replayed | None:
    """The answer kept for the request's key, with those of its grants that still hold; None without one. Raises
    IdempotencyKeyConflict when the key was used for another call.
    """
    answer = idempotency.find_answer(view, holder, request)
    if answer is None:
        return None
    live = _still_held(view, holder, answer["granted"])
    held = {lease.id for lease in live}
    granted = [{**grant, "live": grant["id"] in held} for grant in answer["granted"]]
    return Replayed(holder=holder, answer={**answer, "granted": granted}, live=live)


def repeat_answer(tx: Tx, holder: Actor, request: ReserveRequest) -> Replayed | None:
    """As `find_answer`, for a caller who is told: whatever holds is promised once more."""
    answer = find_answer(tx, holder, request)
    if answer is not None and answer.live:
        tx.leases.promise([lease.id for lease in answer.live])
    return answer


def _still_held(view: View, holder: Actor, granted: Sequence[JsonObject]) -> tuple[Lease, ...]:
    """A lease that lapsed and came back, or changed between shared and exclusive, is another grant."""
    if not granted or holder.project.is_archived or holder.agent.is_retired:
        return ()
    numbers = {grant["id"]: grant["fencing"] for grant in granted}
    return tuple(
        lease
        for lease in view.leases.find_many([LeaseId(number) for number in numbers])
        if lease.is_live(view.now) and lease.agent_id == holder.agent.id and lease.fencing == numbers[lease.id]
    )
