"""Mail that is of use for a while, and mail that replaces earlier mail."""

from __future__ import annotations

import pytest

from mcp_agent_mail.store.checks.integrity import find_faults
from tests.features.delivery.harness import DeliveryHarness, refused


async def test_from_its_end_on_an_unread_copy_is_unread_no_more_and_still_listed(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(valid_until=harness.in_seconds(10), importance="high", ack_required=True)
    assert (await harness.counts("RedStone"))["unread_count"] == 1
    harness.seeded.clock.step(10)

    counts = await harness.counts("RedStone")

    assert counts == {"total": 1, "unread_count": 0, "ack_pending": 0, "urgent_unread": 0}
    (item,) = await harness.inbox("RedStone")
    assert (item["id"], item["expired"]) == (sent, True)
    assert await harness.inbox("RedStone", unread_only=True) == []
    assert await harness.statuses(sent) == {"RedStone": "expired"}
    read = await harness.call("mark_message_read", agent_name="RedStone", message_id=sent)
    assert (read["read"], read["reason"]) == (False, "expired")


async def test_what_was_read_in_time_never_expires(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(valid_until=harness.in_seconds(10), ack_required=True)
    await harness.call("mark_message_read", agent_name="RedStone", message_id=sent)
    harness.seeded.clock.step(20)

    acknowledged = await harness.call("acknowledge_message", agent_name="RedStone", message_id=sent)

    assert acknowledged["acknowledged"] is True
    assert "expired" not in (await harness.inbox("RedStone"))[0]


async def test_a_write_that_comes_first_finds_it_expired_too(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(valid_until=harness.in_seconds(10))
    harness.seeded.clock.step(10)

    read = await harness.call("mark_message_read", agent_name="RedStone", message_id=sent)

    assert (read["read"], read["reason"]) == (False, "expired")


async def test_a_clock_that_is_set_back_brings_nothing_back(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(valid_until=harness.in_seconds(10))
    harness.seeded.clock.step(10)
    await harness.counts("RedStone")
    harness.seeded.clock.step(-3600)

    assert (await harness.counts("RedStone"))["unread_count"] == 0
    assert await harness.statuses(sent) == {"RedStone": "expired"}


async def test_a_held_copy_that_has_expired_is_never_delivered(harness: DeliveryHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    sent = await harness.sent_id(valid_until=harness.in_seconds(10))
    harness.seeded.clock.step(10)

    await harness.answer(accept=True)

    assert sent not in [item["id"] for item in await harness.inbox("RedStone")]
    assert await harness.statuses(sent) == {"RedStone": "expired"}


async def test_an_end_that_has_passed_is_refused(harness: DeliveryHarness) -> None:
    before = harness.everything()

    error = await refused(harness.send(valid_until=harness.in_seconds(0)))

    assert (error.code, error.data["parameter"]) == ("INVALID_INPUT", "valid_until")
    assert harness.everything() == before


async def test_whoever_gets_the_new_one_loses_the_unread_old_one(harness: DeliveryHarness) -> None:
    old = await harness.sent_id(to=["RedStone", "GreenField", "BlueLake"])
    await harness.call("mark_message_read", agent_name="GreenField", message_id=old)

    new = await harness.sent_id(to=["RedStone", "GreenField"], supersedes=old)

    assert [item["id"] for item in await harness.inbox("RedStone")] == [new]
    assert [item.get("superseded_by") for item in await harness.inbox("GreenField")] == [None, new]
    assert [item["id"] for item in await harness.inbox("BlueLake")] == [old]
    assert await harness.statuses(old) == {"RedStone": "withdrawn", "GreenField": "read", "BlueLake": "delivered"}


async def test_a_held_new_one_replaces_the_old_one_when_it_is_let_in(harness: DeliveryHarness) -> None:
    old = await harness.sent_id()
    await harness.policy("RedStone", "block_all")
    await harness.policy("RedStone", "contacts_only")
    new = await harness.sent_id(supersedes=old)
    waiting = [item["id"] for item in await harness.inbox("RedStone")]

    await harness.answer(accept=True)

    assert old in waiting
    ids = [item["id"] for item in await harness.inbox("RedStone")]
    assert new in ids
    assert old not in ids


async def test_only_an_own_earlier_message_is_superseded(harness: DeliveryHarness) -> None:
    theirs = await harness.sent_id(sender_name="RedStone", to=["BlueLake"])
    elsewhere = await harness.sent_id(project_key="/code/lib", sender_name="QuietFox", to=["BlueLake"])

    assert (await refused(harness.send(supersedes=theirs))).code == "PERMISSION_DENIED"
    assert (await refused(harness.send(supersedes=elsewhere))).code == "NOT_FOUND"


async def test_an_item_says_how_old_it_is_and_how_much_its_sender_has_written_since(harness: DeliveryHarness) -> None:
    await harness.sent_id()
    await harness.sent_id(sender_name="GreenField")
    harness.seeded.clock.step(90)
    await harness.sent_id()

    items = await harness.inbox("RedStone", after_id=0)

    assert [(item["age_s"], item["newer_from_sender"]) for item in items] == [(90, 1), (90, 0), (0, 0)]


async def test_an_item_is_as_old_as_it_is_though_the_clock_was_ahead_before(harness: DeliveryHarness) -> None:
    harness.seeded.clock.step(24 * 3_600)
    await harness.sent_id()
    harness.seeded.clock.step(-24 * 3_600)
    await harness.sent_id()
    harness.seeded.clock.step(90)

    newest, _ = await harness.inbox("RedStone")

    assert newest["age_s"] == 90


async def test_of_a_held_message_the_age_counts_from_its_delivery(harness: DeliveryHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    sent = await harness.sent_id()
    harness.seeded.clock.step(60)
    await harness.answer(accept=True)
    harness.seeded.clock.step(5)

    (item,) = [one for one in await harness.inbox("RedStone") if one["id"] == sent]

    assert item["age_s"] == 5


async def test_no_step_is_told_of_as_earlier_than_the_delivery_before_it(harness: DeliveryHarness) -> None:
    harness.seeded.clock.step(24 * 3_600)
    await harness.sent_id()
    harness.seeded.clock.step(-24 * 3_600)
    sent = await harness.sent_id(valid_until=harness.in_seconds(10), to=["RedStone", "GreenField"])
    await harness.call("mark_message_read", agent_name="GreenField", message_id=sent)
    harness.seeded.clock.step(10)

    status = await harness.call("message_status", agent_name="BlueLake", message_id=sent)

    steps = {one["name"]: one["steps"] for one in status["recipients"]}
    assert steps["RedStone"]["expired"] >= steps["RedStone"]["delivered"]
    assert steps["GreenField"]["read"] >= steps["GreenField"]["delivered"]


async def answer_late(harness: DeliveryHarness, how: str, sent: int) -> None:
    if how == "reply_message":
        await harness.call("reply_message", message_id=sent, sender_name="RedStone", body_md="too late?")
    else:
        await harness.send(sender_name="RedStone", to=["BlueLake"], reply_to=sent)


@pytest.mark.parametrize("how", ["reply_message", "send_message"])
async def test_a_copy_that_has_expired_is_read_by_its_answer_and_nothing_ends_it_any_more(
    harness: DeliveryHarness, how: str
) -> None:
    sent = await harness.sent_id(valid_until=harness.in_seconds(10), importance="high", ack_required=True)
    harness.seeded.clock.step(10)
    await harness.counts("RedStone")
    await answer_late(harness, how, sent)

    withdrawn = await harness.withdraw(sent, reason="late")

    assert withdrawn["recipients"] == [{"name": "RedStone", "status": "answered"}]
    (copy,) = (await harness.status(sent, agent_name="BlueLake"))["recipients"]
    assert list(copy["steps"]) == ["delivered", "read", "answered", "expired", "withdrawn"]
    (item,) = await harness.inbox("RedStone")
    assert (item["id"], "expired" in item, item["withdrawn_reason"]) == (sent, False, "late")
    assert item["read_at"] == copy["steps"]["answered"]
    assert find_faults(harness.seeded.store.path) == []


async def test_an_answer_takes_no_end_back_that_nobody_had_written_down_yet(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(valid_until=harness.in_seconds(10))
    harness.seeded.clock.step(10)
    harness.seeded.store._ending = 1  # As while another unit of work ends copies.
    seen = await harness.statuses(sent)
    await answer_late(harness, "reply_message", sent)
    harness.seeded.store._ending = 0

    (copy,) = (await harness.status(sent, agent_name="BlueLake"))["recipients"]
    assert (seen, copy["status"]) == ({"RedStone": "expired"}, "answered")
    assert list(copy["steps"]) == ["delivered", "read", "answered", "expired"]
    assert ("expired", sent) in await harness.events("BlueLake")
    assert ("expired", sent) in await harness.events("RedStone")


async def test_what_was_read_names_the_successor_that_is_there(harness: DeliveryHarness) -> None:
    """Not one that left the inbox unread: it cannot be opened."""
    first = await harness.sent_id()
    await harness.call("mark_message_read", agent_name="RedStone", message_id=first)

    async def successor() -> list[int | None]:
        """As its reader's inbox and as a thread has it."""
        inbox = {item["id"]: item for item in await harness.inbox("RedStone")}
        opened = await harness.call("read_mail", message_id=first, agent_name="RedStone")
        return [inbox[first].get("superseded_by"), opened["messages"][0].get("superseded_by")]

    second = await harness.sent_id(supersedes=first)
    assert await successor() == [second, second]
    await harness.withdraw(second)
    assert await successor() == [None, None]


async def test_what_replaces_an_answered_copy_that_had_expired_is_named_on_it(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(valid_until=harness.in_seconds(10))
    harness.seeded.clock.step(10)
    await answer_late(harness, "reply_message", sent)

    newer = await harness.sent_id(supersedes=sent)

    assert {item["id"]: item.get("superseded_by") for item in await harness.inbox("RedStone")} == {
        newer: None,
        sent: newer,
    }
    assert await harness.statuses(sent) == {"RedStone": "answered"}


async def test_a_copy_that_has_expired_is_acknowledged_with_its_answer_or_after_it(harness: DeliveryHarness) -> None:
    first, second = [await harness.sent_id(valid_until=harness.in_seconds(10), ack_required=True) for _ in range(2)]
    harness.seeded.clock.step(10)
    given = {"sender_name": "RedStone", "body_md": "done"}
    told = await harness.call("reply_message", message_id=first, acknowledge=True, **given)
    await harness.call("reply_message", message_id=second, **given)

    late = await harness.call("acknowledge_message", agent_name="RedStone", message_id=second)

    assert (told["acknowledged"], late["acknowledged"]) == (True, True)
    for sent in (first, second):
        (copy,) = (await harness.status(sent))["recipients"]
        assert list(copy["steps"]) == ["delivered", "read", "acknowledged", "answered", "expired"]
    assert find_faults(harness.seeded.store.path) == []


async def test_the_archive_is_told_that_an_answer_read_what_had_expired(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(valid_until=harness.in_seconds(10))
    harness.seeded.clock.step(10)

    await answer_late(harness, "reply_message", sent)

    told = harness.rows(f"SELECT step FROM outbox WHERE kind = 'receipt' AND message_id = {sent}")
    assert told == [("read",)]
