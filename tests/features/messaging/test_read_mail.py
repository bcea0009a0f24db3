from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import AuthenticationRequired, InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.agents import ContactPolicy
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.messages import MAX_BODIES_BYTES
from mcp_agent_mail.features.messaging import read_mail
from tests.features.messaging.harness import LIB, MessagingHarness, open_messaging

_KEYS = {
    *("id", "thread_id", "topic", "subject", "from", "importance", "ack_required", "created_ts", "attachments"),
    *("to", "cc", "reply_to"),
}


def ids(answer: Any) -> list[int]:
    return [item["id"] for item in answer["messages"]]


def names(answer: Any) -> list[str]:
    return [thread["thread_id"] for thread in answer["threads"]]


async def reply(harness: MessagingHarness, original: int, sender: str, **given: Any) -> int:
    answer = await harness.call("reply_message", message_id=original, sender_name=sender, body_md="Yes", **given)
    number = answer["id"]
    assert isinstance(number, int)
    return number


async def test_one_message_is_read_with_its_body_and_its_open_recipients(harness: MessagingHarness) -> None:
    sent = await harness.sent_id(cc=["GreenField", f"QuietFox@{LIB}"], bcc=["Human"], body_md="Look")

    answer = await harness.call("read_mail", message_id=sent)
    without = await harness.call("read_mail", message_id=sent, include_bodies=False)

    (item,) = answer["messages"]
    assert (answer["total"], answer["next_after_id"], item["body_md"]) == (1, None, "Look")
    assert (item["to"], item["cc"], item["reply_to"]) == (["RedStone"], ["GreenField", "QuietFox@code-lib"], None)
    assert set(item) == _KEYS | {"body_md"}
    assert set(without["messages"][0]) == _KEYS


async def test_a_thread_is_paged_from_its_beginning_with_the_message_that_was_answered(
    harness: MessagingHarness,
) -> None:
    root = await harness.sent_id()
    replies = [await reply(harness, root, "RedStone") for _ in range(3)]

    first = await harness.call("read_mail", thread_id=str(root), limit=3)
    rest = await harness.call("read_mail", thread_id=str(root), limit=3, after_id=first["next_after_id"])

    assert (ids(first), first["total"], first["next_after_id"]) == ([root, *replies[:2]], 4, replies[1])
    assert (ids(rest), rest["total"], rest["next_after_id"]) == (replies[2:], 4, None)
    assert [item["reply_to"] for item in first["messages"]] == [None, root, root]
    with pytest.raises(NotFound):
        await harness.call("read_mail", thread_id=str(root), after_id=999)


@pytest.mark.parametrize("said", [{}, {"message_id": 1, "thread_id": "T"}])
async def test_a_message_or_a_thread_is_named_and_not_both(harness: MessagingHarness, said: dict[str, Any]) -> None:
    await harness.sent_id(thread_id="T")

    with pytest.raises(InvalidInput):
        await harness.call("read_mail", **said)


