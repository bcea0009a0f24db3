from __future__ import annotations

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.store.checks.integrity import find_faults
from tests.features.delivery.harness import DeliveryHarness, refused
from tests.features.messaging.harness import OPERATOR


async def test_each_step_stands_at_its_first_time(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(ack_required=True)
    delivered = iso(harness.seeded.clock.now)
    harness.seeded.clock.step()
    await harness.call("mark_message_read", agent_name="RedStone", message_id=sent)
    read = iso(harness.seeded.clock.now)
    harness.seeded.clock.step()
    await harness.call("acknowledge_message", agent_name="RedStone", message_id=sent)

    (copy,) = (await harness.status(sent))["recipients"]

    assert copy["status"] == "acknowledged"
    assert copy["steps"] == {"delivered": delivered, "read": read, "acknowledged": iso(harness.seeded.clock.now)}


async def test_a_reply_by_a_recipient_answers_and_reads_but_acknowledges_only_when_asked(
    harness: DeliveryHarness,
) -> None:
    first, second = await harness.sent_id(), await harness.sent_id()

    await harness.call("reply_message", message_id=first, sender_name="RedStone", body_md="yes")
    await harness.send(sender_name="RedStone", to=[], reply_to=second, subject=None)

    for sent in (first, second):
        (copy,) = (await harness.status(sent))["recipients"]
        assert (copy["status"], list(copy["steps"])) == ("answered", ["delivered", "read", "answered"])


async def test_an_answer_of_somebody_else_answers_no_copy(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id()

    await harness.call("reply_message", message_id=sent, sender_name="GreenField", body_md="me too")

    assert await harness.statuses(sent) == {"RedStone": "delivered"}


async def test_blind_and_held_copies_are_for_the_proven_sender_and_their_own_reader(harness: DeliveryHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    sent = await harness.sent_id(to=["RedStone", "Human"], bcc=["GreenField"])
    seeded = harness.seeded

    async def seen(*caller: object, **arguments: object) -> set[str]:
        found = await harness.status(sent, *caller, **arguments)  # type: ignore[arg-type]
        assert found["total"] == len(found["recipients"]) == sum(found["counts"].values())
        return {one["name"] for one in found["recipients"]}

    assert await seen(harness.proof(seeded.blue)) == {"RedStone", "Human", "GreenField"}
    assert await seen(agent_name="BlueLake") == {"Human"}
    assert await seen(harness.proof(seeded.green)) == {"Human", "GreenField"}
    assert await seen() == {"Human"}


async def test_a_message_that_one_may_not_see_is_not_found(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id()

    error = await refused(harness.status(sent, harness.proof(harness.seeded.fox), project_key="/code/lib"))

    assert error.code == "NOT_FOUND"
    assert (await refused(harness.status(99_999))).code == "NOT_FOUND"


async def test_that_a_blind_successor_ended_a_copy_is_for_its_reader_and_the_proven_sender(
    harness: DeliveryHarness,
) -> None:
    """To others the copy stands as it would without the successor: neither its end nor its absence tells of it."""
    seeded = harness.seeded
    old = await harness.sent_id(to=["RedStone", "GreenField"])
    await harness.call("mark_message_read", agent_name="GreenField", message_id=old)
    await harness.sent_id(to=["GreenField"], bcc=["RedStone"], supersedes=old)

    async def status_of_red(*caller: object, **arguments: object) -> str:
        found = await harness.status(old, *caller, **arguments)  # type: ignore[arg-type]
        assert sum(found["counts"].values()) == found["total"] == 2
        (status,) = [one["status"] for one in found["recipients"] if one["name"] == "RedStone"]
        return str(status)

    assert await status_of_red(harness.proof(seeded.blue)) == "withdrawn"
    assert await status_of_red(agent_name="RedStone") == "withdrawn"
    assert await status_of_red(harness.proof(seeded.green)) == "delivered"
    assert await status_of_red(agent_name="BlueLake") == await status_of_red() == "delivered"


async def test_mail_that_left_its_only_inbox_blindly_stays_the_projects_mail(harness: DeliveryHarness) -> None:
    seeded = harness.seeded
    old = await harness.sent_id(to=["RedStone"], thread_id="T-1")
    await harness.sent_id(to=["GreenField"], bcc=["RedStone"], supersedes=old, thread_id="T-1")

    (copy,) = (await harness.status(old, harness.proof(seeded.green)))["recipients"]
    thread = await harness.call("read_mail", thread_id="T-1", agent_name="GreenField")

    assert (copy["name"], copy["status"]) == ("RedStone", "delivered")
    assert old in [item["id"] for item in thread["messages"]]
    assert old not in [item["id"] for item in await harness.inbox("RedStone")]
    assert find_faults(seeded.store.path) == []


async def test_a_copy_that_ended_blindly_ends_for_others_with_the_others_copies(harness: DeliveryHarness) -> None:
    timed = await harness.sent_id(to=["RedStone", "Human"], valid_until=harness.in_seconds(5))
    taken_back = await harness.sent_id(to=["RedStone", "Human"])
    replaced_again = await harness.sent_id(to=["RedStone", "Human"])
    for old in (timed, taken_back, replaced_again):
        await harness.sent_id(to=["Human"], bcc=["RedStone"], supersedes=old)
    harness.seeded.clock.step(5)

    await harness.withdraw(taken_back)
    await harness.sent_id(to=["RedStone"], supersedes=replaced_again)

    for old, status in ((timed, "expired"), (taken_back, "withdrawn"), (replaced_again, "withdrawn")):
        steps = {one["name"]: one for one in (await harness.status(old, agent_name="BlueLake"))["recipients"]}
        assert steps["RedStone"]["status"] == status
    assert (await harness.withdraw(taken_back))["recipients"][0]["status"] == "withdrawn"


async def test_a_sender_without_a_name_is_told_to_name_itself_whatever_there_is(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id()
    await harness.withdraw(sent)

    unnamed, nothing = await refused(harness.status(sent)), await refused(harness.status(99_999))

    assert "agent_name" in (unnamed.hint or "")
    assert (unnamed.hint, unnamed.message.replace(str(sent), "")) == (
        nothing.hint,
        nothing.message.replace("99999", ""),
    )
    assert (await harness.status(sent, agent_name="BlueLake"))["message_id"] == sent


async def test_a_sender_at_its_word_is_told_how_to_see_all_and_not_whether_there_is_more(
    harness: DeliveryHarness,
) -> None:
    open_one = await harness.sent_id()
    blind = await harness.sent_id(to=["RedStone"], bcc=["GreenField"])
    proof = harness.proof(harness.seeded.blue)

    asked = [await harness.status(sent, agent_name="BlueLake") for sent in (open_one, blind)]
    taken = [await harness.withdraw(sent) for sent in (open_one, blind)]

    (hint,) = {one["hint"] for one in (*asked, *taken)}
    assert "registration_token" in hint
    for sent in (open_one, blind):
        assert "hint" not in await harness.status(sent, proof)
        assert "hint" not in await harness.withdraw(sent, proof)


async def test_the_operator_sees_with_the_eyes_of_the_agent_it_names(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(to=["GreenField"])
    await harness.withdraw(sent)
    seen = await harness.status(sent, OPERATOR, agent_name="BlueLake")
    assert {one["name"] for one in seen["recipients"]} == {"GreenField"}

    refusal = await refused(harness.status(sent, OPERATOR, agent_name="RedStone"))

    assert refusal.code == "NOT_FOUND"
    assert (await harness.status(sent, OPERATOR))["message_id"] == sent
