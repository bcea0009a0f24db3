"""The place of one stream, and who is listening by it."""

from __future__ import annotations

from mcp_agent_mail.domain.presence import ListeningVia
from mcp_agent_mail.features.delivery.stream_place import StreamPlace
from tests.features.delivery.harness import DeliveryHarness
from tests.features.delivery.test_kept_news import subscription


async def test_it_is_taken_with_the_first_subscription_and_left_with_the_last(harness: DeliveryHarness) -> None:
    waiters = harness.service.waiters
    place, always = StreamPlace(waiters), StreamPlace(waiters, always_seated=True)
    streams = []
    place.begin(has_subscriptions=False)
    streams.append(waiters.figures().streams)
    place.begin(has_subscriptions=True)
    always.begin(has_subscriptions=False)
    streams.append(waiters.figures().streams)
    place.leave()
    always.leave()
    streams.append(waiters.figures().streams)
    always.free()
    streams.append(waiters.figures().streams)

    assert streams == [0, 2, 1, 0]


async def test_a_stream_hangs_on_the_rights_of_its_holder_while_it_is_open(harness: DeliveryHarness) -> None:
    waiters, red = harness.service.waiters, harness.seeded.red.id
    place, nobodys = StreamPlace(waiters, holder=red), StreamPlace(waiters)
    place.open(has_subscriptions=False)
    nobodys.open(has_subscriptions=False)
    doubts = [place.seat.take_doubt(), nobodys.seat.take_doubt()]
    place.begin(has_subscriptions=True)
    place.begin(has_subscriptions=True)
    doubts.append(place.seat.take_doubt())
    place.leave()
    hangs = [waiters.followers()]
    for each in (place, nobodys, place):
        each.close()
    hangs.append(waiters.followers())

    assert doubts == [True, False, True]
    assert hangs == [{red: [place.seat]}, {}]


async def test_an_agent_listens_until_the_last_subscription_by_which_it_does_is_gone(harness: DeliveryHarness) -> None:
    red, via_of = harness.seeded.red.id, harness.service.waiters.via_of
    place = StreamPlace(harness.service.waiters, holder=red)
    one, two, nobodys = subscription(), subscription("b"), subscription("c")
    place.begin(has_subscriptions=True)
    for each, listener in ((one, red), (two, red), (nobodys, None)):
        place.follow(each, listener)
    place.unfollow(one)
    place.unfollow(one)
    place.unfollow(nobodys)
    listens = [via_of(red)]
    place.unfollow(two)
    listens.append(via_of(red))

    assert listens == [ListeningVia.STREAM, None]
