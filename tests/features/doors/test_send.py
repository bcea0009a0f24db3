from __future__ import annotations

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.doors.ids import IdTaken, UnfitWireId, made_id
from mcp_agent_mail.domain.doors.names import Door, UnfitWireName
from mcp_agent_mail.domain.messages import BodyTooLong
from mcp_agent_mail.features.doors.send import MailboxFull
from tests.features.doors.harness import DoorsHarness, at


async def test_a_message_goes_from_one_mailbox_to_another_byte_for_byte(harness: DoorsHarness) -> None:
    body = "\n  ping \r\nsecond\ttab\n\n"

    sent = await harness.send("alice", "bob", body)
    got = await harness.pop("bob")

    assert got is not None
    assert (got.id, got.sender, got.body, got.message_id) == (sent.id, "alice", body, sent.message_id)
    assert got.created_ts == harness.seeded.clock.now
    assert (len(sent.id), sent.held, sent.is_repeat) == (36, False, False)
    assert harness.noted == ["alice", "bob"]
    assert await harness.rows("SELECT subject FROM messages") == [("ping",)]


async def test_a_repeat_with_its_id_is_one_message(harness: DoorsHarness) -> None:
    first = await harness.send("alice", "bob", "hi", "m-1")
    again = await harness.send("alice", "bob", "hi", "m-1")
    await harness.pop("bob")
    late = await harness.send("Alice", "BOB", "hi", "m-1")

    assert (first.id, again.id, late.id) == ("m-1", "m-1", "m-1")
    assert (first.is_repeat, again.is_repeat, late.is_repeat) == (False, True, True)
    assert {first.message_id, again.message_id, late.message_id} == {first.message_id}
    assert await harness.pop("bob") is None


