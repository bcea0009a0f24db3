"""`wait_for_messages`: what answers at once, what wakes, what does not, and that no cursor loses mail."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Coroutine
from contextlib import closing
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.presence import ListeningVia
from mcp_agent_mail.features.delivery import wait as module
from mcp_agent_mail.features.delivery.requests import WaitRequest
from mcp_agent_mail.features.delivery.wait import MOST_MESSAGES, FoundMail, look_for_mail
from mcp_agent_mail.features.delivery.waiters import PLACES_EACH, WaiterLeft
from mcp_agent_mail.store.transaction import View
from tests.features.delivery.harness import DeliveryHarness, refused
from tests.features.messaging.harness import OPERATOR
from tests.features.reservations.hearings import Deaf

FAR_S = 50


async def wait(harness: DeliveryHarness, agent: str = "RedStone", **arguments: Any) -> Any:
    return await harness.call("wait_for_messages", agent_name=agent, **arguments)


def ids(answer: Any) -> list[int]:
    return [item["id"] for item in answer["messages"]]


async def begun(harness: DeliveryHarness, waiting: Coroutine[Any, Any, Any], places: int = 1) -> asyncio.Task[Any]:
    """A task that waits by now, with so many places taken."""
    task = asyncio.create_task(waiting)
    while harness.service.waiters.figures().waits < places:
        assert not task.done(), task.result()
        await asyncio.sleep(0)
    return task


async def test_unread_mail_answers_at_once_oldest_first_and_takes_nothing(harness: DeliveryHarness) -> None:
    sent = [await harness.sent_id() for _ in range(3)]
    await harness.sent_id(to=["GreenField"])

    first, again = await wait(harness), await wait(harness)

    assert ids(first) == ids(again) == sent
    tail = (await harness.feed("RedStone", position_now=True))["tail_cursor"]
    assert (first["timed_out"], first["next_cursor"], again["next_cursor"]) == (False, tail, tail)
    assert (await harness.counts("RedStone"))["unread_count"] == 3
    assert harness.service.waiters.figures().waits == 0


async def test_unread_mail_older_than_any_cursor_is_counted_and_the_cursor_is_one_that_is_taken(
    harness: DeliveryHarness,
) -> None:
    old = [await harness.sent_id() for _ in range(MOST_MESSAGES + 5)]
    with closing(sqlite3.connect(harness.seeded.store.path)) as connection, connection:
        connection.execute("UPDATE counters SET value = value + 1000 WHERE name = 'delivery'")
        connection.execute("UPDATE counters SET value = value + 500 WHERE name = 'feed_floor'")
    new = await harness.sent_id()

    first = await wait(harness)
    then = await wait(harness, after_cursor=first["next_cursor"])

    assert (ids(first), first["passed_over"]) == (old[:MOST_MESSAGES], 5)
    assert "fetch_inbox" in first["hint"]
    assert ids(then) == [new]
    assert "passed_over" not in then


async def test_items_are_those_of_fetch_inbox_without_bodies(harness: DeliveryHarness) -> None:
    await harness.sent_id(importance="urgent", thread_id="T-1")

    answer = await wait(harness)

    assert answer["messages"] == list(await harness.inbox("RedStone", include_bodies=False))
    assert list(answer) == ["messages", "next_cursor", "timed_out"]


async def test_a_send_wakes_all_waits_of_its_recipient(harness: DeliveryHarness) -> None:
    waits = [await begun(harness, wait(harness, timeout_s=FAR_S), places) for places in (1, 2, 3)]

    sent = await harness.sent_id()

    assert [ids(await one) for one in waits] == [[sent]] * 3


async def test_nobody_else_is_woken_and_a_time_that_is_over_says_so(harness: DeliveryHarness) -> None:
    waiting = await begun(harness, wait(harness, "GreenField", timeout_s=1))

    await harness.sent_id()
    answer = await waiting

    assert answer == {"messages": [], "next_cursor": answer["next_cursor"], "timed_out": True}
    assert answer["next_cursor"] == (await harness.feed("GreenField", position_now=True))["tail_cursor"]


async def test_approving_a_sender_wakes_who_waits_for_held_mail(harness: DeliveryHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    held = await harness.send()
    assert held["held"]
    (request,) = ids(await wait(harness))
    await harness.call("mark_message_read", agent_name="RedStone", message_id=request)
    waiting = await begun(harness, wait(harness, timeout_s=FAR_S))

    await harness.answer(accept=True)

    assert [item["subject"] for item in (await waiting)["messages"]] == ["Plan"]


async def test_a_withdrawal_answers_nobody(harness: DeliveryHarness) -> None:
    """It wakes, and there is nothing to see."""
    message = await harness.sent_id()
    cursor = (await wait(harness))["next_cursor"]
    waiting = await begun(harness, wait(harness, after_cursor=cursor, timeout_s=1))

    await harness.withdraw(message)

    assert (await waiting)["messages"] == []


async def test_mail_that_does_not_fit_is_looked_at_once_and_the_wait_rests_again(
    harness: DeliveryHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, loop = asyncio.Queue[int | None](), asyncio.get_running_loop()

    def look(view: View, caller: Caller, request: WaitRequest) -> FoundMail:
        loop.call_soon_threadsafe(looks.put_nowait, request.after_cursor)
        return look_for_mail(view, caller, request)

    monkeypatch.setattr(module, "look_for_mail", look)
    waiting = await begun(harness, wait(harness, urgent_only=True, timeout_s=FAR_S))
    await looks.get()

    await harness.sent_id()
    await looks.get()
    after_plain = (await harness.feed("RedStone", position_now=True))["tail_cursor"]
    urgent = await harness.sent_id(importance="urgent")

    assert ids(await waiting) == [urgent]
    assert looks.get_nowait() == after_plain
    assert looks.empty()


@pytest.mark.parametrize("urgent_only", [False, True])
async def test_after_a_cursor_comes_what_was_delivered_read_or_not_but_nothing_that_ended(
    harness: DeliveryHarness, urgent_only: bool
) -> None:
    cursor = (await harness.feed("RedStone", position_now=True))["next_cursor"]
    read = await harness.sent_id(importance="urgent")
    withdrawn, withdrawn_read = [await harness.sent_id(importance="urgent") for _ in range(2)]
    await harness.sent_id(importance="urgent", valid_until=harness.in_seconds(5))
    unread = await harness.sent_id(importance="urgent")
    for one in (read, withdrawn_read):
        await harness.call("mark_message_read", agent_name="RedStone", message_id=one)
    for one in (withdrawn, withdrawn_read):
        await harness.withdraw(one)
    harness.seeded.clock.step(5)

    answer = await wait(harness, after_cursor=cursor, urgent_only=urgent_only)

    assert ids(answer) == [read, unread]


async def test_more_than_one_answer_holds_comes_with_the_next_cursor(harness: DeliveryHarness) -> None:
    sent = [await harness.sent_id() for _ in range(MOST_MESSAGES + 5)]

    first = await wait(harness)
    second = await wait(harness, after_cursor=first["next_cursor"])

    assert (len(ids(first)), ids(first) + ids(second)) == (20, sent)
    assert second["next_cursor"] == (await harness.feed("RedStone", position_now=True))["tail_cursor"]


async def test_a_filtered_wait_keeps_a_cursor_of_its_own_and_others_lose_nothing_by_it(
    harness: DeliveryHarness,
) -> None:
    start = (await harness.feed("RedStone", position_now=True))["next_cursor"]
    plain = await harness.sent_id()
    urgent = await harness.sent_id(importance="urgent")
    threaded = await harness.sent_id(thread_id="T-1")

    only_urgent = await wait(harness, after_cursor=start, urgent_only=True)
    only_thread = await wait(harness, after_cursor=start, thread_id="T-1")
    everything = await wait(harness, after_cursor=start)

    assert [ids(one) for one in (only_urgent, only_thread, everything)] == [
        [urgent], [threaded], [plain, urgent, threaded],
    ]  # fmt: skip
    waiting = await begun(
        harness, wait(harness, after_cursor=only_urgent["next_cursor"], urgent_only=True, timeout_s=FAR_S)
    )
    await harness.sent_id()
    later = await harness.sent_id(importance="high")
    assert ids(await waiting) == [later]


async def test_what_is_read_by_another_session_in_between_is_still_told(harness: DeliveryHarness) -> None:
    """Marked read in the moment it came: whoever waited before has not seen it."""
    waiting = await begun(harness, wait(harness, timeout_s=FAR_S))
    seeded = harness.seeded

    def deliver_and_read(tx: Any) -> int:
        message, _ = tx.messages.add(seeded.letter(seeded.blue), seeded.addressed([seeded.red]), tx.now)
        tx.inboxes.mark_read(seeded.red.id, message.id, tx.now)
        return int(message.id)

    sent = await seeded.store.write(deliver_and_read)

    assert ids(await waiting) == [sent]


async def test_a_cursor_that_is_not_kept_and_one_that_never_was_are_errors(harness: DeliveryHarness) -> None:
    for _ in range(2):
        await harness.sent_id()
    tail = (await harness.feed("RedStone", position_now=True))["tail_cursor"]
    await harness.seeded.store.write(lambda tx: tx.feed.mark(tx.now, Micros(0)))
    await harness.seeded.store.write(lambda tx: tx.feed.forget(tx.now, tx.now, 100))

    expired = await refused(wait(harness, after_cursor=tail - 1))
    ahead = await refused(wait(harness, after_cursor=tail + 1))

    assert (expired.code, ahead.code) == ("CURSOR_EXPIRED", "CURSOR_AHEAD")
    assert expired.data == {"cursor": tail - 1, "oldest_available_cursor": tail, "tail_cursor": tail}
    assert ahead.data == {"cursor": tail + 1, "oldest_available_cursor": tail, "tail_cursor": tail}


async def test_the_sixty_fifth_wait_of_an_agent_is_refused_but_told_what_is_there(harness: DeliveryHarness) -> None:
    waits = [await begun(harness, wait(harness, timeout_s=FAR_S), n + 1) for n in range(PLACES_EACH)]

    full = await refused(wait(harness))
    sent = await harness.sent_id()

    assert (full.code, full.data["retry_after_s"], full.data["limit"]) == ("UNAVAILABLE", 5, 64)
    assert ids(await wait(harness)) == [sent]
    assert {tuple(ids(await one)) for one in waits} == {(sent,)}


async def test_whoever_leaves_is_given_up_at_once(harness: DeliveryHarness) -> None:
    caller = Deaf()
    with caller.listening():
        waiting = await begun(harness, wait(harness, timeout_s=FAR_S))

    caller.leave()

    assert harness.service.waiters.via_of(harness.seeded.red.id) is None
    with pytest.raises(WaiterLeft):
        await waiting


async def test_a_stop_ends_all_waits_and_answers_those_that_have_mail(harness: DeliveryHarness) -> None:
    waits = [await begun(harness, wait(harness, timeout_s=FAR_S), places) for places in (1, 2)]

    harness.service.waiters.close()

    ended = [await refused(one) for one in waits]
    assert {error.code for error in ended} == {"UNAVAILABLE"}
    sent = await harness.sent_id()
    assert ids(await wait(harness)) == [sent]
    assert harness.service.waiters.figures().waits == 0


async def test_waiting_is_an_act_of_the_agent_and_shows_in_which_way_it_listens(harness: DeliveryHarness) -> None:
    waiting = await begun(harness, wait(harness, timeout_s=FAR_S))

    assert harness.noted == ["RedStone"]
    assert harness.service.waiters.via_of(harness.seeded.red.id) is ListeningVia.WAIT
    await harness.sent_id()
    await waiting


async def test_a_wait_ends_with_the_token_that_it_came_with(harness: DeliveryHarness) -> None:
    """The next word finds that out, before any mail is shown; a time that is over too."""
    red = harness.seeded.red
    asked = {"agent_name": "RedStone", "timeout_s": FAR_S}
    waiting = await begun(harness, harness.call("wait_for_messages", harness.proof(red), **asked))

    await harness.seeded.store.write(lambda tx: tx.agents.set_token_hash(red.id, b"another's"))
    await harness.sent_id()

    assert (await refused(waiting)).code == "PERMISSION_DENIED"
    assert harness.service.waiters.figures().waits == 0


async def test_an_operator_that_waits_as_an_agent_is_woken_and_makes_nobody_listen(harness: DeliveryHarness) -> None:
    waiters, red = harness.service.waiters, harness.seeded.red.id
    asked = {"agent_name": "RedStone", "timeout_s": FAR_S}
    waiting = await begun(harness, harness.call("wait_for_messages", OPERATOR, **asked))
    assert waiters.via_of(red) is None

    sent = await harness.sent_id()

    assert ids(await waiting) == [sent]


@pytest.mark.parametrize("gone", ["retired", "archived"])
async def test_nobody_waits_for_mail_that_cannot_come(harness: DeliveryHarness, gone: str) -> None:
    store, red = harness.seeded.store, harness.seeded.red
    sent = await harness.sent_id()
    waiting = await begun(harness, wait(harness, "BlueLake", timeout_s=FAR_S))

    if gone == "retired":
        await store.write(lambda tx: tx.agents.set_retired(red.id, tx.now, tx.now))
    else:
        await store.write(lambda tx: tx.projects.set_archived(red.project_id, tx.now))
    there = await wait(harness)
    nothing = await refused(wait(harness, after_cursor=there["next_cursor"], timeout_s=FAR_S))

    assert (ids(there), nothing.code) == ([sent], "CONFLICT")
    waiting.cancel()


async def test_while_the_store_cannot_be_written_waiting_goes_on_as_reading_does(
    harness: DeliveryHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiters = harness.service.waiters
    tried: list[str] = []

    async def settle() -> None:
        tried.append("asked")
        raise Unavailable("The disk is full.", hint="Make room.")

    monkeypatch.setattr(waiters, "_settle", settle)
    waiting = await begun(harness, wait(harness, timeout_s=FAR_S))
    sent = await harness.sent_id()

    assert ids(await waiting) == [sent]
    assert tried == ["asked"]
