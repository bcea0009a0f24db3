"""What has become of a message is told wherever it is shown, and nothing of one that holds as it was sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.tools import Credentials
from tests.features.delivery.harness import DeliveryHarness, open_delivery, refused
from tests.features.messaging.harness import APP, LIB, NOBODY

TOLD = {"valid_until", "supersedes", "superseded_by", "withdrawn_at", "withdrawn_reason", "expired"}
THREAD = "T-1"


@pytest.fixture
async def mail(tmp_path: Path) -> AsyncIterator[DeliveryHarness]:
    """Everything is in one thread and one topic."""
    async with open_delivery(tmp_path) as opened:
        yield opened


async def sent(mail: DeliveryHarness, **arguments: Any) -> int:
    return await mail.sent_id(thread_id=THREAD, topic="plans", **arguments)


async def read_by(mail: DeliveryHarness, agent: str, message_id: int) -> None:
    await mail.call("mark_message_read", agent_name=agent, message_id=message_id)


def saying(agent: str) -> Credentials:
    """A connection that says who calls, and proves nothing."""
    return Credentials(via="mcp", said_agent=agent)


async def every_door(mail: DeliveryHarness, message_id: int, agent: str = "RedStone") -> dict[str, Any]:
    """What each way to look at mail gives of the message to the agent, at its word."""
    said = saying(agent)
    lists = {
        "inbox": await mail.call("fetch_inbox", agent_name=agent),
        "inbox resource": (await mail.read(f"inbox/{agent}?project={APP}"))["messages"],
        "read_mail": (await mail.call("read_mail", agent_name=agent, message_id=message_id))["messages"],
        "read_mail of the thread": (await mail.call("read_mail", agent_name=agent, thread_id=THREAD))["messages"],
        "thread resource": (await mail.read(f"thread/{THREAD}?project={APP}", said))["messages"],
        "topic": await mail.call("fetch_topic", said, topic_name="plans"),
        "message resource": [await mail.read(f"message/{message_id}?project={APP}", said)],
    }
    return {door: item for door, items in lists.items() for item in items if item["id"] == message_id}


def told(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key in TOLD}


def everywhere(doors: Iterable[str], expected: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return dict.fromkeys(doors, expected)


async def test_a_message_that_holds_says_no_word_more_at_any_door(mail: DeliveryHarness) -> None:
    number = await sent(mail)

    doors = await every_door(mail, number)

    assert len(doors) == 7
    assert {door: told(item) for door, item in doors.items()} == everywhere(doors, {})


async def test_an_end_is_told_at_every_door_before_and_after_it(mail: DeliveryHarness) -> None:
    end = mail.in_seconds(10)
    number = await sent(mail, valid_until=end)
    before = await every_door(mail, number)
    mail.seeded.clock.step(10)

    after = await every_door(mail, number)

    assert {door: told(item) for door, item in before.items()} == everywhere(before, {"valid_until": end})
    expected = {"valid_until": end, "expired": True}
    assert {door: told(item) for door, item in after.items()} == everywhere(before, expected)
    assert len(after) == 7


async def test_expired_is_said_of_the_readers_own_copy_alone(mail: DeliveryHarness) -> None:
    number = await sent(mail, to=["RedStone", "GreenField"], valid_until=mail.in_seconds(10))
    await read_by(mail, "GreenField", number)
    mail.seeded.clock.step(10)

    of_green, of_sender = await every_door(mail, number, "GreenField"), await every_door(mail, number, "BlueLake")

    assert len(of_green) == 7
    assert len(of_sender) == 5
    assert not [door for door, item in {**of_green, **of_sender}.items() if "expired" in item]


async def test_a_read_message_says_at_every_door_what_replaced_it_and_the_new_one_what_it_replaces(
    mail: DeliveryHarness,
) -> None:
    old = await sent(mail)
    await read_by(mail, "RedStone", old)
    new = await sent(mail, supersedes=old)

    of_old, of_new = await every_door(mail, old), await every_door(mail, new)

    assert {door: told(item) for door, item in of_old.items()} == everywhere(of_old, {"superseded_by": new})
    assert {door: told(item) for door, item in of_new.items()} == everywhere(of_new, {"supersedes": old})
    assert len(of_old) == len(of_new) == 7


async def test_whoever_kept_the_old_one_is_told_of_the_new_one_where_it_opens_it(mail: DeliveryHarness) -> None:
    old = await sent(mail, to=["RedStone", "GreenField"])
    new = await sent(mail, supersedes=old)

    doors = await every_door(mail, old, "GreenField")

    # An inbox tells of the agent's own copy, and nothing has replaced that.
    assert {door for door, item in doors.items() if told(item) == {}} == {"inbox", "inbox resource"}
    everywhere_else = set(doors) - {"inbox", "inbox resource"}
    assert {door: told(doors[door]) for door in everywhere_else} == everywhere(everywhere_else, {"superseded_by": new})


async def test_one_that_is_held_replaces_nothing_yet(mail: DeliveryHarness) -> None:
    old = await sent(mail, to=["RedStone"])
    await mail.policy("GreenField", "contacts_only")
    await sent(mail, to=["GreenField"], supersedes=old)

    assert told((await mail.call("read_mail", message_id=old))["messages"][0]) == {}


async def test_a_withdrawn_message_says_so_wherever_it_is_still_to_be_seen(mail: DeliveryHarness) -> None:
    await sent(mail)
    number = await sent(mail)
    await read_by(mail, "RedStone", number)
    answer = await mail.withdraw(number, reason="wrong branch")
    expected = {"withdrawn_at": answer["withdrawn_at"], "withdrawn_reason": "wrong branch"}

    of_reader, of_sender = await every_door(mail, number), await every_door(mail, number, "BlueLake")
    outbox = (await mail.read(f"outbox/BlueLake?project={APP}", mail.proof(mail.seeded.blue)))["messages"]

    # A thread, a topic and a project's readers have it no more.
    assert {door: told(item) for door, item in of_reader.items()} == everywhere(
        ("inbox", "inbox resource", "read_mail", "message resource"), expected
    )
    assert {door: told(item) for door, item in of_sender.items()} == everywhere(
        ("read_mail", "message resource"), expected
    )
    assert told(outbox[0]) == expected


async def test_the_message_resource_is_for_whom_the_connection_names_as_read_mail_is(mail: DeliveryHarness) -> None:
    number = await sent(mail, to=["GreenField"], bcc=["RedStone"])
    await read_by(mail, "RedStone", number)
    await mail.withdraw(number)
    uri = f"message/{number}?project={APP}"

    assert (await mail.read(uri, saying("RedStone")))["withdrawn_reason"] is None
    for nobody in (NOBODY, saying("GreenField"), saying("NoSuchAgent"), mail.proof(mail.seeded.green)):
        assert (await refused(mail.read(uri, nobody))).code == "NOT_FOUND"


async def test_a_word_is_no_proof_against_a_token(mail: DeliveryHarness) -> None:
    number = await sent(mail)
    await read_by(mail, "RedStone", number)
    await mail.withdraw(number)
    green = mail.proof(mail.seeded.green)
    fox = mail.proof(mail.seeded.fox)

    for proof in (green, fox):
        claiming = Credentials(via="mcp", agent_token=proof.agent_token, said_agent="RedStone")
        assert (await refused(mail.read(f"message/{number}?project={APP}", claiming))).code == "NOT_FOUND"


async def test_who_belongs_to_another_project_is_not_told_of_mail_that_is_only_here(mail: DeliveryHarness) -> None:
    await mail.policy("QuietFox", "open", LIB)
    old = await sent(mail, to=["RedStone", f"QuietFox@{LIB}"])
    await sent(mail, to=["RedStone"], supersedes=old)

    here = await mail.read(f"message/{old}?project={APP}")
    there = await mail.read(f"message/{old}?project={APP}", mail.proof(mail.seeded.fox))

    assert "superseded_by" in here
    assert told(there) == {}


async def test_an_answer_to_a_send_says_until_when_it_holds_and_what_it_replaces(mail: DeliveryHarness) -> None:
    old = await sent(mail)
    end = mail.in_seconds(3600)

    answer = await mail.send(valid_until=end.replace("+00:00", ""), supersedes=old)

    assert told(answer["deliveries"][0]["payload"]) == {"valid_until": end, "supersedes": old}