async def test_an_id_with_other_content_is_refused_and_nothing_else_is_harmed(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi", "m-1")

    with pytest.raises(IdTaken):
        await harness.send("alice", "bob", "ho", "m-1")

    await harness.send("alice", "carol", "ho", "m-1")
    await harness.send("carol", "bob", "he", "m-1")
    assert await harness.rows("SELECT count(*) FROM messages") == [(3,)]


async def test_an_answer_may_have_the_id_of_what_it_answers_for_ever(harness: DoorsHarness) -> None:
    """Each is sent twice, as by a client that did not hear the first answer."""
    ids = set()
    for turn in range(40):
        sender, to = ("alice", "bob") if turn % 2 == 0 else ("bob", "alice")
        sent = await harness.send(sender, to, f"turn {turn}", "same")
        again = await harness.send(sender, to, f"turn {turn}", "same")
        ids.add(sent.message_id)
        got = await harness.pop(to)
        assert got is not None
        assert (got.id, got.body, again.message_id, again.is_repeat) == (
            "same",
            f"turn {turn}",
            sent.message_id,
            True,
        )
        assert await harness.pop(to) is None

    assert len(ids) == 40
    threads = await harness.rows("SELECT DISTINCT thread_id FROM messages WHERE reply_to IS NOT NULL")
    assert threads == [(str(min(ids)),)]


async def test_a_repeat_after_the_other_side_went_on_is_still_one_message(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "one", "x")
    await harness.pop("bob")
    two = await harness.send("bob", "alice", "two", "x")
    await harness.pop("alice")
    await harness.send("alice", "bob", "three", "x")  # It waits: bob has not had it yet.

    again = await harness.send("bob", "alice", "two", "x")

    assert (again.message_id, again.is_repeat) == (two.message_id, True)


async def test_what_was_given_and_is_not_settled_yet_can_be_answered(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "one", "x")
    popped = await harness.doors.pop(at("bob"), wait_s=0)
    assert popped is not None

    answer = await harness.send("bob", "alice", "two", "x")
    await harness.doors.settle(popped)

    found = await harness.rows(f"SELECT reply_to FROM messages WHERE id = {answer.message_id}")
    assert found == [(popped.message_id,)]
    assert await harness.rows("SELECT count(*) FROM pops") == [(0,)]


async def test_an_answer_to_an_id_that_was_made_joins_its_thread(harness: DoorsHarness) -> None:
    sent = await harness.send("alice", "bob", "one")
    await harness.pop("bob")

    answer = await harness.send("bob", "alice", "two", sent.id)

    assert answer.id == sent.id
    found = await harness.rows(f"SELECT reply_to FROM messages WHERE id = {answer.message_id}")
    assert found == [(sent.message_id,)]


async def test_an_id_that_somebody_chose_before_it_was_made_is_no_fault(harness: DoorsHarness) -> None:
    foreseen = made_id(Door.POSTAL, MessageId(2))
    await harness.send("alice", "bob", "one", foreseen)

    second = await harness.send("alice", "bob", "two")

    assert (second.id, second.message_id) == (foreseen, 2)
    assert [one.body for one in [await harness.pop("bob"), await harness.pop("bob")] if one] == ["one", "two"]


async def test_a_full_mailbox_takes_nothing_until_some_is_read_and_repeats_are_no_mail(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "1", "a", mailbox_max=2)
    await harness.send("alice", "bob", "2", mailbox_max=2)

    with pytest.raises(MailboxFull, match=r"^Mailbox of bob is full \(2 unread\)\.$"):
        await harness.send("dave", "bob", "3", mailbox_max=2)
    again = await harness.send("alice", "bob", "1", "a", mailbox_max=2)
    assert await harness.rows("SELECT count(*) FROM wire_names") == [(2,)]  # dave neither.

    await harness.pop("bob")
    await harness.send("dave", "bob", "3", mailbox_max=2)
    assert again.is_repeat


async def test_one_may_write_to_oneself(harness: DoorsHarness) -> None:
    await harness.send("alice", "alice", "note", "n")

    first = await harness.pop("alice")

    assert first is not None
    assert (first.sender, first.body) == ("alice", "note")


async def test_what_is_unfit_stores_nothing(harness: DoorsHarness) -> None:
    for sender, to, external_id in [("a b", "bob", None), ("alice", "a/b", None), ("alice", "bob", "\x00")]:
        with pytest.raises((UnfitWireName, UnfitWireId)):
            await harness.send(sender, to, "hi", external_id)
    with pytest.raises(BodyTooLong):
        await harness.send("alice", "bob", "x" * 100_001)

    assert await harness.rows("SELECT count(*) FROM projects WHERE human_key = '/neighbours'") == [(0,)]


async def test_an_empty_body_is_mail(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "")

    got = await harness.pop("bob")

    assert got is not None
    assert got.body == ""
    assert await harness.rows("SELECT subject FROM messages") == [("(no text)",)]


async def test_native_mail_and_a_doors_go_both_ways(harness: DoorsHarness) -> None:
    await harness.send("alice", "gemini", "hello")
    await harness.pop("gemini")
    sent = await harness.call("send_message", sender_name="alice", to=["Gemini"], subject="Build", body_md="is red")
    number = sent["deliveries"][0]["payload"]["id"]

    got = await harness.pop("gemini")
    assert got is not None
    answer = await harness.send("gemini", "alice", "fixed", got.id)
    inbox = await harness.call("fetch_inbox", agent_name="alice", include_bodies=True)

    found = await harness.rows(f"SELECT reply_to FROM messages WHERE id = {answer.message_id}")
    assert found == [(number,)]
    assert (got.message_id, got.body, got.id) == (number, "Build\n\nis red", made_id(Door.POSTAL, MessageId(number)))
    (message,) = inbox["messages"] if isinstance(inbox, dict) else inbox
    assert (message["id"], message["from"], message["subject"], message["body_md"]) == (
        answer.message_id,
        "gemini",
        "fixed",
        "fixed",
    )


async def test_a_native_sender_reaches_an_alias_that_is_no_agents_name(harness: DoorsHarness) -> None:
    await harness.send("名前", "alice", "hello")

    await harness.call("send_message", sender_name="alice", to=["名前"], subject="Re", body_md="yes")

    got = await harness.pop("名前")
    assert got is not None
    assert got.sender == "alice"


async def test_a_message_to_oneself_that_is_sent_again_is_the_one_that_was_read(harness: DoorsHarness) -> None:
    first = await harness.send("alice", "alice", "note", "m-1")
    await harness.pop("alice")

    again = await harness.send("alice", "alice", "note", "m-1")

    assert (again.message_id, again.is_repeat) == (first.message_id, True)
    assert await harness.pop("alice") is None
