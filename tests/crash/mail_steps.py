"""Steps of mail: send, broadcast, reply, read, acknowledge; some with an idempotency key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.crash.actor import NAMES, Actor, Step
from tests.crash.attached import carried, chosen
from tests.crash.record import Keyed, Record, Sent
from tests.served import Connection

OF_CLIENTS = "message "
"""Begins each body that clients write; no two are alike."""

SOON_WITHDRAWN = "Not meant"
"""The subject of what its sender takes back: between a look and a reply it may be gone, and the reply be refused."""

REPEATED = 5
"""So many answered calls with a key are repeated after each restart, besides all that went unanswered."""


def send(actor: Actor, connection: Connection) -> None:
    more: dict[str, Any] = {"to": actor.chance.sample(NAMES, actor.chance.randint(1, 3))}
    if actor.chance.random() < 0.2:
        more["bcc"] = [actor.chance.choice(NAMES)]
    _post(
        actor,
        connection,
        "send_message",
        subject="Plan",
        ack_required=actor.chance.random() < 0.5,
        **more,
        **_key(actor),
    )


def broadcast(actor: Actor, connection: Connection) -> None:
    _post(actor, connection, "send_message", subject="To all", broadcast=True, **_key(actor))


def reply(actor: Actor, connection: Connection) -> None:
    inbox = _inbox(actor, connection)
    if answered := [one for one in inbox if not one.get("system") and one["subject"] != SOON_WITHDRAWN]:
        message_id = actor.chance.choice(answered)["id"]
        _post(actor, connection, "reply_message", message_id=message_id, **_key(actor))


def read(actor: Actor, connection: Connection) -> None:
    for item in _inbox(actor, connection, unread_only=True)[:1]:
        result = actor.ask(connection, "mark_message_read", agent_name=actor.me, message_id=item["id"])
        if result is not None and result["read"]:  # Its sender may have withdrawn it meanwhile.
            actor.record.add_read(actor.project, actor.me, item["id"], result["read_at"])


def acknowledge(actor: Actor, connection: Connection) -> None:
    if inbox := _inbox(actor, connection):
        message_id = actor.chance.choice(inbox)["id"]
        result = actor.ask(connection, "acknowledge_message", agent_name=actor.me, message_id=message_id)
        if result is not None and result["acknowledged"]:
            actor.record.add_acknowledged(actor.project, actor.me, message_id, result["acknowledged_at"])


def purge(actor: Actor, connection: Connection) -> None:
    """Nothing here is that old, whatever clock a round begins with, so all must stay: rounds compare every body."""
    actor.ask_as_operator(connection, "purge_old_messages", max_age_days=10_000, dry_run=False)


STEPS = (
    Step(("send_message",), 30, send),
    Step(("send_message",), 1, broadcast),
    Step(("reply_message",), 10, reply),
    Step(("mark_message_read",), 10, read),
    Step(("acknowledge_message",), 10, acknowledge),
    Step(("purge_old_messages",), 1, purge),
)


def repeat_keyed(connection: Connection, record: Record) -> None:
    """After a restart: a call that nobody answered happens once by being repeated, an answered one not again."""
    answered = [key for key, call in record.keyed.items() if call.message_id is not None]
    unanswered = [key for key, call in record.keyed.items() if call.message_id is None]
    for key in (*answered[-REPEATED:], *unanswered):
        call = record.keyed[key]
        found = _payload(connection.call(call.tool, idempotency_key=key, **call.arguments))
        if found is None:
            continue
        if call.message_id is None:
            call.message_id = found["id"]
            record.add_sent(_sent(call.arguments, found))
        elif found["id"] != call.message_id:
            record.add_unexpected(f"{call.tool} repeated with key {key} is {found['id']}, not {call.message_id}")


def _inbox(actor: Actor, connection: Connection, **more: Any) -> Sequence[dict[str, Any]]:
    return actor.ask(connection, "fetch_inbox", agent_name=actor.me, limit=20, **more) or []


def _key(actor: Actor) -> dict[str, str]:
    return {"idempotency_key": f"key-{actor.unique()}"} if actor.chance.random() < 0.3 else {}


def _post(actor: Actor, connection: Connection, tool: str, **arguments: Any) -> None:
    body = f"{OF_CLIENTS}{actor.unique()} " + "word " * actor.chance.randint(0, 200)
    key = arguments.pop("idempotency_key", None)
    arguments |= {"project_key": actor.project, "sender_name": actor.me, "body_md": body}
    arguments |= chosen(actor, connection)
    call = Keyed(tool, arguments)
    if key is not None:
        actor.record.begin_keyed(key, call)
        arguments = {**arguments, "idempotency_key": key}
    result = actor.ask(connection, tool, **arguments)
    if result is not None and (payload := _payload(result)) is not None:
        actor.record.add_sent(_sent(call.arguments, payload))
        call.message_id = payload["id"]


def _payload(result: dict[str, Any]) -> dict[str, Any] | None:
    """None of a broadcast that found nobody: after months without a sign of life no agent counts as active."""
    if "deliveries" not in result:
        return result
    return result["deliveries"][0]["payload"] if result["deliveries"] else None


def _sent(arguments: dict[str, Any], payload: dict[str, Any]) -> Sent:
    names = tuple(dict.fromkeys([*payload["to"], *payload["cc"], *payload["bcc"]]))
    project, sender, body = (arguments[name] for name in ("project_key", "sender_name", "body_md"))
    return Sent(payload["id"], project, sender, names, payload["subject"], body, carried(payload))
