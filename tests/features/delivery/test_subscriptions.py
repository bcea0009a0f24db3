"""Who is told that a resource has changed, how often, and what it costs the others."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from mcp_agent_mail.core.errors import Busy
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.copy_changes import CopyChange
from mcp_agent_mail.domain.presence import ListeningVia
from mcp_agent_mail.features.delivery.subscription_counts import URIS_EACH, SubscriptionBounds, TooManyUris
from mcp_agent_mail.features.delivery.waiters import PLACES_EACH, NoPlaceToWait, WaitingEnds
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed
from tests.features.delivery.harness import NOBODY, DeliveryHarness, refused
from tests.features.delivery.subscribers import FAR_S, reading, subscriptions_over
from tests.features.messaging.harness import APP, LIB

RED, BLUE = f"resource://inbox/RedStone?project={APP}", f"resource://inbox/BlueLake?project={APP}"


async def to_blue(harness: DeliveryHarness) -> int:
    return await harness.sent_id(sender_name="RedStone", to=["BlueLake"])


async def test_each_is_told_once_in_its_time_and_the_last_change_is_kept_for_the_next(
    harness: DeliveryHarness,
) -> None:
    stream = subscriptions_over(harness, told_every_s=FAR_S).stream()
    await stream.subscribe(RED, NOBODY)
    await stream.subscribe(BLUE, NOBODY)
    async with reading(stream) as reader:
        await harness.send()
        first = await reader.next()
        await harness.send()
        await to_blue(harness)
        second = await reader.next()
        waiting = [one.uri for one in stream._news.waiting]

    assert (first, second) == (RED, BLUE)
    assert waiting == [RED]


async def test_what_changes_often_waits_as_one(harness: DeliveryHarness) -> None:
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(RED, NOBODY)
    for _ in range(10):
        await harness.send()
    await asyncio.sleep(0)  # Who listens is told after the answer.
    await stream.subscribe(BLUE, NOBODY)
    async with reading(stream) as reader:
        told = [await reader.next()]
        await to_blue(harness)
        told.append(await reader.next())

    assert told == [RED, BLUE]


async def test_a_thread_of_the_same_name_in_another_project_is_another_thread(harness: DeliveryHarness) -> None:
    await harness.send(thread_id="plan")
    await harness.send(project_key=LIB, sender_name="QuietFox", to=["BlueLake"], thread_id="plan")
    other = await harness.call("fetch_inbox", project_key=LIB, agent_name="BlueLake")
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(f"resource://thread/plan?project={APP}", NOBODY)
    await stream.subscribe(BLUE, NOBODY)
    async with reading(stream) as reader:
        await harness.send(project_key=LIB, sender_name="QuietFox", to=["BlueLake"], thread_id="plan")
        await harness.call("mark_message_read", project_key=LIB, agent_name="BlueLake", message_id=other[0]["id"])
        await to_blue(harness)
        told = await reader.next()

    assert told == BLUE


async def test_a_thread_that_a_reply_started_tells_of_its_root(harness: DeliveryHarness) -> None:
    root = await harness.sent_id()
    await harness.call("reply_message", sender_name="RedStone", message_id=root, body_md="r")
    stream = subscriptions_over(harness).stream()
    thread = f"resource://thread/{root}?project={APP}"
    await stream.subscribe(thread, NOBODY)
    async with reading(stream) as reader:
        await harness.call("acknowledge_message", agent_name="RedStone", message_id=root)
        told = await reader.next()

    assert told == thread


async def test_mail_that_expires_is_told_though_nobody_asks(harness: DeliveryHarness) -> None:
    number = await harness.sent_id(valid_until=harness.in_seconds(60))
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(RED, NOBODY)
    await stream.subscribe(f"resource://message/{number}", NOBODY)
    async with reading(stream) as reader:
        harness.seeded.clock.step(61)
        await harness.seeded.store.end_expired()
        told = {await reader.next(), await reader.next()}

    assert told == {RED, f"resource://message/{number}"}


async def test_what_is_superseded_is_told(harness: DeliveryHarness) -> None:
    number = await harness.sent_id()
    await harness.call("mark_message_read", agent_name="RedStone", message_id=number)
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(f"resource://message/{number}", NOBODY)
    async with reading(stream) as reader:
        await harness.send(supersedes=number)
        told = await reader.next()

    assert told == f"resource://message/{number}"


async def test_held_mail_is_told_once_it_is_approved_and_no_sooner(harness: DeliveryHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    stream = subscriptions_over(harness).stream()
    await harness.send(auto_contact_if_blocked=True)
    await stream.subscribe(RED, NOBODY)
    await stream.subscribe(BLUE, NOBODY)
    async with reading(stream) as reader:
        await harness.send(auto_contact_if_blocked=True)
        await harness.call("withdraw_message", sender_name="BlueLake", message_id=await _last_id(harness))
        await to_blue(harness)
        before = await reader.next()
        await harness.answer(accept=True)
        after = await reader.next()

    assert (before, after) == (BLUE, RED)


async def _last_id(harness: DeliveryHarness) -> int:
    ((number,),) = harness.rows("SELECT max(id) FROM messages")
    assert isinstance(number, int)
    return number


async def test_a_withdrawn_message_that_nobody_may_read_any_more_is_told_to_nobody(harness: DeliveryHarness) -> None:
    number = await harness.sent_id()
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(f"resource://message/{number}", NOBODY)
    await stream.subscribe(BLUE, NOBODY)
    async with reading(stream) as reader:
        await harness.withdraw(number)
        await to_blue(harness)
        told = await reader.next()

    assert told == BLUE


async def test_whether_it_may_be_told_is_asked_again_when_that_could_not_be_known(harness: DeliveryHarness) -> None:
    subscriptions = subscriptions_over(harness)
    stream = subscriptions.stream()
    await stream.subscribe(RED, NOBODY)
    subscriptions.watchable = _BusyAtFirst(subscriptions.watchable)
    async with reading(stream) as reader:
        await harness.send()
        told = await reader.next()

    assert told == RED


class _BusyAtFirst(ResourceTable):
    def __init__(self, table: ResourceTable) -> None:
        super().__init__(table.specs())
        self.asked = 0

    async def read(self, uri: str, credentials: Credentials) -> Any:
        self.asked += 1
        if self.asked == 1:
            raise Busy("The store is busy.", retry_after_s=1)
        return await super().read(uri, credentials)


async def test_it_is_no_activity(harness: DeliveryHarness) -> None:
    stream = subscriptions_over(harness).stream()
    await harness.send()
    harness.noted.clear()
    await stream.subscribe(RED, harness.proof(harness.seeded.red))

    assert harness.noted == []


async def test_a_repeat_takes_nothing_more_and_newer_proof_takes_the_place_of_the_older(
    harness: DeliveryHarness,
) -> None:
    subscriptions = subscriptions_over(harness)
    stream = subscriptions.stream()
    via_of = harness.service.waiters.via_of
    async with stream.opened():
        await stream.subscribe(RED, NOBODY)
        before = via_of(harness.seeded.red.id)
        await stream.subscribe(RED, harness.proof(harness.seeded.red))
        await stream.subscribe(RED, harness.proof(harness.seeded.red))
        proven = via_of(harness.seeded.red.id)
        await stream.subscribe(RED, NOBODY)
        after = via_of(harness.seeded.red.id)
        count = subscriptions.count

    assert (before, proven, after) == (None, ListeningVia.STREAM, None)
    assert count == 1


async def test_an_open_stream_has_a_place_while_it_has_subscriptions(harness: DeliveryHarness) -> None:
    stream = subscriptions_over(harness).stream()
    figures = harness.service.waiters.figures
    async with stream.opened():
        streams = [figures().streams]
        await stream.subscribe(RED, NOBODY)
        await stream.subscribe(BLUE, NOBODY)
        streams.append(figures().streams)
        stream.unsubscribe(RED)
        streams.append(figures().streams)
        stream.unsubscribe(BLUE)
        streams.append(figures().streams)
        await stream.subscribe(RED, NOBODY)
    streams.append(figures().streams)
    async with stream.opened():
        streams.append(figures().streams)

    assert streams == [0, 1, 1, 0, 0, 1]


async def test_the_hundred_and_first_uri_of_a_stream_is_refused_and_takes_nothing(harness: DeliveryHarness) -> None:
    subscriptions = subscriptions_over(harness)
    stream = subscriptions.stream()
    for number in range(URIS_EACH):
        await stream.subscribe(f"{RED}&limit={number + 1}", NOBODY)

    error = await refused(stream.subscribe(BLUE, NOBODY))

    assert isinstance(error, TooManyUris)
    assert subscriptions.count == URIS_EACH


async def test_beyond_what_all_may_have_it_is_unavailable_until_somebody_ends(harness: DeliveryHarness) -> None:
    subscriptions = subscriptions_over(harness, bounds=SubscriptionBounds(total=2))
    first, second = subscriptions.stream(), subscriptions.stream()
    await first.subscribe(RED, NOBODY)
    await first.subscribe(BLUE, NOBODY)

    error = await refused(second.subscribe(RED, NOBODY))
    first.end()
    first.end()
    await second.subscribe(RED, NOBODY)

    assert isinstance(error, NoPlaceToWait)
    assert subscriptions.count == 1


async def test_the_sixty_fifth_stream_of_an_agent_is_refused_and_keeps_nothing(harness: DeliveryHarness) -> None:
    subscriptions = subscriptions_over(harness)
    proof = harness.proof(harness.seeded.red)
    async with AsyncExitStack() as stack:
        for _ in range(PLACES_EACH):
            stream = subscriptions.stream()
            await stream.subscribe(RED, proof)
            await stack.enter_async_context(stream.opened(holder=harness.seeded.red.id))
        last = subscriptions.stream()
        await stack.enter_async_context(last.opened(holder=harness.seeded.red.id))

        error = await refused(last.subscribe(RED, proof))

        assert isinstance(error, NoPlaceToWait)
        assert (last.uris, subscriptions.count) == ([], PLACES_EACH)
        assert harness.service.waiters.figures().streams == PLACES_EACH
    assert harness.service.waiters.via_of(harness.seeded.red.id) is None
    assert harness.service.waiters.figures().streams == 0


async def test_a_stop_ends_what_is_open_and_opens_nothing_more(harness: DeliveryHarness) -> None:
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(RED, NOBODY)
    async with reading(stream) as reader:
        harness.service.waiters.close()

        assert [uri async for uri in reader.changes] == []
    with pytest.raises(WaitingEnds):
        async with stream.opened():
            pass


async def test_who_unsubscribed_while_a_change_waited_is_not_told(harness: DeliveryHarness) -> None:
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(RED, NOBODY)
    await stream.subscribe(BLUE, NOBODY)
    await harness.send()
    stream.unsubscribe(RED)
    async with reading(stream) as reader:
        await to_blue(harness)
        told = await reader.next()

    assert told == BLUE


async def test_newer_proof_loses_no_change_that_waits(harness: DeliveryHarness) -> None:
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(RED, NOBODY)
    await harness.send()
    await asyncio.sleep(0)
    await stream.subscribe(RED, harness.proof(harness.seeded.red))
    async with reading(stream) as reader:
        told = await reader.next()

    assert told == RED


async def test_what_was_on_its_way_when_a_stream_broke_is_told_on_the_next(harness: DeliveryHarness) -> None:
    """Whether it arrived nobody knows: told once more it is harmless, and lost it would be lost for good."""
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(RED, NOBODY)
    await stream.subscribe(BLUE, NOBODY)
    async with reading(stream) as reader:
        await harness.send()
        told = [await reader.next()]
    async with reading(stream) as reader:
        told.append(await reader.next())
        await to_blue(harness)
        told.append(await reader.next())

    assert told == [RED, RED, BLUE]


async def test_what_was_being_looked_at_when_a_stream_broke_is_told_on_the_next(harness: DeliveryHarness) -> None:
    subscriptions = subscriptions_over(harness)
    stream = subscriptions.stream()
    await stream.subscribe(RED, NOBODY)
    table, subscriptions.watchable = subscriptions.watchable, _Endless(subscriptions.watchable)
    await harness.send()
    async with reading(stream) as reader:
        looking = asyncio.create_task(reader.next())
        await subscriptions.watchable.asked.wait()
        looking.cancel()
        await asyncio.wait([looking])
    subscriptions.watchable = table
    async with reading(stream) as reader:
        told = await reader.next()

    assert told == RED


class _Endless(ResourceTable):
    def __init__(self, table: ResourceTable) -> None:
        super().__init__(table.specs())
        self.asked = asyncio.Event()

    async def read(self, _uri: str, _credentials: Credentials) -> Any:
        self.asked.set()
        await asyncio.Event().wait()


async def test_who_opens_anothers_stream_swallows_nothing_that_it_may_not_know(harness: DeliveryHarness) -> None:
    number = await harness.sent_id(bcc=["RedStone"], to=["BlueLake"])
    red, blue = harness.proof(harness.seeded.red), harness.proof(harness.seeded.blue)
    stream = subscriptions_over(harness).stream()
    message = f"resource://message/{number}"
    await stream.subscribe(message, red)
    await stream.subscribe(BLUE, blue)
    async with reading(stream, blue) as reader:
        await harness.call("mark_message_read", red, agent_name="RedStone", message_id=number)
        await to_blue(harness)
        told = [await reader.next()]
    async with reading(stream, red) as reader:
        told.append(await reader.next())

    assert told == [BLUE, message]


async def test_a_lookup_that_fails_loses_nobody_a_notice(harness: DeliveryHarness) -> None:
    number = await harness.sent_id(thread_id="plan")
    subscriptions = subscriptions_over(harness)
    thread, message = f"resource://thread/plan?project={APP}", f"resource://message/{number}"
    streams = [subscriptions.stream() for _ in range(3)]
    for stream, uri in zip(streams, (thread, RED, message), strict=True):
        await stream.subscribe(uri, NOBODY)

    def failing(_query: Any) -> Any:
        raise StoreFailed("The disk could not be read.", retry_after_s=1)

    change = CopyChange(
        message_id=MessageId(number), thread_id="plan", agent_id=harness.seeded.red.id, project_id=None, is_open=True
    )
    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(reading(stream)) for stream in streams]
        subscriptions._store.read_now = failing  # type: ignore[method-assign, assignment]  # a sick disk
        try:
            subscriptions._tell(frozenset({change}))
        finally:
            del subscriptions._store.read_now
        told = [await reader.next() for reader in readers]

    assert told == [thread, RED, message]
