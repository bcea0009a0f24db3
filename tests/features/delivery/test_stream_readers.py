"""Who reads a stream of resources: identified again while it is open, and what ends with that."""

from __future__ import annotations

import asyncio

import pytest

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.domain.presence import ListeningVia
from mcp_agent_mail.features.delivery.stream_readers import ReaderGone
from tests.features.delivery.harness import NOBODY, DeliveryHarness
from tests.features.delivery.subscribers import reading, subscriptions_over
from tests.features.delivery.test_subscriptions import BLUE, RED, to_blue


async def reissue(harness: DeliveryHarness) -> None:
    await harness.seeded.store.write(lambda tx: tx.agents.set_token_hash(harness.seeded.red.id, b"another"))


async def retire(harness: DeliveryHarness) -> None:
    await harness.seeded.store.write(lambda tx: tx.agents.set_retired(harness.seeded.red.id, tx.now, tx.now))


async def test_a_stream_whose_token_counts_no_more_ends_with_the_refusal_and_frees_its_place(
    harness: DeliveryHarness,
) -> None:
    red, waiters = harness.seeded.red, harness.service.waiters
    proof = harness.proof(red)
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(RED, proof)
    async with stream.opened(reader=proof, holder=red.id):
        before = waiters.via_of(red.id)
        await reissue(harness)
        await harness.send()
        with pytest.raises(PermissionDenied):
            async with asyncio.timeout(10):
                await anext(stream.changes())
    after = waiters.via_of(red.id)

    assert (before, after, waiters.figures().streams) == (ListeningVia.STREAM, None, 0)


async def test_a_silent_stream_ends_too(harness: DeliveryHarness) -> None:
    red = harness.seeded.red
    proof = harness.proof(red)
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(RED, proof)
    async with stream.opened(reader=proof, holder=red.id):
        await reissue(harness)
        with pytest.raises(PermissionDenied):
            async with asyncio.timeout(10):
                await anext(stream.changes())


async def test_a_stream_of_an_agent_that_retires_gives_its_place_up_and_takes_none_of_it_again(
    harness: DeliveryHarness,
) -> None:
    red = harness.seeded.red
    proof = harness.proof(red)
    subscriptions = subscriptions_over(harness)
    stream = subscriptions.stream()
    await stream.subscribe(RED, proof)
    before = await subscriptions.readers.find(proof)
    async with stream.opened(reader=proof, holder=before):
        await retire(harness)
        with pytest.raises(ReaderGone):
            async with asyncio.timeout(10):
                await anext(stream.changes())

    assert (before, await subscriptions.readers.find(proof)) == (red.id, None)


@pytest.mark.parametrize("is_silent", [False, True])
async def test_nobody_listens_by_a_subscription_whose_token_counts_no_more(
    harness: DeliveryHarness, is_silent: bool
) -> None:
    """Where whoever opened the stream may go on with it."""
    red, via_of = harness.seeded.red, harness.service.waiters.via_of
    subscriptions = subscriptions_over(harness)
    stream = subscriptions.stream()
    await stream.subscribe(RED, harness.proof(red))
    await stream.subscribe(BLUE, NOBODY)
    async with reading(stream) as reader:
        before = via_of(red.id)
        await reissue(harness)
        if not is_silent:
            await harness.send()
        telling = asyncio.create_task(reader.next())
        async with asyncio.timeout(10):
            while via_of(red.id) is not None:  # noqa: ASYNC110  # nobody tells a test
                await asyncio.sleep(0)
        await to_blue(harness)
        told = await telling

    assert (before, told) == (ListeningVia.STREAM, BLUE)


async def test_who_is_no_agent_that_is_there_is_identified_again_and_again(harness: DeliveryHarness) -> None:
    """Its place is nobody's, so that no change of an agent's tells that its token counts no more."""
    red = harness.seeded.red
    proof = harness.proof(red)
    await retire(harness)
    subscriptions = subscriptions_over(harness)
    subscriptions.identify_every_s = 0.001
    stream = subscriptions.stream()
    await stream.subscribe(BLUE, NOBODY)
    async with stream.opened(reader=proof, holder=await subscriptions.readers.find(proof)):
        await reissue(harness)
        with pytest.raises(PermissionDenied):
            async with asyncio.timeout(10):
                await anext(stream.changes())
