"""What comes in between while a stream subscribes or looks: another reader, newer proof, another change."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.presence import ListeningVia
from mcp_agent_mail.features.delivery import known_looks
from tests.features.delivery.harness import NOBODY, DeliveryHarness
from tests.features.delivery.subscribers import FAR_S, reading, subscriptions_over
from tests.features.delivery.test_subscriptions import BLUE, RED, to_blue


class _Held(ResourceTable):
    """Holds the answer to the first look by these credentials back, until it is let go."""

    def __init__(self, table: ResourceTable, credentials: Credentials) -> None:
        super().__init__(table.specs())
        self.is_asked, self.is_let_go = asyncio.Event(), asyncio.Event()
        self._credentials = credentials

    async def read(self, uri: str, credentials: Credentials) -> Any:
        found = await super().read(uri, credentials)
        if credentials == self._credentials and not self.is_asked.is_set():
            self.is_asked.set()
            await self.is_let_go.wait()
        return found


async def test_whoever_has_opened_the_stream_by_then_is_asked_before_an_agent_listens_by_it(
    harness: DeliveryHarness,
) -> None:
    """RedStone subscribes where its own window reads, by another token; BlueLake opens the stream before it is done."""
    red, blue, via_of = harness.seeded.red, harness.proof(harness.seeded.blue), harness.service.waiters.via_of
    proof, window = harness.proof(red), Credentials(via="mcp", said_agent=red.name)
    subscriptions = subscriptions_over(harness)
    stream = subscriptions.stream()
    subscriptions.watchable = held = _Held(subscriptions.watchable, window)
    async with asyncio.timeout(10):
        async with reading(stream, window):
            subscribing = asyncio.create_task(stream.subscribe(RED, proof))
            await held.is_asked.wait()
        async with reading(stream, blue):
            held.is_let_go.set()
            await subscribing
            others = via_of(red.id)
        async with reading(stream, window):
            own = via_of(red.id)

    assert (others, own) == (None, ListeningVia.STREAM)


async def test_newer_proof_that_comes_during_a_look_loses_no_change(harness: DeliveryHarness) -> None:
    subscriptions = subscriptions_over(harness)
    stream = subscriptions.stream()
    await stream.subscribe(RED, NOBODY)
    subscriptions.watchable = held = _Held(subscriptions.watchable, NOBODY)
    async with reading(stream) as reader:
        await harness.send()
        telling = asyncio.create_task(reader.next())
        await held.is_asked.wait()
        await stream.subscribe(RED, harness.proof(harness.seeded.red))
        held.is_let_go.set()

        assert await telling == RED


async def test_each_change_of_what_is_shown_is_looked_at_anew(
    harness: DeliveryHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_looks, "KNOWN_FOR_S", FAR_S)
    number = await harness.sent_id(to=["RedStone", "GreenField"])
    stream = subscriptions_over(harness).stream()
    message, red = f"resource://message/{number}", harness.proof(harness.seeded.red)
    await stream.subscribe(message, red)
    await stream.subscribe(BLUE, NOBODY)
    async with reading(stream) as reader:
        await harness.call("mark_message_read", agent_name="GreenField", message_id=number)
        told = [await reader.next()]
        await harness.withdraw(number)
        await to_blue(harness)
        told.append(await reader.next())

    assert told == [message, BLUE]
