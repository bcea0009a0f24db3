"""Callers that settle by themselves, after the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.features.doors import pop_claims
from mcp_agent_mail.features.doors.pop_claims import TooManyPopped
from mcp_agent_mail.features.doors.results import Popped
from tests.features.doors.harness import DoorsHarness, ToldHearing, at, open_doors, settled, unread

SOON_S = 0.02
LONG_S = 60.0


async def given_to(harness: DoorsHarness, name: str) -> Popped:
    popped = await harness.doors.pop(at(name), wait_s=0, settles_itself=True)
    assert popped is not None
    return popped


async def test_it_is_read_once_its_caller_says_so_and_not_when_the_answer_was_written(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")
    hearing = ToldHearing()

    with heard_by(hearing):
        popped = await given_to(harness, "bob")
    hearing.tell("written")
    await settled(harness)
    before = await unread(harness, "bob")
    harness.seeded.clock.step(3)
    is_read = await harness.doors.settle_claimed(popped.claim or "")

    assert (before, is_read, await unread(harness, "bob")) == (1, True, 0)
    assert await harness.rows("SELECT read_ts FROM recipients") == [(harness.seeded.clock.now,)]
    assert await harness.doors.settle_claimed(popped.claim or "") is False


async def test_until_then_it_is_nobody_elses(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "1")
    await harness.send("alice", "bob", "2")
    first = await given_to(harness, "bob")

    second = await given_to(harness, "bob")
    third = await harness.doors.pop(at("bob"), wait_s=0)

    assert (first.body, second.body, third) == ("1", "2", None)
    assert first.claim != second.claim


async def test_without_a_word_it_is_given_to_who_waits_and_the_late_word_is_void(tmp_path: Path) -> None:
    async with open_doors(tmp_path, claimed_s=SOON_S) as harness:
        await harness.send("alice", "bob", "hi")
        first = await given_to(harness, "bob")

        second = await harness.doors.pop(at("bob"), wait_s=LONG_S)

        assert second is not None
        assert second.message_id == first.message_id
        assert await harness.doors.settle_claimed(first.claim or "") is False
        assert await harness.doors.give_back_claimed(first.claim or "") is False
        assert await unread(harness, "bob") == 1
        await harness.doors.settle(second)
        assert await unread(harness, "bob") == 0


@pytest.mark.parametrize("how", ["lost", "cut"])
async def test_an_answer_that_was_not_written_gives_it_back_at_once(harness: DoorsHarness, how: str) -> None:
    await harness.send("alice", "bob", "hi")
    hearing = ToldHearing()
    with heard_by(hearing):
        first = await given_to(harness, "bob")

    hearing.tell(how)
    await settled(harness)

    assert await harness.doors.settle_claimed(first.claim or "") is False
    assert (await given_to(harness, "bob")).message_id == first.message_id


@pytest.mark.parametrize("by_claim", [True, False])
async def test_a_caller_can_give_it_back_before_its_time(harness: DoorsHarness, *, by_claim: bool) -> None:
    await harness.send("alice", "bob", "hi")
    first = await given_to(harness, "bob")

    if by_claim:
        assert await harness.doors.give_back_claimed(first.claim or "") is True
    else:
        await harness.doors.give_back(first)

    assert (await given_to(harness, "bob")).message_id == first.message_id
    assert await harness.doors.settle_claimed(first.claim or "") is False
    assert await harness.doors.settle_claimed("no claim") is False


async def test_what_was_kept_is_not_given_back_later(tmp_path: Path) -> None:
    async with open_doors(tmp_path, claimed_s=SOON_S) as harness:
        await harness.send("alice", "bob", "kept")
        kept = await given_to(harness, "bob")
        await harness.doors.settle_claimed(kept.claim or "")
        await harness.send("alice", "bob", "broken")
        broken = await given_to(harness, "bob")

        # Its time ends after that of the first.
        again = await harness.doors.pop(at("bob"), wait_s=LONG_S)

        assert again is not None
        assert again.message_id == broken.message_id
        assert await unread(harness, "bob") == 1


async def test_there_are_so_many_at_most(harness: DoorsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pop_claims, "MAX_CLAIMED", 2)
    for body in "123":
        await harness.send("alice", "bob", body)
    first = await given_to(harness, "bob")
    await given_to(harness, "bob")

    with pytest.raises(TooManyPopped) as refused:
        await given_to(harness, "bob")
    await harness.doors.settle(first)

    assert refused.value.data == {"given": 2, "limit": 2, "retry_after_s": 5}
    assert (await given_to(harness, "bob")).body == "3"


async def test_a_server_that_stops_leaves_them_to_its_next_start(tmp_path: Path) -> None:
    async with open_doors(tmp_path, claimed_s=SOON_S) as harness:
        await harness.send("alice", "bob", "hi")
        first = await given_to(harness, "bob")

        harness.doors.close()
        later = await harness.doors.pop(at("bob"), wait_s=3 * SOON_S)
        given = await harness.doors.give_back_open()
        await settled(harness)

        assert (later, given) == (None, 1)
        assert (await given_to(harness, "bob")).message_id == first.message_id


async def test_what_is_claimed_keeps_no_body_in_memory(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")

    given = await given_to(harness, "bob")

    (kept,) = harness.doors._claims.find(given.claim or "")
    assert (given.body, kept.body) == ("hi", "")


async def test_a_batch_has_one_claim_and_is_bounded_by_its_messages(
    harness: DoorsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pop_claims, "MAX_CLAIMED", 2)
    for body in "123":
        await harness.send("alice", "bob", body)
    checked = await harness.mailboxes.check(at("bob"), settles_itself=True)
    await harness.send("alice", "bob", "4")

    with pytest.raises(TooManyPopped):
        await harness.mailboxes.check(at("bob"), settles_itself=True)
    (claim,) = {one.claim or "" for one in checked.messages}
    before = await unread(harness, "bob")
    is_read = await harness.doors.settle_claimed(claim)

    assert [one.body for one in checked.messages] == ["1", "2", "3"]
    assert (before, is_read, await unread(harness, "bob")) == (4, True, 1)
    again = await harness.mailboxes.check(at("bob"), settles_itself=True)
    assert [one.body for one in again.messages] == ["4"]


async def test_a_batch_without_a_word_is_given_again_whole(tmp_path: Path) -> None:
    async with open_doors(tmp_path, claimed_s=SOON_S) as harness:
        for body in "123":
            await harness.send("alice", "bob", body)
        first = await harness.mailboxes.check(at("bob"), settles_itself=True)

        again = await harness.mailboxes.watch(at("bob"), wait_s=LONG_S)
        rest = await harness.mailboxes.check(at("bob"))

        assert isinstance(again, Popped)
        assert again.body == first.messages[0].body == "1"
        assert [one.body for one in rest.messages] == ["2", "3"]
        assert await harness.doors.settle_claimed(first.messages[0].claim or "") is False