async def test_bodies_beyond_what_one_answer_carries_are_left_out_and_said_so(harness: MessagingHarness) -> None:
    large = "x" * (MAX_BODIES_BYTES // 2 + 1)
    for _ in range(2):
        await harness.sent_id(thread_id="T", body_md=large)

    first, second = (await harness.call("read_mail", thread_id="T"))["messages"]

    assert (first["body_md"] == large, second["body_md"], second["body_omitted"]) == (True, None, True)


async def test_a_page_ends_before_its_names_become_too_many(
    harness: MessagingHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = [await harness.sent_id(thread_id="T", cc=["GreenField"]) for _ in range(3)]
    monkeypatch.setattr(read_mail, "MAX_ADDRESSEES", 5)

    first = await harness.call("read_mail", thread_id="T")
    rest = await harness.call("read_mail", thread_id="T", after_id=first["next_after_id"])

    assert (ids(first), first["next_after_id"], first["total"]) == (sent[:2], sent[1], 3)
    assert (ids(rest), rest["next_after_id"]) == (sent[2:], None)


async def test_a_blind_copy_from_elsewhere_is_its_recipients_alone(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    sent = await harness.sent_id(bcc=[f"QuietFox@{LIB}"], thread_id="T")
    there = {"project_key": LIB, "message_id": sent}

    by_name = await harness.call("read_mail", agent_name="QuietFox", **there)
    by_proof = await harness.call("read_mail", harness.proof(seeded.fox), **there)
    openly = await harness.call("read_mail", message_id=sent)

    assert ids(by_name) == ids(by_proof) == [sent]
    shown = [item["to"] + item["cc"] for item in (*by_name["messages"], *openly["messages"])]
    assert shown == [["RedStone@code-app"], ["RedStone"]]
    for reader in ({}, {"agent_name": "BlueLake"}):
        with pytest.raises(NotFound):
            await harness.call("read_mail", **there, **reader)
    with pytest.raises(NotFound):
        await harness.call("read_mail", project_key=LIB, thread_id="T")


async def test_nobody_reads_in_anothers_name_and_what_is_hidden_does_not_exist(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    sent = await harness.sent_id(thread_id="T")

    for tool in ("read_mail", "list_threads"):
        given = {"message_id": sent} if tool == "read_mail" else {}
        with pytest.raises(PermissionDenied):
            await harness.call(tool, harness.proof(seeded.blue), agent_name="RedStone", **given)
        harness.identities.auth = AgentAuth.STRICT
        with pytest.raises(AuthenticationRequired):
            await harness.call(tool, **given)
        harness.identities.auth = AgentAuth.OPEN
    with pytest.raises(NotFound):
        await harness.call("read_mail", harness.proof(seeded.fox), message_id=sent)
    with pytest.raises(PermissionDenied):
        await harness.call("list_threads", harness.proof(seeded.fox))


async def test_held_mail_is_read_by_its_sender_alone(tmp_path: Path) -> None:
    async with open_messaging(tmp_path, enforced=True) as harness:
        seeded = harness.seeded
        policy = ContactPolicy.CONTACTS_ONLY
        await seeded.store.write(lambda tx: tx.agents.set_contact_policy(seeded.red.id, policy, tx.now))
        held = await harness.sent_id(thread_id="T")

        for reader in ("RedStone", "GreenField", None):
            given = {} if reader is None else {"agent_name": reader}
            with pytest.raises(NotFound):
                await harness.call("read_mail", message_id=held, **given)
            with pytest.raises(NotFound):
                await harness.call("read_mail", thread_id="T", **given)
            assert await harness.call("list_threads", **given) == {"threads": [], "total": 0}
        assert ids(await harness.call("read_mail", message_id=held, agent_name="BlueLake")) == [held]


async def test_only_who_has_to_consent_is_told_that_a_message_is_held(tmp_path: Path) -> None:
    async with open_messaging(tmp_path, enforced=True) as harness:
        seeded = harness.seeded
        policy = ContactPolicy.CONTACTS_ONLY
        await seeded.store.write(lambda tx: tx.agents.set_contact_policy(seeded.red.id, policy, tx.now))
        held = await harness.sent_id()

        told = {}
        for name in ("RedStone", "GreenField"):
            with pytest.raises(NotFound) as reading:
                await harness.call("read_mail", message_id=held, agent_name=name)
            with pytest.raises(NotFound) as replying:
                await harness.call("reply_message", message_id=held, sender_name=name, body_md="Yes")
            assert replying.value.to_wire() == reading.value.to_wire()
            told[name] = reading.value.message

        assert told == {
            "RedStone": f"Message {held} is held until you consent.",
            "GreenField": f"No message {held} is to be seen here.",
        }


async def test_reading_by_tool_marks_nothing_and_is_activity_of_who_names_itself(harness: MessagingHarness) -> None:
    sent = await harness.sent_id(thread_id="T", importance="urgent", ack_required=True)
    before = harness.rows("SELECT * FROM recipients"), harness.rows("SELECT * FROM outbox")
    harness.noted.clear()

    await harness.call("read_mail", message_id=sent, agent_name="RedStone")
    await harness.call("list_threads", agent_name="RedStone")
    await harness.call("read_mail", thread_id="T")
    await harness.call("list_threads")

    assert (harness.rows("SELECT * FROM recipients"), harness.rows("SELECT * FROM outbox")) == before
    assert harness.noted == ["RedStone", "RedStone"]


async def test_threads_are_listed_by_their_newest_mail_with_what_they_hold(harness: MessagingHarness) -> None:
    await harness.sent_id(thread_id="TKT-1", subject="Lexer", cc=["GreenField"], bcc=["Human"])
    harness.seeded.clock.step()
    root = await harness.sent_id(subject="Alone")
    harness.seeded.clock.step()
    await harness.sent_id(thread_id="TKT-1", subject="More", to=[f"QuietFox@{LIB}"])
    at = iso(harness.seeded.clock.now)

    before = await harness.call("list_threads")
    await reply(harness, root, "RedStone")
    after = await harness.call("list_threads", limit=1)

    assert before == {
        "threads": [
            {
                "thread_id": "TKT-1",
                "subject": "Lexer",
                "participants": ["BlueLake", "QuietFox@code-lib", "RedStone", "GreenField"],
                "messages": 2,
                "unread": None,
                "last_ts": at,
                "last_from": "BlueLake",
            }
        ],
        "total": 1,
    }
    assert (names(after), after["total"]) == ([str(root)], 2)
    assert [after["threads"][0][key] for key in ("subject", "participants", "messages", "last_from")] == [
        "Alone",
        ["RedStone", "BlueLake"],
        2,
        "RedStone",
    ]


async def test_an_agents_threads_are_those_it_takes_part_in_with_what_it_has_not_read(
    harness: MessagingHarness,
) -> None:
    read = await harness.sent_id(thread_id="A")
    await harness.sent_id(thread_id="A")
    await harness.sent_id(thread_id="B", to=["GreenField"])
    root = await harness.sent_id(to=["RedStone", "GreenField"])
    await reply(harness, root, "GreenField")
    await harness.sent_id(thread_id="C", to=["BlueLake"], sender_name="RedStone")
    await harness.sent_id(thread_id="A", to=["GreenField"])
    await harness.call("mark_message_read", agent_name="RedStone", message_id=read)

    listed = await harness.call("list_threads", agent_name="RedStone")

    assert [(one["thread_id"], one["messages"], one["unread"]) for one in listed["threads"]] == [
        ("A", 3, 1),
        ("C", 1, 0),
        (str(root), 2, 1),
    ]
    assert listed["total"] == 3


async def test_what_is_unread_in_all_threads_is_for_who_calls_and_no_other(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    await harness.sent_id(thread_id="A")
    await harness.sent_id(thread_id="B", to=["GreenField"])
    said = Credentials(via="mcp", said_agent="RedStone")

    async def unread(credentials: Credentials, **given: str) -> list[Any]:
        threads = (await harness.call("list_threads", credentials, **given))["threads"]
        return [one["unread"] for one in threads]

    assert await unread(said) == [0, 1]
    assert await unread(harness.proof(seeded.red)) == [0, 1]
    assert await unread(replace(harness.proof(seeded.green), said_agent="RedStone")) == [1, 0], "a proof comes first"
    assert await unread(said, agent_name="GreenField") == [1]
    assert await unread(Credentials(via="mcp", said_agent="Human")) == [None, None]
    assert await unread(Credentials(via="mcp", said_agent="NoOne")) == [None, None]


async def test_threads_are_kept_by_topic_and_by_time(harness: MessagingHarness) -> None:
    await harness.sent_id(thread_id="A", topic="Build")
    at = iso(harness.seeded.clock.now)
    harness.seeded.clock.step()
    await harness.sent_id(thread_id="B")
    await harness.sent_id(thread_id="C", topic="build", to=["GreenField"])

    assert names(await harness.call("list_threads", topic="BUILD")) == ["C", "A"]
    assert names(await harness.call("list_threads", topic="build", agent_name="RedStone")) == ["A"]
    assert names(await harness.call("list_threads", since_ts=at)) == ["C", "B"]
    assert await harness.call("list_threads", since_ts=iso(harness.seeded.clock.now)) == {"threads": [], "total": 0}
    assert await harness.call("list_threads", topic="biuld") == {
        "threads": [],
        "total": 0,
        "hint": "No thread was found on topic biuld: list_threads without it shows all.",
    }


async def test_a_topic_that_has_threads_is_not_called_empty_where_something_else_kept_them_away(
    harness: MessagingHarness,
) -> None:
    await harness.sent_id(thread_id="A", topic="build")
    nothing = {"threads": [], "total": 0}

    assert await harness.call("list_threads", topic="build", agent_name="GreenField") == nothing
    assert await harness.call("list_threads", topic="build", since_ts="2099-01-01") == nothing
    assert await harness.call("list_threads", topic="biuld", since_ts="2099-01-01") == nothing


async def test_a_blind_recipient_takes_part_for_itself_and_for_nobody_else(harness: MessagingHarness) -> None:
    await harness.sent_id(thread_id="A", bcc=["GreenField"])

    own = await harness.call("list_threads", agent_name="GreenField")
    openly = await harness.call("list_threads")

    assert [thread["participants"] for answer in (own, openly) for thread in answer["threads"]] == [
        ["BlueLake", "RedStone"]
    ] * 2
    with pytest.raises(PermissionDenied):
        await harness.call("list_threads", harness.proof(harness.seeded.red), agent_name="GreenField")
