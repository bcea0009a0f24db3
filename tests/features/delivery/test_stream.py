"""A feed that is followed: its pages, its silences and its ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.delivery.requests import FollowRequest
from mcp_agent_mail.features.delivery.stream import MOST_BEHIND, PAGE, FeedStream, _end_of_silence
from mcp_agent_mail.features.delivery.waiters import MailWaiter
from tests.features.delivery.harness import DeliveryHarness, refused
from tests.features.messaging.harness import APP

ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
SILENT_S = 600.0
Page = list[Any]


@dataclass
class Reader:
    stream: FeedStream
    waiter: MailWaiter
    pages: AsyncIterator[Page]

    async def page(self) -> list[tuple[str, int]]:
        return [(one["event"], one["message_id"]) for one in await anext(self.pages)]

    async def whole(self) -> Page:
        """All pages until the stream ends."""
        return [event async for page in self.pages for event in page]


async def anybody() -> Caller:
    return ANYBODY


async def follow(harness: DeliveryHarness, agent: str = "RedStone", after: int | None = None) -> FeedStream:
    return await harness.service.follow(ANYBODY, FollowRequest(project_key=APP, agent_name=agent, after=after))


@contextmanager
def reading(stream: FeedStream, *, silence_s: float = SILENT_S, identify: Any = anybody) -> Any:
    with stream.placed() as waiter:
        yield Reader(stream, waiter, stream.pages(waiter, identify, silence_s=silence_s))


async def fill(harness: DeliveryHarness, count: int) -> None:
    """So many deliveries to RedStone, in one commit."""
    seeded = harness.seeded

    def deliver(tx: Any) -> None:
        for _ in range(count):
            tx.messages.add(seeded.letter(seeded.blue), seeded.addressed([seeded.red]), tx.now)

    await seeded.store.write(deliver)


async def test_without_a_cursor_a_stream_begins_now_and_goes_on_as_things_happen(harness: DeliveryHarness) -> None:
    await harness.sent_id()
    stream = await follow(harness)
    # Behind the opening and before the reader's place: not lost.
    first = await harness.sent_id()
    with reading(stream) as reader:
        assert await reader.page() == [("delivered", first)]
        coming = asyncio.create_task(reader.page())
        await asyncio.sleep(0)

        second = await harness.sent_id()

        assert await coming == [("delivered", second)]


async def test_a_sender_follows_what_becomes_of_its_mail(harness: DeliveryHarness) -> None:
    message = await harness.sent_id()
    with reading(await follow(harness, "BlueLake")) as reader:
        coming = asyncio.create_task(anext(reader.pages))
        await asyncio.sleep(0)

        await harness.call("mark_message_read", agent_name="RedStone", message_id=message)

        (event,) = await coming
    assert list(event) == ["cursor", "event", "message_id", "ts", "agent"]
    assert (event["event"], event["message_id"], event["agent"]) == ("read", message, "RedStone")


@pytest.mark.parametrize("after", [0, 3])
async def test_a_cursor_gives_all_that_came_behind_it_page_by_page(harness: DeliveryHarness, after: int) -> None:
    await fill(harness, 2 * PAGE + 6)
    expected = (await harness.feed("RedStone", after=after, limit=1_000))["events"]

    with reading(await follow(harness, after=after)) as reader:
        pages = [await anext(reader.pages) for _ in range(3)]

    assert [len(page) for page in pages[:2]] == [PAGE, PAGE]
    assert [event for page in pages for event in page] == expected


async def test_silence_is_told_again_and_again(harness: DeliveryHarness) -> None:
    with reading(await follow(harness), silence_s=0.001) as reader:
        assert [await reader.page() for _ in range(3)] == [[], [], []]


async def test_what_wakes_and_is_nothing_to_tell_does_not_put_off_that_a_stream_is_silent(
    harness: DeliveryHarness,
) -> None:
    """An inbox that is read all the time is no news in the feed of whoever reads it."""
    waiters: list[MailWaiter] = []

    async def identify() -> Caller:
        # What changes during each look wakes.
        waiters[0].wake()
        await asyncio.sleep(0)
        return ANYBODY

    with reading(await follow(harness), silence_s=0.05, identify=identify) as reader:
        waiters.append(reader.waiter)
        async with asyncio.timeout(10):
            told = [await reader.page() for _ in range(3)]

    assert told == [[], [], []]


async def test_a_silent_stream_asks_nothing_before_it_is_woken_and_then_who_may_read(harness: DeliveryHarness) -> None:
    asked: list[Caller] = []

    async def identify() -> Caller:
        if asked:
            raise PermissionDenied("Not any more.")
        asked.append(ANYBODY)
        return ANYBODY

    with reading(await follow(harness), silence_s=0.001, identify=identify) as reader:
        silent = [await anext(reader.pages) for _ in range(20)]
        reader.waiter.wake()

        with pytest.raises(PermissionDenied):
            await asyncio.wait_for(reader.whole(), 10)

    assert (silent, asked) == ([[]] * 20, [ANYBODY])


async def test_a_silent_stream_takes_its_cursor_from_who_looked_for_all(harness: DeliveryHarness) -> None:
    stream = await follow(harness)
    with reading(stream, silence_s=0.001) as reader:
        await anext(reader.pages)
        before = stream.cursor
        reader.waiter.quiet_to = before + 7
        await anext(reader.pages)

    assert stream.cursor == before + 7


async def test_silences_of_many_end_in_the_same_moment_and_none_is_longer_than_it_may_be() -> None:
    ends = {_end_of_silence(100 + part / 64, 15.0) for part in range(63)}

    assert ends == {115}
    assert _end_of_silence(100.995, 15.0) == 116
    assert _end_of_silence(100.5, 0.25) == 100.75


async def test_a_reader_that_was_up_to_date_and_falls_far_behind_is_cut_and_resumes_without_loss(
    harness: DeliveryHarness,
) -> None:
    stream = await follow(harness, after=0)
    await fill(harness, 1)
    with reading(stream) as reader:
        got = await anext(reader.pages)
        # It takes so long over this page.
        await fill(harness, MOST_BEHIND)
        got += await reader.whole()
    expected = (await harness.feed("RedStone", after=0, limit=1_000))["events"]
    assert got == expected[:1]

    with reading(await follow(harness, after=got[-1]["cursor"])) as reader:
        while len(got) < MOST_BEHIND:
            got += await anext(reader.pages)

    assert got[:1_000] == expected


async def test_a_reader_less_far_behind_is_not_cut(harness: DeliveryHarness) -> None:
    with reading(await follow(harness, after=0), silence_s=0.001) as reader:
        await anext(reader.pages)
        await fill(harness, MOST_BEHIND - 1)

        pages: list[Page] = []
        while sum(map(len, pages)) < MOST_BEHIND - 1:
            # A silence of a millisecond may end before any of them.
            pages += filter(None, [await anext(reader.pages)])
        after_all = await anext(reader.pages)

    assert [len(page) for page in [*pages, after_all]] == [PAGE] * 9 + [PAGE - 1, 0]


async def test_a_stream_ends_at_a_stop_and_when_its_reader_has_left(harness: DeliveryHarness) -> None:
    with reading(await follow(harness)) as one, reading(await follow(harness)) as two:
        ends = [asyncio.create_task(reader.whole()) for reader in (one, two)]
        await asyncio.sleep(0)

        one.waiter.leave()
        assert await ends[0] == []
        assert harness.service.waiters.figures().streams == 1
        harness.service.waiters.close()

        assert await ends[1] == []


async def test_a_reader_that_may_read_no_more_is_told_nothing_more(harness: DeliveryHarness) -> None:
    answers: list[Caller] = [ANYBODY]

    async def identify() -> Caller:
        if not answers:
            raise PermissionDenied("Not any more.")
        return answers.pop()

    await harness.sent_id()
    with reading(await follow(harness, after=0), identify=identify) as reader:
        assert len(await anext(reader.pages)) == 1

        with pytest.raises(PermissionDenied):
            await anext(reader.pages)


async def test_a_cursor_beyond_the_last_one_opens_nothing(harness: DeliveryHarness) -> None:
    ahead = await refused(follow(harness, after=10**6))

    assert (ahead.code, harness.service.waiters.figures().streams) == ("CURSOR_AHEAD", 0)


async def test_a_stream_of_a_sender_at_its_word_tells_of_no_blind_copy(harness: DeliveryHarness) -> None:
    message = await harness.sent_id(bcc=["GreenField"])
    with reading(await follow(harness, "BlueLake", after=0)) as reader:
        await harness.call("mark_message_read", agent_name="GreenField", message_id=message)
        await harness.call("mark_message_read", agent_name="RedStone", message_id=message)

        (event,) = await anext(reader.pages)

    assert (event["event"], event["agent"]) == ("read", "RedStone")


async def test_an_operator_that_follows_a_feed_is_told_of_it_and_makes_nobody_listen(harness: DeliveryHarness) -> None:
    operator = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)

    async def identify() -> Caller:
        return operator

    stream = await harness.service.follow(operator, FollowRequest(project_key=APP, agent_name="RedStone"))
    with reading(stream, identify=identify) as reader:
        assert harness.service.waiters.via_of(harness.seeded.red.id) is None
        coming = asyncio.create_task(reader.page())
        await asyncio.sleep(0)

        sent = await harness.sent_id()

        assert await coming == [("delivered", sent)]


async def test_a_stream_of_an_agent_that_retires_ends_and_none_of_it_begins(harness: DeliveryHarness) -> None:
    red = harness.seeded.red
    with reading(await follow(harness), silence_s=0.001) as reader:
        await anext(reader.pages)
        await harness.seeded.store.write(lambda tx: tx.agents.set_retired(red.id, tx.now, tx.now))
        async with asyncio.timeout(10):
            rest = await reader.whole()

    again = await refused(follow(harness))

    assert (rest, again.code) == ([], "CONFLICT")
