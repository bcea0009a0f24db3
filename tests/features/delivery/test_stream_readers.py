"""Who reads a stream of resources: identified again while it is open, and what ends with that."""

from __future__ import annotations

import asyncio

import pytest

from mcp_agent_mail.core.errors import PermissionDenied, Unavailable
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.presence import ListeningVia
from mcp_agent_mail.features.delivery import known_looks
from mcp_agent_mail.features.delivery.stream_readers import ReaderGone, lasting
from tests.features.delivery.harness import NOBODY, DeliveryHarness
from tests.features.delivery.subscribers import FAR_S, reading, subscriptions_over
from tests.features.delivery.test_shared_look import elsewhere
from tests.features.delivery.test_subscriptions import BLUE, RED, to_blue
from tests.seeded_store import add_agent


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


async def test_a_stream_whose_reader_could_not_be_asked_for_is_asked_for_again(harness: DeliveryHarness) -> None:
    """It is doubted once, when it is opened: nobody tells of what another process has done since."""
    red = harness.seeded.red
    proof = harness.proof(red)
    subscriptions = subscriptions_over(harness)
    require, refused = subscriptions.readers.require, list[Unavailable]()

    async def sick_at_first(credentials: Credentials, holder: AgentId | None) -> None:
        if not refused:
            refused.append(Unavailable("The store is busy."))
            raise refused[0]
        await require(credentials, holder)

    subscriptions.readers.require = sick_at_first  # type: ignore[method-assign]  # a sick store
    stream = subscriptions.stream()
    await stream.subscribe(RED, proof)
    async with stream.opened(reader=proof, holder=red.id):
        elsewhere(harness, "UPDATE agents SET token_hash = x'00' WHERE id = ?", red.id)
        with pytest.raises(PermissionDenied):
            async with asyncio.timeout(10):
                await anext(stream.changes())

    assert len(refused) == 1


async def test_a_look_of_before_a_doubt_answers_none(harness: DeliveryHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_looks, "KNOWN_FOR_S", FAR_S)
    red, via_of = harness.seeded.red, harness.service.waiters.via_of
    stream = subscriptions_over(harness).stream()
    await stream.subscribe(RED, harness.proof(red))
    async with reading(stream) as reader:
        await harness.send()
        told = await reader.next()
        before = via_of(red.id)
        await reissue(harness)
        telling = asyncio.create_task(reader.next())
        async with asyncio.timeout(5):
            while via_of(red.id) is not None:  # noqa: ASYNC110  # nobody tells a test
                await asyncio.sleep(0)
        telling.cancel()
        await asyncio.wait([telling])

    assert (told, before) == (RED, ListeningVia.STREAM)


def test_nothing_of_a_session_is_kept() -> None:
    kept = lasting(
        Credentials(via="mcp", agent_token="t", session=object(), forgotten_session=object(), origin="a connection")
    )

    assert (kept.agent_token, kept.session, kept.forgotten_session, kept.origin) == ("t", None, None, None)


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


@pytest.mark.parametrize("has_place", [False, True])
async def test_a_token_that_was_replaced_while_its_stream_was_being_opened_ends_it(
    harness: DeliveryHarness, has_place: bool
) -> None:
    red = harness.seeded.red
    proof = harness.proof(red)
    subscriptions = subscriptions_over(harness)
    stream = subscriptions.stream()
    if has_place:
        await stream.subscribe(BLUE, NOBODY)
    holder = await subscriptions.readers.find(proof)
    await reissue(harness)
    async with stream.opened(reader=proof, holder=holder):
        with pytest.raises(PermissionDenied):
            async with asyncio.timeout(10):
                await anext(stream.changes())


async def test_who_takes_a_place_of_an_agents_is_asked_first_whether_it_still_may(harness: DeliveryHarness) -> None:
    """Its stream was open before, without one, and nobody has told of what another process did."""
    red = harness.seeded.red
    proof = harness.proof(red)
    stream = subscriptions_over(harness).stream()
    async with stream.opened(reader=proof, holder=red.id):
        ends = asyncio.ensure_future(anext(stream.changes()))
        seat = stream._place.seat
        async with asyncio.timeout(10):
            while seat._doubted or seat._woken is None:  # noqa: ASYNC110  # nobody tells a test
                await asyncio.sleep(0)
            elsewhere(harness, "UPDATE agents SET token_hash = x'00' WHERE id = ?", red.id)
            await stream.subscribe(BLUE, NOBODY)
            with pytest.raises(PermissionDenied):
                await ends


@pytest.mark.parametrize("is_open_before", [False, True])
async def test_nobody_listens_by_a_name_that_has_come_to_mean_several(
    harness: DeliveryHarness, is_open_before: bool
) -> None:
    red, via_of, uri = harness.seeded.red, harness.service.waiters.via_of, "resource://inbox/RedStone"
    subscriptions = subscriptions_over(harness)
    subscriptions.identify_every_s = 0.001
    stream = subscriptions.stream()
    if not is_open_before:
        await stream.subscribe(uri, harness.proof(red))
    async with reading(stream) as reader:
        telling = asyncio.create_task(reader.next())
        if is_open_before:
            await asyncio.sleep(0)
            await stream.subscribe(uri, harness.proof(red))
        before = via_of(red.id)
        await harness.seeded.store.write(lambda tx: add_agent(tx, harness.seeded.lib, "RedStone"))
        async with asyncio.timeout(5):
            while via_of(red.id) is not None:  # noqa: ASYNC110  # nobody tells a test
                await asyncio.sleep(0.001)
        telling.cancel()
        await asyncio.wait([telling])

    assert before == ListeningVia.STREAM


async def test_who_subscribes_on_a_stream_that_is_open_listens_no_longer_than_it_may(harness: DeliveryHarness) -> None:
    """Nothing was heard of rights before: the stream hung on nobody's."""
    red, via_of = harness.seeded.red, harness.service.waiters.via_of
    stream = subscriptions_over(harness).stream()
    async with reading(stream) as reader:
        telling = asyncio.create_task(reader.next())
        await stream.subscribe(RED, harness.proof(red))
        before = via_of(red.id)
        await reissue(harness)
        async with asyncio.timeout(5):
            while via_of(red.id) is not None:  # noqa: ASYNC110  # nobody tells a test
                await asyncio.sleep(0)
        telling.cancel()
        await asyncio.wait([telling])

    assert before == ListeningVia.STREAM


@pytest.mark.parametrize("is_proven", [False, True])
async def test_a_stream_without_a_subscription_waits_for_no_write_to_end(
    harness: DeliveryHarness, is_proven: bool
) -> None:
    """And nobody who writes pays for one that nobody is proven to read."""
    waiters, red = harness.service.waiters, harness.seeded.red
    waiters._settle = asyncio.Event().wait  # type: ignore[assignment]  # a long write
    stream = subscriptions_over(harness).stream()
    opened = stream.opened(reader=harness.proof(red), holder=red.id) if is_proven else stream.opened()
    async with asyncio.timeout(10), opened:
        assert waiters._is_subscribed is is_proven


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
