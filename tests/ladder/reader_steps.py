"""What recipients do: every way to get mail, to read and to acknowledge it; and what others do that proves nothing."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.ladder.history import BLUE, FOX, GREEN, RED, History
from tests.ladder.mail_steps import any_copy
from tests.ladder.truth import ACKED, READ

READERS = (RED, RED, RED, GREEN, FOX, BLUE)
WHO = {"program": "tests", "model": "none"}


async def fetch(history: History) -> None:
    door = history.door_of(history.chance.choice(READERS))
    marks = history.chance.random() < 0.15
    if marks:
        for copy in history.truth.of(door.person.name):
            if copy.was_delivered:
                copy.may.add(READ)
    given: dict[str, Any] = {
        "include_bodies": history.chance.random() < 0.3,
        "unread_only": history.chance.random() < 0.3,
        "mark_read": marks or None,
        "limit": history.chance.choice((1, 2, 20)),
    }
    await history.call(door, "fetch_inbox", gives=True, cuts=True, agent_name=door.person.name, **given)


async def act(history: History) -> None:
    """A call that reads no mail."""
    door = history.door_of(history.chance.choice(READERS))
    await history.call(door, "fetch_inbox", cuts=True, agent_name=door.person.name, limit=0)


async def read_mail(history: History) -> None:
    if (copy := any_copy(history)) is not None:
        door = history.door_of(copy.agent)
        given = {"message_id": copy.message_id} if history.chance.random() < 0.7 else {"thread_id": "T-1"}
        await history.call(door, "read_mail", gives=True, cuts=True, agent_name=copy.agent, **given)


async def start_session(history: History) -> None:
    door = history.door_of(history.chance.choice((RED, GREEN)))
    given = {"human_key": door.person.project, "agent_name": door.person.name, **WHO}
    await history.exchange(door, door.call("macro_start_session", given), gives=True, cuts=True)
    history.tally.done["macros"] += 1


async def prepare_thread(history: History) -> None:
    door = history.door_of(history.chance.choice((RED, GREEN)))
    given = {"thread_id": "T-1", "agent_name": door.person.name, **WHO}
    await history.call(door, "macro_prepare_thread", gives=True, cuts=True, **given)
    history.tally.done["macros"] += 1


async def product_inbox(history: History) -> None:
    door = history.door_of(history.chance.choice(READERS))
    given = {"product_key": history.product, "agent_name": door.person.name}
    await history.exchange(door, door.call("fetch_inbox_product", given), gives=True, cuts=True)
    history.tally.done["product inboxes"] += 1


async def resource(history: History) -> None:
    """It hands over by a token alone."""
    copy = any_copy(history)
    if copy is None:
        return
    door = history.door_of(copy.agent)
    place = history.chance.choice(
        (f"inbox/{copy.agent}", f"message/{copy.message_id}", f"views/ack-required/{copy.agent}", "thread/T-1")
    )
    uri = f"resource://{place}?project={quote(door.person.project, safe='/')}"
    await history.exchange(door, door.resource(uri), gives=door.by_token, acts=door.by_token, cuts=True)
    history.tally.done["resources"] += 1


async def mark_read(history: History) -> None:
    if (copy := any_copy(history)) is None:
        return
    history.truth.may_have(copy.message_id, copy.agent, READ)
    given: dict[str, Any] = {"agent_name": copy.agent, "message_id": copy.message_id}
    result = await history.call(history.door_of(copy.agent), "mark_message_read", cuts=True, **given)
    if result is not None and result["read"]:
        history.truth.must_have(copy.message_id, copy.agent, READ)
        history.tally.done["read"] += 1


async def acknowledge(history: History) -> None:
    if (copy := any_copy(history)) is None:
        return
    history.truth.may_have(copy.message_id, copy.agent, READ, ACKED)
    given: dict[str, Any] = {"agent_name": copy.agent, "message_id": copy.message_id}
    result = await history.call(history.door_of(copy.agent), "acknowledge_message", cuts=True, **given)
    if result is not None and result["acknowledged"]:
        history.truth.must_have(copy.message_id, copy.agent, READ, ACKED)
        history.tally.done["acknowledged"] += 1


async def look_elsewhere(history: History) -> None:
    """What shows mail and hands nothing over: others, topics, searches, feeds, statuses."""
    if (copy := any_copy(history)) is None:
        return
    door = history.door_of(copy.agent)
    asked = history.chance.choice(("other", "topic", "search", "feed", "summary"))
    history.tally.done["looks elsewhere"] += 1
    if asked == "other":
        other = history.door_of(GREEN if copy.agent != GREEN else RED)
        # What lies in its own inbox too is handed over to it.
        await history.call(other, "read_mail", gives=True, agent_name=other.person.name, message_id=copy.message_id)
    elif asked == "topic":
        await history.call(door, "fetch_topic", topic_name="plans")
    elif asked == "search":
        await history.call(door, "search_messages", query="s")
    elif asked == "feed":
        await history.call(door, "fetch_inbox_events", agent_name=copy.agent)
    else:
        await history.call(door, "list_threads", agent_name=copy.agent)


async def act_as_another(history: History) -> None:
    """A session of one agent says to be another one of its project: nothing is proven by it from then on, not even what
    its own agent read before.
    """
    sessions = [door for door in history.doors if door.session_id is not None and door.person.name in (RED, GREEN)]
    sessions = [door for door in sessions if not door.by_token]
    if sessions:
        door = history.chance.choice(sessions)
        me, other = (RED, GREEN) if door.person.name == RED else (GREEN, RED)
        await history.call(door, "fetch_inbox", gives=True, agent_name=me)
        await history.call(door, "fetch_inbox", as_=other, gives=True, agent_name=other)
        await history.call(door, "fetch_inbox", agent_name=me, limit=0)
        history.tally.done["sessions of two"] += 1


async def client_dies(history: History) -> None:
    """Its connection is gone, its session too; another client of the same agent begins."""
    door = history.chance.choice(history.doors)
    if (wire := history.wires.get(door)) is not None:
        wire.close(resets=history.chance.random() < 0.5)
    history.doors.remove(door)
    await history.new_door(door.person.name)
    history.tally.done["clients killed"] += 1


async def ask_twice_at_once(history: History) -> None:
    """In one piece: the second call begins before the first answer is there."""
    door = history.door_of(history.chance.choice(READERS))
    given = {"project_key": door.person.project, "agent_name": door.person.name}
    first = await history.begin(door, door.call("fetch_inbox", given) * 2, gives=True)
    await first.read()
    if first.wire.lost:
        return
    second = type(first)(first.wire, first.wire.heard)
    history.truth.gives(door.person.name, door.proof, second)
    await second.read()
    history.heard(door, second.answer)
    history.tally.done["asked ahead"] += 1


async def begin_to_ask_again(history: History) -> None:
    """With nothing of the answer read; then its client resets the connection, and calls on another one."""
    door = history.door_of(history.chance.choice(READERS))
    given = {"project_key": door.person.project, "agent_name": door.person.name}
    asked = door.call("fetch_inbox", given)
    unread = await history.begin(door, asked, gives=True)
    await history.look_round()
    await unread.wire.ask(asked[:1])
    await history.look_round()
    history.truth.look()
    unread.wire.close(resets=True)
    await history.look_round()
    await history.call(door, "fetch_inbox", agent_name=door.person.name, limit=0)
    history.tally.done["asked on unread answers"] += 1


async def shift_clock(history: History) -> None:
    seconds = history.chance.choice((-86_400.0, -3_600.0, -1.0, -0.000001, 2.0, 30.0, 700.0))
    await history.server.shift_clock(seconds)
    history.tally.done["clock set back" if seconds < 0 else "clock set forward"] += 1
