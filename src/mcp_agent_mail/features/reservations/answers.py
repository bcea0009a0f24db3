"""The first answer to a keyed reservation, kept with the grant it tells of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import IdempotencyKeyConflict
from mcp_agent_mail.features.reservations.deciding import Holder
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.store.idempotency import RememberedAnswer
from mcp_agent_mail.store.view import Tx, View

Wire = dict[str, Any]
"""A JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The first answer to the same call, as it was given."""

    holder: Holder
    answer: Wire


def find_answer(view: View, holder: Holder, request: ReserveRequest, now: Micros) -> Replayed | None:
    """Raises IdempotencyKeyConflict when the key was used for another call."""
    key = request.idempotency_key
    if key is None:
        return None
    remembered = view.idempotency_keys.find(holder.agent.id, key, now)
    if remembered is None:
        return None
    if remembered.arguments_hash != _hash(request):
        raise IdempotencyKeyConflict(
            f"{holder.agent.name} has used idempotency key {key!r} for another call.",
            hint="Use a new key for a new call; repeat a call only with the very same arguments.",
            data={"idempotency_key": key},
        )
    return Replayed(holder=holder, answer={**json.loads(remembered.result), "idempotent_replay": True})


def keep_answer(tx: Tx, holder: Holder, request: ReserveRequest, answer: Callable[[], Wire]) -> None:
    """Nothing to do without a key."""
    if request.idempotency_key is not None:
        text = json.dumps(answer(), ensure_ascii=False)
        kept = RememberedAnswer(arguments_hash=_hash(request), result=text)
        tx.idempotency_keys.add(holder.agent.id, request.idempotency_key, kept, tx.now())


def _hash(request: ReserveRequest) -> bytes:
    text = json.dumps([type(request).__name__, asdict(request)], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()
