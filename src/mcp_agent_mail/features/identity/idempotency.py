"""The first answer to a keyed call, kept with what it tells of: the same agent's same call gets it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from mcp_agent_mail.core.errors import IdempotencyKeyConflict
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.store.idempotency import RememberedAnswer
from mcp_agent_mail.store.transaction import Tx, View

if TYPE_CHECKING:
    from dataclasses import Field

T = TypeVar("T")

Wire = dict[str, Any]
"""A JSON object."""


class KeyedRequest(Protocol):
    """A dataclass of every argument of a call, as it was given; without a key nothing is remembered."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def idempotency_key(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The first answer to the same call, as it was given."""

    actor: Actor
    answer: Wire


def find_answer(view: View, actor: Actor, request: KeyedRequest) -> Replayed | None:
    """Raises IdempotencyKeyConflict when the agent has used the key for another call."""
    key = request.idempotency_key
    remembered = None if key is None else view.idempotency_keys.find(actor.agent.id, key, view.now)
    if remembered is None:
        return None
    if remembered.arguments_hash != _arguments_hash(request):
        raise IdempotencyKeyConflict(
            f"{actor.agent.name} has used idempotency key {key!r} for another call.",
            hint="Use a new key for a new call; repeat a call only with the very same arguments.",
            data={"idempotency_key": key},
        )
    return Replayed(actor=actor, answer={**json.loads(remembered.result), "idempotent_replay": True})


def keep_answer(tx: Tx, actor: Actor, request: KeyedRequest, answer: Callable[[], Wire]) -> None:
    """In the unit of work that the answer tells of. Nothing to do without a key."""
    if request.idempotency_key is not None:
        text = json.dumps(answer(), ensure_ascii=False)
        kept = RememberedAnswer(arguments_hash=_arguments_hash(request), result=text)
        tx.idempotency_keys.add(actor.agent.id, request.idempotency_key, kept, tx.now)


def forget_answer(tx: Tx, actor: Actor, request: KeyedRequest) -> None:
    """What it told of was undone, so the key may be used anew. Nothing to do without a key."""
    if request.idempotency_key is not None:
        tx.idempotency_keys.remove(actor.agent.id, request.idempotency_key)


def once(
    tx: Tx, actor: Actor, request: KeyedRequest, call: Callable[[], T], shape: Callable[[T], Wire]
) -> T | Replayed:
    """Run `call`, unless it was answered already: then that answer again. `shape` makes what is remembered."""
    known = find_answer(tx, actor, request)
    if known is not None:
        return known
    done = call()
    keep_answer(tx, actor, request, lambda: shape(done))
    return done


def _arguments_hash(request: KeyedRequest) -> bytes:
    """Equal for equal calls: which kind of request, and every argument. Keys of earlier versions hold the same."""
    text = json.dumps([type(request).__name__, asdict(request)], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()
