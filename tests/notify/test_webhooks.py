"""Webhooks over a real store and real receivers: each delivery is told once, after its commit, and holds nobody up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.notify import webhook_call
from mcp_agent_mail.notify import webhooks as webhooks_module
from mcp_agent_mail.notify.bus import MailBus
from mcp_agent_mail.notify.webhook_call import WebhookCaller, place_of
from mcp_agent_mail.notify.webhooks import Webhooks
from mcp_agent_mail.workers import webhook_source
from tests.notify.receiver import Receiver, answering, receiving
from tests.seeded_store import SeededStore, open_seeded_store

KEY = Secret("k" * 32)


@dataclass
class Elapsed:
    """Seconds that pass when told."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Wired:
    seeded: SeededStore
    elapsed: Elapsed = field(default_factory=Elapsed)
    made: list[Webhooks] = field(default_factory=list)

    async def start(self, *receivers: Receiver, most_waiting: int = 10_000) -> Webhooks:
        webhooks = await self.make(*receivers, most_waiting=most_waiting)
        webhooks.start()
        async with asyncio.timeout(20):
            while not webhooks._has_begun:  # noqa: ASYNC110  # nobody tells a test
                await asyncio.sleep(0.001)
        return webhooks

    async def make(self, *receivers: Receiver, most_waiting: int = 10_000) -> Webhooks:
        """Not started."""
        store = self.seeded.store
        webhooks = Webhooks(
            webhook_source(store),
            MailBus(store.on_mail_change),
            WebhookCaller(KEY, allows_private=True),
            [place_of(receiver.url) for receiver in receivers],
            floor=(await store.read(lambda view: view.feed.ends())).tail,
            clock=self.seeded.clock,
            elapsed=self.elapsed,
            most_waiting=most_waiting,
        )
        self.made.append(webhooks)
        return webhooks

    async def send(self, *to: Agent, kind: RecipientKind = RecipientKind.TO, sender: Agent | None = None) -> int:
        letter = self.seeded.letter(sender or self.seeded.blue)
        message, _ = await self.seeded.post(letter, *self.seeded.addressed(to, kind))
        return message.id

    def pass_s(self, webhooks: Webhooks, seconds: float) -> None:
        self.elapsed.now_s += seconds
        webhooks._wake()


async def until(webhooks: Webhooks, **figures: int) -> None:
    async with asyncio.timeout(20):
        while any(getattr(webhooks.figures(), name) != count for name, count in figures.items()):  # noqa: ASYNC110
            await asyncio.sleep(0.001)  # nobody tells a test


async def until_it_waits(webhooks: Webhooks, which: int = 0) -> None:
    """Until the webhook's call has failed, and is due again later."""
    async with asyncio.timeout(20):
        while webhooks._webhooks[which].queue.next_due_s() is None:  # noqa: ASYNC110  # nobody tells a test
            await asyncio.sleep(0.001)


@pytest.fixture
async def wired(tmp_path: Path) -> AsyncIterator[Wired]:
    async with open_seeded_store(tmp_path) as seeded:
        wired = Wired(seeded)
        yield wired
        for webhooks in wired.made:
            await webhooks.stop()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


async def test_each_delivery_is_told_with_who_what_and_where_and_without_its_text(
    wired: Wired, receiver: Receiver
) -> None:
    await wired.start(receiver)
    message_id = await wired.send(wired.seeded.red, wired.seeded.fox)

    heard = await receiver.until(2)

    store_id = await wired.seeded.store.read(lambda view: view.meta.store_id())
    said = {"id": message_id, "subject": "Plan", "importance": "normal"}
    base = {"event": "delivered", "ts": "2027-01-15T08:00:00.000000+00:00"}
    assert sorted((one.event for one in heard), key=lambda event: str(event["id"])) == [
        {
            "id": f"{store_id}-1",
            **base,
            "project": "code-app",
            "agent": "RedStone",
            "message": {**said, "from": "BlueLake"},
        },
        {
            "id": f"{store_id}-2",
            **base,
            "project": "code-lib",
            "agent": "QuietFox",
            "message": {**said, "from": "BlueLake@code-app"},
        },
    ]


