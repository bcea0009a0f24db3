from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.tools import Credentials
from tests.features.delivery.harness import NOBODY, DeliveryHarness, refused
from tests.features.messaging.harness import OPERATOR


async def test_a_recipients_feed_tells_of_deliveries_and_ends_and_its_senders_of_steps(
    harness: DeliveryHarness,
) -> None:
    first = await harness.sent_id(ack_required=True)
    second = await harness.sent_id()
    third = await harness.sent_id(valid_until=harness.in_seconds(5))
    await harness.call("acknowledge_message", agent_name="RedStone", message_id=first)
    await harness.call("reply_message", message_id=first, sender_name="RedStone", body_md="yes")
    await harness.withdraw(second)
    harness.seeded.clock.step(5)

    mine, theirs = await harness.feed("BlueLake"), await harness.feed("RedStone")

    assert [(one["event"], one["message_id"]) for one in theirs["events"]] == [
        ("delivered", first), ("delivered", second), ("delivered", third), ("withdrawn", second), ("expired", third),
    ]  # fmt: skip
    assert [(one["event"], one["message_id"], one.get("agent")) for one in mine["events"]] == [
        ("read", first, "RedStone"),
        ("acknowledged", first, "RedStone"),
        ("delivered", first + 3, None),
        ("answered", first, "RedStone"),
        ("expired", third, "RedStone"),
    ]
    cursors = [one["cursor"] for one in (*mine["events"], *theirs["events"])]
    assert len(set(cursors)) == len(cursors)


async def test_every_page_goes_on_where_the_last_one_ended(harness: DeliveryHarness) -> None:
    ids = [await harness.sent_id() for _ in range(5)]
    await harness.withdraw(ids[1])
    whole = (await harness.feed("RedStone"))["events"]

    page = await harness.feed("RedStone", limit=2)
    found = page["events"]
    while page["has_more"]:
        page = await harness.feed("RedStone", after=page["next_cursor"], limit=2)
        found += page["events"]

    assert found == whole
    assert page["next_cursor"] == page["tail_cursor"]


async def test_position_now_gives_where_the_feed_ends_and_nothing_else(harness: DeliveryHarness) -> None:
    await harness.sent_id()

    page = await harness.feed("RedStone", position_now=True)

    assert (page["events"], page["has_more"], page["next_cursor"]) == ([], False, page["tail_cursor"])
    later = await harness.sent_id()
    assert await harness.events("RedStone", after=page["next_cursor"]) == [("delivered", later)]


async def test_a_cursor_that_is_not_kept_and_one_that_never_was_are_errors(harness: DeliveryHarness) -> None:
    await harness.sent_id()
    await harness.sent_id()
    day = Micros(86_400 * SECOND)
    store, clock = harness.seeded.store, harness.seeded.clock
    await store.write(lambda tx: tx.feed.mark(tx.now, day))
    clock.step(3 * 86_400)
    second = await harness.sent_id()
    await store.write(lambda tx: tx.feed.forget(Micros(tx.now - 2 * day), tx.now, 100))

    floor = (await harness.feed("RedStone"))["oldest_available_cursor"]

    expired = await refused(harness.feed("RedStone", after=floor - 1))
    ahead = await refused(harness.feed("RedStone", after=1_000_000))

    assert (expired.code, ahead.code) == ("CURSOR_EXPIRED", "CURSOR_AHEAD")
    assert expired.data["oldest_available_cursor"] == ahead.data["oldest_available_cursor"] == floor
    assert await harness.events("RedStone") == [("delivered", second)]


async def test_nobody_reads_another_ones_feed(harness: DeliveryHarness) -> None:
    await harness.sent_id()

    error = await refused(harness.call("fetch_inbox_events", harness.proof(harness.seeded.blue), agent_name="RedStone"))

    assert error.code == "PERMISSION_DENIED"


async def seen_of(harness: DeliveryHarness, *sent: int, proof: Credentials = NOBODY) -> set[str]:
    """Whose copies the sender's feed tells of, and its status of each message knows of."""
    page = await harness.call("fetch_inbox_events", proof, agent_name="BlueLake", limit=1_000)
    told = {one["agent"] for one in page["events"] if "agent" in one}
    known = [await harness.status(one, proof, agent_name="BlueLake") for one in sent]
    assert told == {copy["name"] for status in known for copy in status["recipients"]}
    return told


async def test_a_feed_tells_its_sender_of_those_copies_that_its_status_shows(harness: DeliveryHarness) -> None:
    """Blind ones, and those that never came, are for the proven sender alone."""
    await harness.policy("RedStone", "contacts_only")
    blind = await harness.sent_id(to=["BlueLake", "Human"], bcc=["GreenField"], ack_required=True)
    held = await harness.sent_id(valid_until=harness.in_seconds(5))
    await harness.call("reply_message", message_id=blind, sender_name="GreenField", body_md="yes", acknowledge=True)
    for name, caller in (("Human", OPERATOR), ("BlueLake", NOBODY)):
        await harness.call("mark_message_read", caller, agent_name=name, message_id=blind)
    harness.seeded.clock.step(10)

    proven = await seen_of(harness, blind, held, proof=harness.proof(harness.seeded.blue))

    assert proven == {"Human", "BlueLake", "GreenField", "RedStone"}
    assert await seen_of(harness, blind, held) == {"Human", "BlueLake"}


async def test_what_is_not_told_takes_no_place_on_a_page(harness: DeliveryHarness) -> None:
    blind = [await harness.sent_id(to=["Human"], bcc=["GreenField"]) for _ in range(4)]
    for one in blind:
        await harness.call("mark_message_read", agent_name="GreenField", message_id=one)
    await harness.call("mark_message_read", OPERATOR, agent_name="Human", message_id=blind[0])

    page = await harness.feed("BlueLake", limit=1)

    assert [(one["event"], one["agent"]) for one in page["events"]] == [("read", "Human")]
    assert (page["has_more"], page["next_cursor"]) == (False, page["tail_cursor"])


@pytest.mark.parametrize("acknowledges", [False, True])
@pytest.mark.parametrize("expires", [False, True])
async def test_an_answer_is_the_last_that_is_told_of_what_it_did(
    harness: DeliveryHarness, *, acknowledges: bool, expires: bool
) -> None:
    sent = await harness.sent_id(valid_until=harness.in_seconds(10), ack_required=True)
    harness.seeded.clock.step(10 if expires else 1)
    await harness.call(
        "reply_message", message_id=sent, sender_name="RedStone", body_md="yes", acknowledge=acknowledges
    )

    told = [one["event"] for one in (await harness.feed("BlueLake"))["events"] if one["message_id"] == sent]

    own = ["read", "acknowledged", "answered"] if acknowledges else ["read", "answered"]
    assert told == (["expired", *own] if expires else own)
    assert (await harness.statuses(sent))["RedStone"] == told[-1]


async def test_an_answer_by_send_message_is_told_last_too(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id()

    await harness.send(sender_name="RedStone", to=["BlueLake"], reply_to=sent)

    told = [one["event"] for one in (await harness.feed("BlueLake"))["events"] if one["message_id"] == sent]
    assert told == ["read", "answered"]
