from __future__ import annotations

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.features.history.message_events import read_message_events
from tests.features.delivery.harness import DeliveryHarness, refused

NOTHING = {"total": 0, "unread_count": 0, "ack_pending": 0, "urgent_unread": 0}


async def test_an_unread_copy_leaves_inbox_counts_thread_topic_and_search(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(
        thread_id="T-1", topic="parser", importance="urgent", ack_required=True, body_md="zebra"
    )

    answer = await harness.withdraw(sent, reason="wrong file")

    assert answer["recipients"] == [{"name": "RedStone", "status": "withdrawn"}]
    assert await harness.inbox("RedStone") == []
    assert await harness.counts("RedStone") == NOTHING
    assert await harness.call("fetch_topic", topic_name="parser") == []
    assert (await refused(harness.call("read_mail", thread_id="T-1"))).code == "NOT_FOUND"
    assert (await harness.call("search_messages", query="zebra"))["result"] == []


async def test_what_was_read_stays_and_says_when_and_why(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(to=["RedStone", "GreenField"])
    await harness.call("mark_message_read", agent_name="RedStone", message_id=sent)

    answer = await harness.withdraw(sent, reason="wrong file")

    (item,) = await harness.inbox("RedStone")
    assert (item["withdrawn_at"], item["withdrawn_reason"]) == (answer["withdrawn_at"], "wrong file")
    assert await harness.inbox("GreenField") == []
    assert await harness.statuses(sent) == {"RedStone": "read", "GreenField": "withdrawn"}


async def test_a_repeat_gives_the_first_time_and_changes_nothing(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id()
    first = await harness.withdraw(sent, reason="one")
    before = harness.everything()
    harness.seeded.clock.step(60)

    assert await harness.withdraw(sent, reason="two") == first
    assert harness.everything() == before


async def test_a_held_copy_is_never_delivered_once_it_is_withdrawn(harness: DeliveryHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    sent = await harness.sent_id()
    await harness.withdraw(sent)

    await harness.answer(accept=True)

    assert sent not in [item["id"] for item in await harness.inbox("RedStone")]
    assert await harness.statuses(sent) == {"RedStone": "withdrawn"}


async def test_only_the_sender_withdraws(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id()
    private = await harness.sent_id(project_key="/code/lib", sender_name="QuietFox", to=["BlueLake"])
    before = harness.everything()

    assert (await refused(harness.withdraw(sent, sender_name="RedStone"))).code == "PERMISSION_DENIED"
    assert (await refused(harness.withdraw(private, sender_name="RedStone"))).code == "NOT_FOUND"
    assert (await refused(harness.withdraw(sent, harness.proof(harness.seeded.red)))).code == "PERMISSION_DENIED"
    assert harness.everything() == before


async def test_marking_a_withdrawn_unread_copy_is_false_and_says_why(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(ack_required=True)
    await harness.withdraw(sent)

    read = await harness.call("mark_message_read", agent_name="RedStone", message_id=sent)
    acknowledged = await harness.call("acknowledge_message", agent_name="RedStone", message_id=sent)

    assert (read["read"], read["read_at"], read["reason"]) == (False, None, "withdrawn")
    assert (acknowledged["acknowledged"], acknowledged["read_at"], acknowledged["reason"]) == (False, None, "withdrawn")


async def test_whoever_pages_behind_a_withdrawn_message_goes_on(harness: DeliveryHarness) -> None:
    first, second = await harness.sent_id(thread_id="T"), await harness.sent_id(thread_id="T")
    await harness.withdraw(first)

    inbox = await harness.inbox("RedStone", after_id=first)
    thread = await harness.call("read_mail", thread_id="T", after_id=first)

    assert [item["id"] for item in inbox] == [second]
    assert [item["id"] for item in thread["messages"]] == [second]


async def test_the_archives_of_all_projects_concerned_are_told(harness: DeliveryHarness) -> None:
    await harness.policy("QuietFox", "open", "/code/lib")
    sent = await harness.sent_id(to=["RedStone", "QuietFox@code-lib"])
    before = harness.rows("SELECT count(*) FROM outbox WHERE kind = 'mail'")[0][0]

    await harness.withdraw(sent, reason="wrong file")

    told = harness.rows("SELECT project_id, agent_id, snapshot FROM outbox WHERE kind = 'mail' ORDER BY seq")[before:]
    assert [row[:2] for row in told] == [
        (harness.seeded.app.id, harness.seeded.blue.id),
        (harness.seeded.lib.id, harness.seeded.blue.id),
    ]
    assert all('"withdrawn_reason":"wrong file"' in row[2] for row in told)


async def test_the_history_of_a_message_tells_of_its_withdrawal_and_of_copies_that_expired(
    harness: DeliveryHarness,
) -> None:
    sent = await harness.sent_id(to=["RedStone", "GreenField"], valid_until=harness.in_seconds(5))
    await harness.call("mark_message_read", agent_name="RedStone", message_id=sent)
    harness.seeded.clock.step(10)
    await harness.withdraw(sent)

    history = await harness.seeded.store.read(lambda view: read_message_events(view, MessageId(sent), None, 50))

    assert [(one.event.value, one.agent and one.agent.name) for one in history.events][3:] == [
        ("read", "RedStone"),
        ("expired", "GreenField"),
        ("withdrawn", "BlueLake"),
    ]


Told = list[tuple[str, str | None, int | None, int | None]]


async def told_of(harness: DeliveryHarness, number: int) -> Told:
    history = await harness.seeded.store.read(lambda view: read_message_events(view, MessageId(number), None, 50))
    return [
        (one.event.value, one.agent.name if one.agent else None, one.superseded_by, one.supersedes)
        for one in history.events
    ]


async def test_the_history_of_what_was_replaced_names_the_new_message_for_each_copy_that_ended(
    harness: DeliveryHarness,
) -> None:
    old = await harness.sent_id(to=["RedStone", "GreenField"])
    harness.seeded.clock.step()
    first = await harness.sent_id(to=["RedStone"], supersedes=old)
    harness.seeded.clock.step()
    second = await harness.sent_id(to=["GreenField"], supersedes=old)

    told = await told_of(harness, old)

    assert [one for one in told if one[0] not in ("sent", "delivered", "read")] == [
        ("withdrawn", "RedStone", first, None),
        ("withdrawn", "GreenField", second, None),
    ]
    assert told[0] == ("sent", "BlueLake", None, None)
    assert (await told_of(harness, second))[0] == ("sent", "BlueLake", None, old)


async def test_the_history_tells_of_no_withdrawal_of_a_copy_that_was_read_before_it_was_replaced(
    harness: DeliveryHarness,
) -> None:
    old = await harness.sent_id()
    await harness.call("mark_message_read", agent_name="RedStone", message_id=old)
    harness.seeded.clock.step()
    await harness.sent_id(supersedes=old)

    assert [one[0] for one in await told_of(harness, old)] == ["sent", "delivered", "read"]


async def test_the_history_names_no_replacement_for_a_copy_that_had_been_withdrawn_before(
    harness: DeliveryHarness,
) -> None:
    old = await harness.sent_id(to=["RedStone", "GreenField"])
    harness.seeded.clock.step()
    await harness.sent_id(to=["RedStone"], supersedes=old)
    harness.seeded.clock.step()
    await harness.withdraw(old)
    harness.seeded.clock.step()
    newest = await harness.sent_id(to=["RedStone", "GreenField"], supersedes=old)

    told = [one for one in await told_of(harness, old) if one[0] == "withdrawn"]

    assert [one[1] for one in told] == ["RedStone", "BlueLake"]
    assert newest not in [one[2] for one in told]


async def test_a_copy_that_was_replaced_when_its_reader_consented_is_told_with_the_commit_of_that(
    harness: DeliveryHarness,
) -> None:
    await harness.policy("RedStone", "contacts_only")
    old = await harness.sent_id()
    harness.seeded.clock.step()
    newer = await harness.sent_id(supersedes=old)
    harness.seeded.clock.step()
    await harness.answer(accept=True)

    told = [one for one in await told_of(harness, old) if one[0] == "withdrawn"]

    assert told == [("withdrawn", "RedStone", newer, None)]
