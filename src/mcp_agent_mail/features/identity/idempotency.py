"""Keyed calls: the first answer is kept in the very unit of work that it tells of, and given again to a repeat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, fields
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeVar

from mcp_agent_mail.core.errors import IdempotencyKeyConflict
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.store.idempotency import RememberedAnswer
from mcp_agent_mail.store.transaction import Tx, View

T = TypeVar("T")


class KeyedRequest(Protocol):
    """A dataclass with everything that a call was given. Its name and its fields are what a kept key is compared by."""

    __dataclass_fields__: ClassVar[dict[str, Any]]  # as `asdict` wants it: fields of every type

    @property
    def idempotency_key(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The first answer to the same call, as it was given."""

    actor: Actor
    answer: JsonObject


def once(
    tx: Tx,
    actor: Actor,
    request: KeyedRequest,
    call: Callable[[], T],
    shape: Callable[[T], JsonObject],
    *,
    made: str = "call",
) -> T | Replay:
    """Run `call`, unless this agent's call with this key was answered already: then that answer again.

    `shape` is the answer that is kept; `made` is the word for what a call makes. Raises IdempotencyKeyConflict.
    """
    answer = find_answer(tx, actor, request, made=made)
    if answer is not None:
        return Replay(actor=actor, answer=answer)
    done = call()
    keep_answer(tx, actor, request, lambda: shape(done))
    return done


def find_answer(view: View, actor: Actor, request: KeyedRequest, *, made: str = "call") -> JsonObject | None:
    """None without a key and for one that is new. Raises IdempotencyKeyConflict where it was used for another call."""
    key = request.idempotency_key
    if key is None:
        return None
    remembered = view.idempotency_keys.find(actor.agent.id, key, view.now)
    if remembered is None:
        return None
    if remembered.arguments_hash != arguments_hash(request):
        raise IdempotencyKeyConflict(
            f"{actor.agent.name} has used idempotency key {key!r} for another call.",
            hint=f"Use a new key for a new {made}; repeat a call only with the very same arguments.",
            data={"idempotency_key": key},
        )
    return {**json.loads(remembered.result), "idempotent_replay": True}


def keep_answer(tx: Tx, actor: Actor, request: KeyedRequest, answer: Callable[[], JsonObject]) -> None:
    """Store the call's answer under its key, for a repeat. Without a key nothing is done, and `answer` is
    not called.
    """
    if request.idempotency_key is not None:
        text = json.dumps(answer(), ensure_ascii=False)
        kept = RememberedAnswer(arguments_hash=arguments_hash(request), result=text)
        tx.idempotency_keys.add(actor.agent.id, request.idempotency_key, kept, tx.now)


def forget_answer(tx: Tx, actor: Actor, request: KeyedRequest) -> None:
    """Remove the answer kept under the call's key, since what it told of is undone in this unit."""
    if request.idempotency_key is not None:
        tx.idempotency_keys.remove(actor.agent.id, request.idempotency_key)


ADDED_LATER = MappingProxyType({"added_later": True})
"""Of a field that a request got after keys of such requests were kept: left at its default it is not hashed."""


def arguments_hash(request: KeyedRequest) -> bytes:
    """A hash of which call it is and every argument as it was given: equal for equal calls. Keys outlive an upgrade by
    a day, so what is hashed must stay as it is.
    """
    given = asdict(request)
    for one in fields(request):
        if one.metadata == ADDED_LATER and given[one.name] == one.default:
            del given[one.name]
    text = json.dumps([type(request).__name__, given], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()
