"""The issuer's keys over hours of a fake clock: kept, read anew beside requests, served while it is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from mcp_agent_mail.core.clock import SECOND
from mcp_agent_mail.server.jwt.key_document import KeyDocument
from mcp_agent_mail.server.jwt.key_set import MOST_SOUGHT, KeySet
from mcp_agent_mail.server.jwt.proofs import IssuerAway, KeyUnknown
from mcp_agent_mail.server.jwt.signatures import VerifyingKeys
from tests.server.jwt.issuing import NOW_S, FakeClock, Issuer, issuing, new_key, public, until

ONE, TWO, THREE = (public(new_key("EdDSA", number), kid=name) for number, name in enumerate(("one", "two", "three")))
MINUTE, HOUR = 60, 3_600
TOKEN = b"the digest of a token"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with issuing(ONE) as opened:
        yield opened


@pytest.fixture
async def keys(issuer: Issuer, clock: FakeClock) -> AsyncIterator[KeySet]:
    document = KeyDocument(issuer.url, ["EdDSA"])
    kept = KeySet(document.read, clock=clock, close=document.close)
    kept.start()
    try:
        yield kept
    finally:
        await kept.stop()


def names(found: VerifyingKeys | None) -> list[str | None] | None:
    return None if found is None else [key.kid for key in found.keys]


async def served(keys: KeySet) -> list[str | None] | int | None:
    """The names of the keys, or when to come again."""
    try:
        return names(await keys.current())
    except IssuerAway as away:
        return away.retry_after_s


async def rested(keys: KeySet, issuer: Issuer, looks: int) -> None:
    """Once so many looks have come to their end, failed or not."""
    await until(lambda: issuer.looks >= looks and not keys._is_look_coming())
    assert issuer.looks == looks


async def test_the_first_keys_are_read_at_the_start_before_anybody_asks(keys: KeySet, issuer: Issuer) -> None:
    await rested(keys, issuer, 1)

    assert (keys.figures().keys, keys.figures().read_ts, keys.figures().error) == (1, NOW_S * SECOND, None)


async def test_who_comes_before_the_first_keys_waits_for_them_together(keys: KeySet, issuer: Issuer) -> None:
    issuer.gate = asyncio.Event()
    asking = [asyncio.create_task(served(keys)) for _ in range(50)]
    await until(lambda: issuer.looks == 1)

    issuer.gate.set()

    assert await asyncio.gather(*asking) == [["one"]] * 50
    assert issuer.looks == 1


async def test_keys_are_kept_for_ten_minutes_and_read_anew_beside_requests(
    keys: KeySet, issuer: Issuer, clock: FakeClock
) -> None:
    first = await keys.current()
    issuer.publish(ONE, TWO)

    clock.now_s += 10 * MINUTE - 1
    assert await keys.current() is first
    assert issuer.looks == 1
    clock.now_s += 1
    issuer.gate = asyncio.Event()
    assert await keys.current() is first
    await until(lambda: issuer.looks == 2)
    assert await keys.current() is first
    issuer.gate.set()
    await rested(keys, issuer, 2)
    assert await served(keys) == ["one", "two"]


async def test_the_same_keys_stay_the_same_object(keys: KeySet, issuer: Issuer, clock: FakeClock) -> None:
    first = await keys.current()
    clock.now_s += 11 * MINUTE
    await keys.current()
    await rested(keys, issuer, 2)

    assert await keys.current() is first
    assert keys.figures().read_ts == clock()


# --- The issuer away ------------------------------------------------------------------------------------------------


async def test_the_issuer_away_for_an_hour_is_not_noticed(keys: KeySet, issuer: Issuer, clock: FakeClock) -> None:
    first = await keys.current()
    issuer.is_away = True

    for _ in range(HOUR):
        clock.now_s += 1
        assert await keys.current() is first
        if not clock.now_s % MINUTE:
            await until(lambda: not keys._is_look_coming())

    assert 40 < issuer.looks <= 52, "from the tenth minute on it is tried once a minute"
    assert keys.figures().error == "the connection to the issuer failed (RemoteDisconnected)"
    issuer.is_away = False
    clock.now_s += MINUTE
    await keys.current()
    await until(lambda: keys.figures().error is None)
    assert keys.figures().read_ts == clock()


async def test_the_last_good_keys_serve_for_a_day_and_then_nobody_can_tell(
    keys: KeySet, issuer: Issuer, clock: FakeClock
) -> None:
    await keys.current()
    issuer.is_away = True

    clock.now_s += 24 * HOUR - 1
    assert await served(keys) == ["one"]
    await rested(keys, issuer, 2)
    clock.now_s += 1
    assert await served(keys) == 4
    assert (issuer.looks, keys.figures().keys) == (2, 0)
    clock.now_s += 4
    assert await served(keys) == 5
    assert issuer.looks == 3
    issuer.is_away = False
    clock.now_s += 5
    assert await served(keys) == ["one"]


async def test_after_a_quiet_day_the_issuer_is_asked_before_anybody_is_refused(
    keys: KeySet, issuer: Issuer, clock: FakeClock
) -> None:
    await keys.current()
    issuer.publish(TWO)
    clock.now_s += 48 * HOUR

    assert await served(keys) == ["two"]


async def test_an_issuer_away_at_the_start_is_tried_every_five_seconds(
    keys: KeySet, issuer: Issuer, clock: FakeClock
) -> None:
    issuer.is_away = True

    assert await asyncio.gather(*(served(keys) for _ in range(20))) == [5] * 20
    clock.now_s += 3
    assert await served(keys) == 2
    assert issuer.looks == 1
    issuer.is_away = False
    clock.now_s += 2
    assert await served(keys) == ["one"]


@pytest.mark.parametrize(
    "raw", [b"HTTP/1.1 302 X\r\nLocation: /\r\n\r\n", b"HTTP/1.1 200 X\r\n\r\n{}", b"HTTP/1.1 200 X\r\n\r\n{"]
)
async def test_what_is_no_answer_leaves_the_last_good_keys(
    raw: bytes, keys: KeySet, issuer: Issuer, clock: FakeClock
) -> None:
    first = await keys.current()
    issuer.raw = raw
    clock.now_s += HOUR
    await keys.current()
    await rested(keys, issuer, 2)

    assert await keys.current() is first
    assert keys.figures().error is not None


async def test_an_issuer_that_hangs_holds_up_nobody_who_has_keys(
    keys: KeySet, issuer: Issuer, clock: FakeClock
) -> None:
    first = await keys.current()
    issuer.hangs = True
    clock.now_s += HOUR

    assert all([await keys.current() is first for _ in range(1_000)])


async def test_who_waits_for_an_issuer_that_hangs_is_told_in_time(issuer: Issuer, clock: FakeClock) -> None:
    issuer.hangs = True
    document = KeyDocument(issuer.url, ["EdDSA"])
    keys = KeySet(document.read, clock=clock, close=document.close, wait_s=0.2)
    keys.start()

    assert await asyncio.gather(*(served(keys) for _ in range(20))) == [1] * 20
    await keys.stop()


async def test_a_clock_that_is_set_back_leaves_keys_for_a_day_from_then(
    keys: KeySet, issuer: Issuer, clock: FakeClock
) -> None:
    first = await keys.current()
    issuer.is_away = True

    clock.now_s -= 100 * HOUR
    assert await keys.current() is first
    clock.now_s += 24 * HOUR - 1
    assert await keys.current() is first
    await rested(keys, issuer, 2)
    clock.now_s += 1
    assert await served(keys) == 4


# --- Keys that nobody knows -------------------------------------------------------------------------------------------


async def test_a_key_that_nobody_knows_is_asked_for_once_a_minute(
    keys: KeySet, issuer: Issuer, clock: FakeClock
) -> None:
    first = await keys.current()

    assert await asyncio.gather(*(keys.newer_than(first, TOKEN) for _ in range(100))) == [None] * 100
    assert issuer.looks == 2
    clock.now_s += 59
    assert await keys.newer_than(first, TOKEN) is None, "it was looked for since it came"
    assert issuer.looks == 2
    clock.now_s += 1
    issuer.publish(ONE, TWO)
    assert {
        str(names(found)) for found in await asyncio.gather(*(keys.newer_than(first, TOKEN) for _ in range(100)))
    } == {"['one', 'two']"}
    assert issuer.looks == 3


async def test_who_comes_in_the_rest_of_the_minute_is_told_when_its_key_can_be_looked_for(
    keys: KeySet, issuer: Issuer, clock: FakeClock
) -> None:
    first = await keys.current()
    assert await keys.newer_than(first, b"nobody's") is None
    issuer.publish(ONE, TWO)

    told = []
    for passed_s in (0.5, 58.6):
        clock.now_s += passed_s
        with pytest.raises(KeyUnknown) as unknown:
            await keys.newer_than(first, TOKEN)
        told.append((unknown.value.retry_after_s, unknown.value.data))
    clock.now_s += 1

    assert told == [(60, {"retry_after_s": 60}), (1, {"retry_after_s": 1})]
    assert names(await keys.newer_than(first, TOKEN)) == ["one", "two"]
    assert issuer.looks == 3


async def test_a_token_is_refused_once_its_key_was_looked_for_whoever_asked(
    keys: KeySet, issuer: Issuer, clock: FakeClock
) -> None:
    """Else somebody who asks first each minute would keep all others waiting."""
    first = await keys.current()
    assert await keys.newer_than(first, b"nobody's") is None
    with pytest.raises(KeyUnknown):
        await keys.newer_than(first, TOKEN)
    clock.now_s += 60
    assert await keys.newer_than(first, b"another of nobody's") is None

    assert await keys.newer_than(first, TOKEN) is None
    assert issuer.looks == 3


async def test_a_look_that_was_under_way_is_no_answer_where_no_other_may_follow(keys: KeySet, issuer: Issuer) -> None:
    first = await keys.current()
    issuer.gate = asyncio.Event()
    nobodys = asyncio.create_task(keys.newer_than(first, b"nobody's"))
    await until(lambda: issuer.looks == 2)
    issuer.publish(ONE, TWO)

    asking = asyncio.create_task(keys.newer_than(first, TOKEN))
    await asyncio.sleep(0)
    issuer.gate.set()

    assert await nobodys is None
    with pytest.raises(KeyUnknown):
        await asking


async def test_of_a_thousand_tokens_it_is_known_since_when_their_keys_are_sought(keys: KeySet) -> None:
    """The one that came first is forgotten, and told to come again."""
    first = await keys.current()
    assert await keys.newer_than(first, TOKEN) is None
    for number in range(MOST_SOUGHT):
        with pytest.raises(KeyUnknown):
            await keys.newer_than(first, b"%d" % number)

    assert len(keys._sought) == MOST_SOUGHT
    with pytest.raises(KeyUnknown):
        await keys.newer_than(first, TOKEN)


async def test_keys_that_were_read_meanwhile_are_other_keys(keys: KeySet, issuer: Issuer, clock: FakeClock) -> None:
    first = await keys.current()
    issuer.publish(TWO)
    clock.now_s += 11 * MINUTE
    await keys.current()
    await rested(keys, issuer, 2)

    assert names(await keys.newer_than(first, TOKEN)) == ["two"]
    assert issuer.looks == 2


async def test_a_look_that_began_before_a_key_was_published_is_no_answer(
    keys: KeySet, issuer: Issuer, clock: FakeClock
) -> None:
    first = await keys.current()
    clock.now_s += 11 * MINUTE
    issuer.gate = asyncio.Event()
    await keys.current()
    await until(lambda: issuer.looks == 2)
    issuer.publish(ONE, TWO)

    asking = [asyncio.create_task(keys.newer_than(first, TOKEN)) for _ in range(20)]
    await asyncio.sleep(0)
    issuer.gate.set()

    assert [names(found) for found in await asyncio.gather(*asking)] == [["one", "two"]] * 20
    assert issuer.looks == 3


async def test_while_the_issuer_is_away_nobody_can_tell_of_an_unknown_key(keys: KeySet, issuer: Issuer) -> None:
    first = await keys.current()
    issuer.is_away = True

    for _ in range(2):
        with pytest.raises(KeyUnknown) as away:
            await keys.newer_than(first, TOKEN)
        assert (away.value.retry_after_s, away.value.data) == (MINUTE, {"retry_after_s": MINUTE})
    assert issuer.looks == 2
    assert await keys.current() is first


async def test_one_who_leaves_takes_the_look_from_nobody(keys: KeySet, issuer: Issuer) -> None:
    first = await keys.current()
    issuer.publish(ONE, THREE)
    issuer.gate = asyncio.Event()
    leaving, staying = (asyncio.create_task(keys.newer_than(first, TOKEN)) for _ in range(2))
    await until(lambda: issuer.looks == 2)

    leaving.cancel()
    issuer.gate.set()

    assert names(await staying) == ["one", "three"]
    assert leaving.cancelled()


async def test_a_stop_ends_who_waits(issuer: Issuer, clock: FakeClock) -> None:
    issuer.hangs = True
    document = KeyDocument(issuer.url, ["EdDSA"])
    keys = KeySet(document.read, clock=clock, close=document.close)
    keys.start()
    waiting = asyncio.create_task(served(keys))
    await until(lambda: issuer.looks == 1)

    await keys.stop()

    assert await waiting == 5
    assert await served(keys) == 5
    assert keys.figures().error is None, "a stop is no failure of the issuer"
    await until(lambda: issuer.ended == 1)


async def test_what_nobody_expected_is_told_and_followed_by_another_look(clock: FakeClock) -> None:
    looks = 0

    async def read() -> VerifyingKeys:
        nonlocal looks
        looks += 1
        raise RuntimeError("a bug")

    keys = KeySet(read, clock=clock)
    keys.start()
    await until(lambda: looks >= 2)

    assert keys.figures().error == "an unexpected RuntimeError; the log has it"
    await keys.stop()
