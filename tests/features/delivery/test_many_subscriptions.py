"""Many subscriptions, and those of others: what they cost, who may have how many, and who is told what of them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.copy_changes import CopyChange
from mcp_agent_mail.domain.presence import ListeningVia
from mcp_agent_mail.features.delivery.subscription_counts import URIS_EACH, SubscriptionBounds
from mcp_agent_mail.features.delivery.subscriptions import STEPS_A_PASS
from mcp_agent_mail.features.delivery.waiters import NoPlaceToWait
from tests.features.delivery.harness import NOBODY, DeliveryHarness, refused
from tests.features.delivery.subscribers import FAR_S, reading, subscriptions_over
from tests.features.delivery.test_subscriptions import BLUE, RED, to_blue
from tests.features.messaging.harness import APP


class _Counting(ResourceTable):
    """Counts looks at rights, and how many there are in one pass of the event loop."""

    def __init__(self, table: ResourceTable) -> None:
        super().__init__(table.specs())
        self.asked = self.most = self._before = 0
        self._is_counting = False

    async def read(self, uri: str, credentials: Credentials) -> Any:
        self.asked += 1
        if not self._is_counting:
            self._is_counting = True
            asyncio.get_running_loop().call_soon(self._pass)
        return await super().read(uri, credentials)

    def _pass(self) -> None:
        self._is_counting = False
        self.most, self._before = max(self.most, self.asked - self._before), self.asked


async def test_uris_that_differ_in_what_of_a_thread_they_show_are_one_look_at_the_rights(
    harness: DeliveryHarness,
) -> None:
    await harness.send(thread_id="plan")
    subscriptions = subscriptions_over(harness, told_every_s=FAR_S)
    stream = subscriptions.stream()
    uris = [f"resource://thread/plan?project={APP}&limit={number + 1}" for number in range(URIS_EACH)]
    for uri in uris:
        await stream.subscribe(uri, NOBODY)
    subscriptions.watchable = counting = _Counting(subscriptions.watchable)
    async with reading(stream) as reader:
        await harness.send(thread_id="plan")
        told = [await reader.next() for _ in uris]

    assert (told, counting.asked) == (uris, 1)


async def test_looks_at_rights_and_notices_of_all_streams_leave_the_loop_to_others_in_between(
    harness: DeliveryHarness,
) -> None:
    """However many streams one commit changes something for."""
    subscriptions = subscriptions_over(harness, told_every_s=FAR_S)
    streams = [subscriptions.stream() for _ in range(60)]
    for stream in streams:
        await stream.subscribe(RED, NOBODY)
    subscriptions.watchable = counting = _Counting(subscriptions.watchable)
    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(reading(stream)) for stream in streams]
        waiting = [asyncio.create_task(reader.next()) for reader in readers]
        await asyncio.sleep(0)
        await harness.send()
        await asyncio.gather(*waiting)

    assert counting.asked == len(streams)
    assert counting.most <= STEPS_A_PASS


async def test_a_commit_asks_the_store_once_for_a_thread_however_many_subscribed_to_it(
    harness: DeliveryHarness,
) -> None:
    await harness.send(thread_id="plan")
    subscriptions = subscriptions_over(harness)
    for _ in range(20):
        stream = subscriptions.stream()
        for number in range(10):
            await stream.subscribe(f"resource://thread/plan?project={APP}&limit={number + 1}", NOBODY)
    asked: list[object] = []
    read_now = harness.seeded.store.read_now

    def counting(query: Any) -> Any:
        asked.append(query)
        return read_now(query)

    change = CopyChange(
        message_id=MessageId(1), thread_id="plan", agent_id=harness.seeded.red.id, project_id=None, is_open=True
    )
    subscriptions._store.read_now = counting  # type: ignore[method-assign]  # counted
    try:
        subscriptions._tell(frozenset({change}))
    finally:
        del subscriptions._store.read_now

    assert len(asked) == 1


async def test_one_agent_cannot_take_the_subscriptions_that_others_need(harness: DeliveryHarness) -> None:
    subscriptions = subscriptions_over(harness, bounds=SubscriptionBounds(total=6, each=2, unproven=3))
    red, blue = harness.proof(harness.seeded.red), harness.proof(harness.seeded.blue)
    taken = subscriptions.stream(), subscriptions.stream()
    for number in range(2):
        await taken[0].subscribe(f"{RED}&limit={number + 1}", red)
    error = await refused(taken[1].subscribe(RED, red))
    for number in range(3):
        await taken[1].subscribe(f"{RED}&limit={number + 1}", NOBODY)
    unproven = await refused(subscriptions.stream().subscribe(RED, NOBODY))
    await subscriptions.stream().subscribe(BLUE, blue)

    assert isinstance(error, NoPlaceToWait)
    assert isinstance(unproven, NoPlaceToWait)
    assert (error.data["limit"], unproven.data["limit"], subscriptions.count) == (2, 3, 6)


async def test_who_opens_anothers_stream_is_told_what_it_may_know_itself_and_listens_for_nobody(
    harness: DeliveryHarness,
) -> None:
    number = await harness.sent_id(bcc=["RedStone"], to=["BlueLake"])
    red, blue = harness.proof(harness.seeded.red), harness.proof(harness.seeded.blue)
    stream = subscriptions_over(harness).stream()
    message = f"resource://message/{number}"
    await stream.subscribe(message, red)
    await stream.subscribe(RED, red)
    via_of, told = harness.service.waiters.via_of, []
    async with reading(stream, blue) as reader:
        listens = [via_of(harness.seeded.red.id)]
        await harness.call("mark_message_read", red, agent_name="RedStone", message_id=number)
        await asyncio.sleep(0)
        await stream.subscribe(BLUE, blue)
        await to_blue(harness)
        told.append(await reader.next())
        await harness.call("mark_message_read", blue, agent_name="BlueLake", message_id=number)
        told.append(await reader.next())
        told.append(await reader.next())
    async with reading(stream, NOBODY):
        listens.append(via_of(harness.seeded.red.id))
    async with reading(stream, red) as reader:
        listens.append(via_of(harness.seeded.red.id))
        await harness.call("acknowledge_message", red, agent_name="RedStone", message_id=number)
        told.append(await reader.next())

    assert told[0] == BLUE, "nothing of the blind copy before it"
    assert sorted(told[1:3]) == sorted([message, BLUE])
    assert told[3] in (message, RED)
    assert listens == [None, None, ListeningVia.STREAM]
