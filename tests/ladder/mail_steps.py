"""What senders do: mail of every kind, sent again when its answer is lost, replaced and taken back."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import Micros, iso
from tests.ladder.doors import Door
from tests.ladder.history import BLUE, FOX, GREEN, RED, History
from tests.ladder.truth import ACKED, ANSWERED, DELIVERED, READ, REFUSED, WITHDRAWN, Copy

_TRIES = 20
_VALID_S = (5, 60, 600)


async def send(history: History) -> None:
    chance = history.chance
    sender = chance.choices((BLUE, RED, FOX), (8, 2, 1))[0]
    others = [name for name in (BLUE, RED, GREEN, FOX) if name != sender and (name != BLUE or chance.random() < 0.3)]
    chance.shuffle(others)
    kinds = {name: chance.choices(("to", "cc", "bcc"), (4, 1, 1))[0] for name in others[: chance.randint(1, 3)]}
    kinds[others[0]] = "to"
    arguments: dict[str, Any] = {
        kind: [_address(history, sender, name) for name, given in kinds.items() if given == kind] or None
        for kind in ("to", "cc", "bcc")
    }
    arguments |= {
        "importance": chance.choice(("normal", "urgent")),
        "ack_required": chance.random() < 0.3,
        "thread_id": chance.choice((None, "T-1")),
        "topic": chance.choice((None, "plans")),
    }
    if chance.random() < 0.2:
        arguments["valid_until"] = _in_seconds(history, chance.choice(_VALID_S))
    own = [number for number, by in history.truth.senders.items() if by == sender]
    if own and chance.random() < 0.15:
        arguments["supersedes"] = chance.choice(own)
    await post(history, history.door_of(sender), **arguments)


def _address(history: History, sender: str, name: str) -> str:
    person = history.people[name]
    return name if person.project == history.people[sender].project else f"{name}@{person.project}"


def _in_seconds(history: History, seconds: int) -> int:
    return history.server.now + seconds * 1_000_000


async def post(history: History, door: Door, tool: str = "send_message", **arguments: Any) -> int | None:
    """Until it is answered, with one key; its number, or None if it is refused."""
    valid_until, supersedes = arguments.get("valid_until"), arguments.get("supersedes")
    given = {
        **arguments,
        "sender_name": door.person.name,
        "body_md": "b" * history.chance.choice((1, 1, 1, 300)),
        "idempotency_key": history.key(),
        "valid_until": None if valid_until is None else iso(Micros(valid_until)),
    }
    if tool == "send_message":
        given["subject"] = "s"
    result = None
    for number in range(_TRIES):
        refused = history.tally.done["refused"]
        result = await history.call(door, tool, cuts=number < 2, **given)
        if result is not None or history.tally.done["refused"] > refused:
            break
        history.tally.done["sent again"] += 1
    if result is None or not result["deliveries"]:
        return None
    number = int(result["deliveries"][0]["payload"]["id"])
    note(history, number, door.person.name, result["deliveries"], valid_until)
    if supersedes is not None:
        history.superseded[number] = supersedes
        replaced(history, number)
    if history.chance.random() < 0.1:
        again = await history.call(door, tool, **given)
        history.tally.done["duplicates"] += 1
        if again is not None and again["deliveries"][0]["payload"]["id"] != number:
            history.faults.append(f"message {number} was sent twice by one key")
    return number


def note(history: History, number: int, sender: str, deliveries: Any, valid_until: int | None) -> None:
    copies = []
    for delivery in deliveries:
        for one in delivery["payload"]["recipients"]:
            if (person := history.person_of(one["name"])) is not None:
                copy = Copy(number, person.name, one["kind"], valid_until=valid_until)
                if one["status"] == DELIVERED:
                    copy.may.add(DELIVERED)
                copies.append(copy)
    history.truth.sent(number, sender, copies)


def replaced(history: History, number: int) -> None:
    """What the message replaces is withdrawn where the message has been delivered."""
    old = history.superseded.get(number)
    for (message_id, agent), copy in list(history.truth.copies.items()):
        if message_id == number and copy.was_delivered and old is not None:
            history.truth.may_have(old, agent, WITHDRAWN)


async def withdraw(history: History) -> None:
    if not history.truth.senders:
        return
    number = history.chance.choice(list(history.truth.senders))
    door = history.door_of(history.truth.senders[number])
    for copy in history.truth.copies.values():
        if copy.message_id == number:
            copy.may.add(WITHDRAWN)
    await history.call(door, "withdraw_message", cuts=True, sender_name=door.person.name, message_id=number)
    history.tally.done["withdrawals"] += 1


async def judge_sender(history: History) -> None:
    """Whoever has mail held for it lets its sender in, or does not."""
    held = [copy for copy in history.truth.copies.values() if not copy.was_delivered]
    if not held:
        return
    copy = history.chance.choice(held)
    sender = history.people[history.truth.senders[copy.message_id]]
    accept = history.chance.random() < 0.7
    for one in history.truth.of(copy.agent):
        if history.truth.senders[one.message_id] == sender.name and not one.was_delivered:
            one.may.add(DELIVERED if accept else REFUSED)
            replaced(history, one.message_id)
    door = history.door_of(copy.agent)
    await history.call(
        door,
        "respond_contact",
        to_agent=copy.agent,
        from_agent=sender.name,
        from_project=sender.project,
        accept=accept,
    )
    history.tally.done["senders judged"] += 1


async def reply(history: History) -> None:
    """By a recipient, in either of the two ways."""
    copy = any_copy(history)
    if copy is None or copy.agent == history.truth.senders[copy.message_id]:
        return
    door, acknowledges = history.door_of(copy.agent), history.chance.random() < 0.3
    sender = history.truth.senders[copy.message_id]
    if history.chance.random() < 0.6:
        history.truth.may_have(copy.message_id, copy.agent, READ, ANSWERED, *([ACKED] if acknowledges else []))
        given = {"message_id": copy.message_id, "acknowledge": acknowledges}
        number = await post(history, door, "reply_message", **given)
        steps = (READ, ANSWERED, ACKED) if acknowledges else (READ, ANSWERED)
    else:
        history.truth.may_have(copy.message_id, copy.agent, READ, ANSWERED)
        to = [_address(history, copy.agent, sender)]
        number = await post(history, door, to=to, reply_to=copy.message_id)
        steps = (READ, ANSWERED)
    # Whose own copy was withdrawn may answer what the project still has, which is no step of that copy.
    if number is not None and copy.was_delivered and WITHDRAWN not in copy.may:
        history.truth.must_have(copy.message_id, copy.agent, *steps)
    history.tally.done["replies"] += number is not None


def any_copy(history: History) -> Copy | None:
    copies = [copy for copy in history.truth.copies.values() if copy.was_delivered]
    return history.chance.choice(copies) if copies else None