async def test_every_webhook_is_told_of_each_delivery_once_and_of_nothing_before_the_start(
    wired: Wired, receiver: Receiver
) -> None:
    async with receiving() as other:
        await wired.send(wired.seeded.red)
        webhooks = await wired.start(receiver, other)
        sent = [await wired.send(wired.seeded.red, wired.seeded.green) for _ in range(30)]
        await until(webhooks, told=120)

        told = [sorted(heard.event["message"]["id"] for heard in one.heard) for one in (receiver, other)]

    assert told == [sorted(2 * sent)] * 2
    assert len({heard.event["id"] for heard in receiver.heard}) == 60


async def test_what_comes_between_the_making_and_the_start_is_told_too(wired: Wired, receiver: Receiver) -> None:
    """A server takes mail before it starts what works beside."""
    await wired.send(wired.seeded.red)
    webhooks = await wired.make(receiver)
    sent = [await wired.send(wired.seeded.red), await wired.send(wired.seeded.fox)]

    webhooks.start()
    await receiver.until(2)
    sent.append(await wired.send(wired.seeded.red))
    await until(webhooks, told=3)

    assert sorted(heard.event["message"]["id"] for heard in receiver.heard) == sent


async def test_reading_and_acknowledging_are_no_deliveries(wired: Wired, receiver: Receiver) -> None:
    webhooks = await wired.start(receiver)
    message_id = await wired.send(wired.seeded.red)
    await receiver.until(1)

    await wired.seeded.store.write(lambda tx: tx.inboxes.mark_read(wired.seeded.red.id, MessageId(message_id), tx.now))
    await wired.send(wired.seeded.green)
    await until(webhooks, told=2)

    assert [heard.event["agent"] for heard in receiver.heard] == ["RedStone", "GreenField"]


async def test_of_much_mail_at_once_nothing_is_left_out(
    wired: Wired, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks_module, "DELIVERIES_AT_ONCE", 3)
    monkeypatch.setattr(webhooks_module, "AGENTS_AT_ONCE", 1)
    monkeypatch.setattr(webhooks_module, "MOST_POSITIONS", 1)
    webhooks = await wired.start(receiver)

    await asyncio.gather(*(wired.send(wired.seeded.red, wired.seeded.green, wired.seeded.fox) for _ in range(20)))
    await until(webhooks, told=60)
    await wired.send(wired.seeded.red)
    await until(webhooks, told=61)

    assert len({heard.event["id"] for heard in receiver.heard}) == 61
    assert len(webhooks._positions) <= 1


async def test_a_failed_call_is_made_again_five_times_in_ten_minutes_and_then_counted(
    wired: Wired, receiver: Receiver
) -> None:
    receiver.always = answering(503)
    webhooks = await wired.start(receiver)
    await wired.send(wired.seeded.red)
    for tries, pause_s in enumerate((5, 25, 120, 450), 1):
        await receiver.until(tries)
        await until(webhooks, failed=0)
        await until_it_waits(webhooks)
        wired.pass_s(webhooks, pause_s)
    await until(webhooks, failed=1)

    figures = webhooks.figures()
    assert (len(receiver.heard), figures.waiting, figures.told) == (5, 0, 0)
    assert figures.last_error == "webhook 1: it answered 503"
    assert len({heard.body for heard in receiver.heard}) == 1
    assert wired.elapsed.now_s == 600


async def test_a_webhook_that_answers_again_is_told_what_waited_and_is_well(wired: Wired, receiver: Receiver) -> None:
    receiver.answers.append(answering(500))
    webhooks = await wired.start(receiver)
    message_id = await wired.send(wired.seeded.red)
    await receiver.until(1)
    await until_it_waits(webhooks)

    wired.pass_s(webhooks, 5)
    await until(webhooks, told=1)

    assert [heard.event["message"]["id"] for heard in receiver.heard] == [message_id] * 2
    assert (webhooks.figures().last_error, webhooks.figures().waiting) == (None, 0)


