from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, NotFound, RecipientNotFound
from tests.features.messaging.harness import LIB, MessagingHarness


async def test_a_reply_goes_to_the_sender_alone_and_inherits_thread_topic_and_importance_but_asks_for_nothing(
    harness: MessagingHarness,
) -> None:
    original = await harness.sent_id(
        cc=["GreenField"], thread_id="TKT-1", topic="Build", importance="high", ack_required=True
    )

    answer = await harness.call("reply_message", message_id=original, sender_name="RedStone", body_md="Done")

    assert {key: answer[key] for key in ("to", "cc", "bcc", "thread_id", "topic", "importance", "ack_required")} == {
        "to": ["BlueLake"],
        "cc": [],
        "bcc": [],
        "thread_id": "TKT-1",
        "topic": "Build",
        "importance": "high",
        "ack_required": False,
    }
    assert (answer["subject"], answer["from"], answer["reply_to"]) == ("Re: Plan", "RedStone", original)
    assert set(answer) == {
        *("id", "thread_id", "topic", "subject", "from", "importance", "ack_required", "created_ts", "attachments"),
        *("to", "cc", "bcc", "reply_to", "deliveries", "count", "verified_sender", "held", "skipped"),
    }
    assert answer["deliveries"][0]["payload"]["recipients"][0]["name"] == "BlueLake"


async def test_what_a_reply_says_itself_beats_the_original(harness: MessagingHarness) -> None:
    original = await harness.sent_id(importance="urgent")

    answer = await harness.call(
        "reply_message",
        message_id=original,
        sender_name="RedStone",
        body_md="",
        to=["GreenField"],
        cc="BlueLake",
        importance="low",
        ack_required=True,
        subject_prefix="AW:",
    )

    assert (answer["to"], answer["cc"], answer["importance"], answer["ack_required"], answer["subject"]) == (
        ["GreenField"],
        ["BlueLake"],
        "low",
        True,
        "AW: Plan",
    )


async def test_a_reply_to_mail_without_a_thread_starts_the_one_named_by_it(harness: MessagingHarness) -> None:
    original = await harness.sent_id()

    first = await harness.call("reply_message", message_id=original, sender_name="RedStone", body_md="1")
    second = await harness.call("reply_message", message_id=first["id"], sender_name="BlueLake", body_md="2")

    assert (first["thread_id"], second["thread_id"]) == (str(original), str(original))
    assert (first["subject"], second["subject"]) == ("Re: Plan", "Re: Plan")
    thread = await harness.read(f"thread/{original}")
    assert [m["id"] for m in thread["messages"]] == [original, first["id"], second["id"]]
    assert [m["reply_to"] for m in thread["messages"]] == [None, original, first["id"]]
    assert (thread["total"], thread["next_after_id"]) == (3, None)


async def test_a_reply_crosses_projects_back_to_the_sender(harness: MessagingHarness) -> None:
    original = await harness.sent_id(to=[f"QuietFox@{LIB}"])

    answer = await harness.call(
        "reply_message", project_key=LIB, message_id=original, sender_name="QuietFox", body_md="Hi"
    )

    assert [delivery["project"] for delivery in answer["deliveries"]] == ["/code/app"]
    assert (await harness.inbox("BlueLake"))[0]["from"] == "QuietFox@code-lib"
    for project in ("code-app", "code-lib"):
        assert (await harness.read(f"thread/{original}?project={project}"))["total"] == 2


async def test_following_up_on_ones_own_message_goes_to_those_it_was_sent_to(harness: MessagingHarness) -> None:
    original = await harness.sent_id(to=["RedStone", f"QuietFox@{LIB}"], cc=["GreenField"])

    answer = await harness.call("reply_message", message_id=original, sender_name="BlueLake", body_md="And")

    assert [d["payload"]["to"] for d in answer["deliveries"]] == [["RedStone"], ["QuietFox"]]


async def test_following_up_on_mail_that_went_to_nobody_openly_needs_recipients(harness: MessagingHarness) -> None:
    original = await harness.sent_id(to=None, bcc=["RedStone"])

    with pytest.raises(InvalidInput):
        await harness.call("reply_message", message_id=original, sender_name="BlueLake", body_md="And")


