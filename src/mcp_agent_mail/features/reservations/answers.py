"""The first answer to a keyed reservation, kept with the grant it tells of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mcp_agent_mail.core.errors import IdempotencyKeyConflict
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.features.reservations.grant import Holder
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.store.idempotency import RememberedAnswer
from mcp_agent_mail.store.transaction import Tx, View

Wire = dict[str, Any]
"""A JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The first answer to the same call. `live` are those of its grants that still hold, as they are now."""

    holder: Holder
    answer: Wire
    live: tuple[Lease, ...]


def find_answer(view: View, holder: Holder, request: ReserveRequest) -> Replayed | None:
    """Each grant in it says whether it still holds. Raises IdempotencyKeyConflict when the key was used for another
    call.
    """
    key = request.idempotency_key
    if key is None:
        return None
    remembered = view.idempotency_keys.find(holder.agent.id, key, view.now)
    if remembered is None:
        return None
    if remembered.arguments_hash != _hash(request):
        raise IdempotencyKeyConflict(
            f"{holder.agent.name} has used idempotency key {key!r} for another call.",
            hint="Use a new key for a new call; repeat a call only with the very same arguments.",
            data={"idempotency_key": key},
        )
    answer = json.loads(remembered.result)
    live = _still_held(view, holder, answer["granted"])
    held = {lease.id for lease in live}
    granted = [{**grant, "live": grant["id"] in held} for grant in answer["granted"]]
    return Replayed(holder=holder, answer={**answer, "granted": granted, "idempotent_replay": True}, live=live)


def repeat_answer(tx: Tx, holder: Holder, request: ReserveRequest) -> Replayed | None:
    """As `find_answer`, for a caller who is told: whatever holds is promised once more."""
    answer = find_answer(tx, holder, request)
    if answer is not None and answer.live:
        tx.leases.promise([lease.id for lease in answer.live])
    return answer


def _still_held(view: View, holder: Holder, granted: Sequence[Wire]) -> tuple[Lease, ...]:
    """A lease that lapsed and came back, or changed between shared and exclusive, is another grant."""
    if not granted or holder.project.is_archived or holder.agent.is_retired:
        return ()
    numbers = {grant["id"]: grant["fencing"] for grant in granted}
    return tuple(
        lease
        for lease in view.leases.find_many([LeaseId(number) for number in numbers])
        if lease.is_live(view.now) and lease.agent_id == holder.agent.id and lease.fencing == numbers[lease.id]
    )


def forget_answer(tx: Tx, holder: Holder, request: ReserveRequest) -> None:
    """Nothing to do without a key."""
    if request.idempotency_key is not None:
        tx.idempotency_keys.remove(holder.agent.id, request.idempotency_key)


def keep_answer(tx: Tx, holder: Holder, request: ReserveRequest, answer: Callable[[], Wire]) -> None:
    """Nothing to do without a key."""
    if request.idempotency_key is not None:
        text = json.dumps(answer(), ensure_ascii=False)
        kept = RememberedAnswer(arguments_hash=_hash(request), result=text)
        tx.idempotency_keys.add(holder.agent.id, request.idempotency_key, kept, tx.now)


def _hash(request: ReserveRequest) -> bytes:
    text = json.dumps([type(request).__name__, asdict(request)], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()