async def test_one_that_hangs_holds_up_neither_another_nor_the_mail(wired: Wired, receiver: Receiver) -> None:
    async with receiving(always=None) as hanging:
        webhooks = await wired.start(hanging, receiver)
        for _ in range(20):
            await wired.send(wired.seeded.red)

        await receiver.until(20)

        assert len(hanging.heard) <= webhooks_module.AT_ONCE
        await webhooks.stop(0.05)


async def test_one_slow_call_holds_up_no_other_of_its_webhook(wired: Wired, receiver: Receiver) -> None:
    receiver.answers.append(None)
    webhooks = await wired.start(receiver)
    for _ in range(30):
        await wired.send(wired.seeded.red)

    await until(webhooks, told=29)

    assert (webhooks.figures().waiting, webhooks._webhooks[0].queue.under_way) == (1, 1)
    await webhooks.stop(0.05)


async def test_never_more_calls_of_one_webhook_are_under_way_than_may_be(wired: Wired, receiver: Receiver) -> None:
    async with receiving() as slow:
        slow.answers = [None, *[slow.always] * 10, None, None, *[slow.always] * 10]
        slow.always = None
        webhooks = await wired.start(slow, receiver)
        for _ in range(50):
            await wired.send(wired.seeded.red)

        await receiver.until(50)
        await slow.until(20 + webhooks_module.AT_ONCE)
        await until(webhooks, told=70)

        assert len(slow.heard) == 20 + webhooks_module.AT_ONCE
        assert webhooks.figures().last_error is None
        await webhooks.stop(0.05)


async def test_a_webhook_that_answers_hides_none_that_does_not(wired: Wired, receiver: Receiver) -> None:
    async with receiving(always=answering(410)) as dead, receiving(answers=[answering(500)]) as shaky:
        webhooks = await wired.start(dead, shaky, receiver)
        await wired.send(wired.seeded.red)
        await dead.until(1)
        await until_it_waits(webhooks, 0)
        await until_it_waits(webhooks, 1)
        seen = [webhooks.figures().last_error]
        wired.pass_s(webhooks, 5)
        await until(webhooks, told=2)
        seen.append(webhooks.figures().last_error)

    assert seen == ["webhook 1: it answered 410"] * 2


async def test_each_webhook_has_its_share_of_what_may_wait_and_the_oldest_goes(
    wired: Wired, receiver: Receiver
) -> None:
    receiver.always = answering(500)
    async with receiving() as other:
        webhooks = await wired.start(receiver, other, most_waiting=20)
        for number in range(30):
            await wired.send(wired.seeded.red)
            await other.until(number + 1)
        await receiver.until(30)
        await until(webhooks, told=30)

        assert (webhooks.figures().dropped, webhooks.figures().waiting) == (20, 10)


async def test_what_is_committed_last_is_told_before_the_stop_is_over(wired: Wired, receiver: Receiver) -> None:
    webhooks = await wired.start(receiver)
    await wired.send(wired.seeded.red)

    await webhooks.stop()

    assert [heard.event["agent"] for heard in receiver.heard] == ["RedStone"]


async def test_what_waits_behind_the_calls_under_way_is_told_before_the_stop_is_over(
    wired: Wired, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks_module, "AT_ONCE", 1)
    monkeypatch.setattr(webhook_call, "CALL_WITHIN_S", 0.5)
    receiver.answers.append(None)
    webhooks = await wired.start(receiver)
    sent = [await wired.send(wired.seeded.red) for _ in range(2)]
    await receiver.until(1)

    await webhooks.stop(within_s=20)

    assert [heard.event["message"]["id"] for heard in receiver.heard] == sent
    assert webhooks.figures().told == 1


async def test_what_is_given_up_at_the_stop_is_logged(
    wired: Wired, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.always = answering(500)
    webhooks = await wired.start(receiver)
    await wired.send(wired.seeded.red)
    await receiver.until(1)

    with caplog.at_level(logging.WARNING, "mcp_agent_mail.webhooks"):
        await webhooks.stop()

    assert [vars(record)["facts"] for record in caplog.records if "given up" in record.message] == [{"calls": 1}]