async def test_only_mail_that_one_may_see_can_be_answered(harness: MessagingHarness) -> None:
    inside = await harness.sent_id()
    blind = await harness.sent_id(to=None, bcc=[f"QuietFox@{LIB}"])

    async def refusal(message_id: int, sender: str) -> AgentMailError:
        with pytest.raises(AgentMailError) as error:
            await harness.call("reply_message", project_key=LIB, message_id=message_id, sender_name=sender, body_md="")
        return error.value

    assert isinstance(await refusal(inside, "QuietFox"), NotFound)
    assert isinstance(await refusal(blind, "BlueLake"), NotFound)
    assert isinstance(await refusal(999, "QuietFox"), NotFound)
    await harness.call("reply_message", project_key=LIB, message_id=blind, sender_name="QuietFox", body_md="")


async def test_any_agent_of_the_project_may_answer_its_mail(harness: MessagingHarness) -> None:
    original = await harness.sent_id()

    answer = await harness.call("reply_message", message_id=original, sender_name="GreenField", body_md="")

    assert answer["to"] == ["BlueLake"]


async def test_system_mail_is_answered_only_by_naming_recipients(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    system = await seeded.store.read(lambda view: view.agents.find_by_name(seeded.app.id, "System"))
    assert system is not None
    original = await harness.sent_id()
    await seeded.store.write(
        lambda tx: tx.messages._connection.execute(
            "UPDATE messages SET sender_id = ?, is_system = 1 WHERE id = ?", (system.id, original)
        )
    )

    assert (await harness.inbox("RedStone"))[0]["system"] is True
    with pytest.raises(RecipientNotFound):
        await harness.call("reply_message", message_id=original, sender_name="RedStone", body_md="")


async def test_reply_to_joins_the_thread_of_the_message_answered(harness: MessagingHarness) -> None:
    named = await harness.sent_id(thread_id="TKT-1")
    plain = await harness.sent_id()

    async def thread_of(**arguments: object) -> object:
        sent = await harness.send(sender_name="RedStone", to=["BlueLake"], **arguments)
        return sent["deliveries"][0]["payload"]["thread_id"]

    assert await thread_of(reply_to=named) == "TKT-1"
    assert await thread_of(reply_to=named, thread_id="TKT-1") == "TKT-1"
    assert await thread_of(reply_to=plain) == str(plain)
    with pytest.raises(InvalidInput):
        await thread_of(reply_to=named, thread_id="TKT-2")
    with pytest.raises(NotFound):
        await thread_of(reply_to=999)


async def test_an_answer_by_send_takes_what_it_leaves_out_from_the_message_answered(harness: MessagingHarness) -> None:
    original = await harness.sent_id(to=["RedStone", "GreenField"])
    own = {"sender_name": "RedStone", "body_md": "Yes."}

    sent = await harness.call("send_message", reply_to=original, **own)
    named = await harness.call("send_message", reply_to=original, cc=["GreenField"], subject="Now", **own)
    with pytest.raises(InvalidInput, match=r"needs subject\.") as refused:
        await harness.call("send_message", to=["BlueLake"], **own)

    payload, other = (each["deliveries"][0]["payload"] for each in (sent, named))
    assert (payload["to"], payload["cc"], payload["subject"]) == (["BlueLake"], [], "Re: Plan")
    assert (other["to"], other["cc"], other["subject"]) == ([], ["GreenField"], "Now"), "who is named is meant alone"
    assert refused.value.data["missing"] == ["subject"]


@pytest.mark.parametrize("thread_id", ["999", 999, "007", "0", "99999999999999999999"])
async def test_an_all_digit_thread_needs_its_message(harness: MessagingHarness, thread_id: object) -> None:
    for _ in range(7):
        await harness.send()

    with pytest.raises(InvalidInput):
        await harness.send(thread_id=thread_id)


async def test_an_all_digit_thread_is_accepted_where_its_message_exists(harness: MessagingHarness) -> None:
    original = await harness.sent_id()

    joined = await harness.sent_id(thread_id=original)

    assert [m["id"] for m in (await harness.read(f"thread/{original}"))["messages"]] == [original, joined]
    with pytest.raises(InvalidInput):
        await harness.call(
            "send_message",
            project_key=LIB,
            sender_name="QuietFox",
            to=["BlueLake"],
            subject="x",
            body_md="",
            thread_id=str(original),
        )
