from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import AgentMailError, Conflict, Unavailable
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from tests.features.messaging.carrying import (
    PNG,
    AttachmentParts,
    caller_of,
    digest_of,
    open_carrying,
    readable,
    refused_digest,
)
from tests.features.messaging.harness import LIB, OPERATOR, MessagingHarness, refused_send, traces
from tests.features.samples import OPEN, STRICT


@pytest.fixture
async def carrying(tmp_path: Path) -> AsyncIterator[AttachmentParts]:
    async with open_carrying(tmp_path) as opened:
        yield opened


def payload(answer: Any) -> Any:
    return answer["deliveries"][0]["payload"]


async def test_an_attachment_is_shown_to_sender_and_recipient_by_where_the_archive_keeps_it(
    carrying: AttachmentParts,
) -> None:
    digest = digest_of(b"text")

    answer = await carrying.send(carrying.path("notes.txt"))

    shown = {
        "type": "file",
        "media_type": "text/plain",
        "bytes": 4,
        "width": None,
        "height": None,
        "sha256": digest,
        "name": "notes.txt",
        "path": f"attachments/{digest[:2]}/{digest}.txt",
    }
    assert answer["attachments"] == payload(answer)["attachments"] == [shown]
    assert [item["attachments"] for item in await carrying.messaging.inbox("RedStone")] == [[shown]]


async def test_a_send_across_projects_shows_in_each_delivery_what_it_carries_and_nowhere_else(
    carrying: AttachmentParts,
) -> None:
    answer = await carrying.send(carrying.path("notes.txt"), to=["RedStone", f"QuietFox@{LIB}"])

    assert [len(delivery["payload"]["attachments"]) for delivery in answer["deliveries"]] == [1, 1]
    assert "attachments" not in answer


@pytest.mark.parametrize(
    ("body", "convert"), [("no image", None), ("let v = vec![0; 8];", None), ("![a](a.png)", False)]
)
async def test_nothing_is_made_ready_for_mail_that_can_carry_nothing(
    carrying: AttachmentParts, body: str, convert: bool | None
) -> None:
    await carrying.send(body_md=body, **({} if convert is None else {"convert_images": convert}))

    assert carrying.sources.asked == []


async def test_the_senders_policy_and_what_it_asked_for_reach_whoever_makes_it_ready(carrying: AttachmentParts) -> None:
    messaging = carrying.messaging

    await carrying.send(carrying.path("a.png", PNG), convert_images=False, project_key="code-app")
    message_id = await messaging.sent_id()
    reply = {"sender_name": "RedStone", "message_id": message_id, "body_md": "yes"}
    answer = await messaging.call("reply_message", attachment_paths="a.png", **reply)

    first, second = carrying.sources.asked
    assert (first.paths, first.convert, first.policy, first.project_key, first.project.slug) == (
        ("a.png",),
        False,
        AttachmentsPolicy.AUTO,
        "code-app",
        "code-app",
    )
    assert (second.paths, second.convert) == (("a.png",), None)
    assert [one["name"] for one in answer["attachments"]] == ["a.png"]


async def test_images_of_the_body_are_made_ready_and_those_that_stay_are_told(carrying: AttachmentParts) -> None:
    answer = await carrying.messaging.send(body_md="![a](OLD) ![b](LEFT)")

    assert answer["images_left"] == [{"target": "LEFT", "reason": "missing"}]
    assert "attachments" not in answer
    body = (await carrying.messaging.read(f"message/{payload(answer)['id']}"))["body_md"]
    assert body == "![a](NEW) ![b](LEFT)"


async def test_mail_without_files_and_images_asks_nobody(carrying: AttachmentParts) -> None:
    answer = await carrying.messaging.send(body_md="OLD! [a](b) data: x")

    assert carrying.sources.asked == []
    assert "images_left" not in answer
    assert (await carrying.messaging.read("message/1"))["body_md"] == "OLD! [a](b) data: x"


async def test_the_same_content_twice_is_one_attachment(carrying: AttachmentParts) -> None:
    await carrying.send(carrying.path("first.txt"))

    answer = await carrying.send(carrying.path("a.txt"), carrying.path("b.txt"), f"sha256:{digest_of(b'text')}")

    assert [one["name"] for one in answer["attachments"]] == ["a.txt"]


async def test_a_refused_send_leaves_no_trace(carrying: AttachmentParts) -> None:
    carrying.path("notes.txt")

    for refused in (
        {"attachment_paths": ["gone.txt"]},
        {"attachment_paths": ["notes.txt"], "to": ["Nobody"]},
        {"attachment_paths": [f"sha256:{'0' * 64}"]},
        {"attachment_paths": ["sha256:abc"]},
        {"attachment_paths": ["notes.txt"] * 21},
        {"attachment_paths": ["a\0b"]},
    ):
        await refused_send(carrying.messaging, **refused)
    assert carrying.messaging.rows("SELECT * FROM message_attachments") == []


async def test_whoever_may_not_send_makes_nothing_ready(carrying: AttachmentParts) -> None:
    seeded = carrying.messaging.seeded
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.blue.id, tx.now, tx.now))

    with pytest.raises(Conflict):
        await carrying.send(carrying.path("notes.txt"))
    assert carrying.sources.asked == []


async def test_a_repeat_gets_the_first_answer_when_the_source_is_gone(carrying: AttachmentParts) -> None:
    keyed = {"attachment_paths": [carrying.path("notes.txt")], "idempotency_key": "k"}
    first = await carrying.messaging.send(**keyed)
    reply = {"sender_name": "RedStone", "message_id": payload(first)["id"], "body_md": "yes", **keyed}
    first_reply = await carrying.messaging.call("reply_message", **reply)
    del carrying.sources.files["notes.txt"]

    assert await carrying.messaging.send(**keyed) == {**first, "idempotent_replay": True}
    assert await carrying.messaging.call("reply_message", **reply) == {**first_reply, "idempotent_replay": True}
    assert len(carrying.sources.asked) == 2


async def test_another_attachment_under_the_same_key_is_another_call(carrying: AttachmentParts) -> None:
    await carrying.send(carrying.path("a.txt"), idempotency_key="k")

    for other in ({"attachment_paths": [carrying.path("b.txt")]}, {}, {"convert_images": True}):
        refusal = await refused_send(carrying.messaging, **{"idempotency_key": "k", **other})
        assert refusal.code == "IDEMPOTENCY_KEY_CONFLICT"


async def test_a_service_without_the_parts_that_keep_files_takes_none(harness: MessagingHarness) -> None:
    before = traces(harness)

    with pytest.raises(Unavailable):
        await harness.send(attachment_paths=["notes.txt"])

    assert traces(harness) == before
    assert (await harness.send(body_md="![a](b.png)"))["count"] == 1


# --- By digest -----------------------------------------------------------------------------------------------------


async def test_whoever_sees_a_message_reads_what_it_carries(carrying: AttachmentParts) -> None:
    messaging = carrying.messaging
    callers = {}
    for agent in (messaging.seeded.blue, messaging.seeded.red, messaging.seeded.green, messaging.seeded.fox):
        callers[agent.name] = await caller_of(messaging, agent.name)
    assert not await readable(carrying, OPEN)

    await carrying.send(carrying.path("notes.txt"))

    assert [name for name, caller in callers.items() if await readable(carrying, caller)] == [
        "BlueLake",
        "RedStone",
        "GreenField",
    ]
    assert await readable(carrying, OPEN, "code-app")
    assert not await readable(carrying, OPEN, "code-lib")
    assert not await readable(carrying, callers["QuietFox"], "code-app")


async def test_a_content_of_a_blind_copy_is_its_parties_alone(carrying: AttachmentParts) -> None:
    messaging = carrying.messaging
    await carrying.send(
        carrying.path("notes.txt"), project_key=LIB, sender_name="QuietFox", to=["BlueLake"], bcc=["RedStone@code-app"]
    )

    assert await readable(carrying, await caller_of(messaging, "RedStone"))
    assert not await readable(carrying, await caller_of(messaging, "GreenField"))
    assert not await readable(carrying, OPEN, "code-app")


async def test_in_strict_mode_nobody_reads_unproven(carrying: AttachmentParts) -> None:
    await carrying.send(carrying.path("notes.txt"))

    with pytest.raises(AgentMailError) as refused:
        await carrying.messaging.service.attachment(STRICT, digest_of(b"text"), "code-app")
    assert refused.value.code == "AUTHENTICATION_REQUIRED"


async def test_held_mail_shows_what_it_carries_once_it_is_let_in(tmp_path: Path) -> None:
    async with open_carrying(tmp_path, enforced=True) as carrying:
        messaging = carrying.messaging
        sent = await carrying.send(carrying.path("notes.txt"), to=[f"QuietFox@{LIB}"])
        assert sent["held"], sent

        assert not await readable(carrying, await caller_of(messaging, "QuietFox"))
        assert not await readable(carrying, OPEN, "code-lib")
        assert await readable(carrying, await caller_of(messaging, "BlueLake"))
        assert (await refused_digest(carrying, project_key=LIB, sender_name="QuietFox", to=["BlueLake"])).code == (
            "NOT_FOUND"
        )


# --- Room ----------------------------------------------------------------------------------------------------------


async def test_a_full_project_refuses_what_is_new_to_it_and_takes_what_it_keeps_already(tmp_path: Path) -> None:
    async with open_carrying(tmp_path, attachments_limit_bytes=10) as carrying:
        await carrying.send(carrying.path("ten", b"0123456789"))

        refused = await refused_send(carrying.messaging, attachment_paths=[carrying.path("one", b"1")])
        again = await carrying.send("ten")

    assert (refused.code, refused.data) == ("QUOTA_EXCEEDED", {"project": "/code/app", "bytes": 1, "limit": 10})
    assert again["count"] == 1


async def test_each_project_that_gets_the_mail_must_have_room(tmp_path: Path) -> None:
    async with open_carrying(tmp_path, attachments_limit_bytes=10) as carrying:
        of_lib = {"project_key": LIB, "sender_name": "QuietFox", "to": ["BlueLake"]}
        await carrying.send(carrying.path("nine", b"012345678"), **of_lib)
        carrying.path("two", b"12")

        refused = await refused_send(carrying.messaging, attachment_paths=["two"], to=["RedStone", f"QuietFox@{LIB}"])
        at_home = await carrying.send("two")

    assert (refused.code, refused.data["project"]) == ("QUOTA_EXCEEDED", LIB)
    assert at_home["count"] == 1


# --- Shown ---------------------------------------------------------------------------------------------------------


def _data_of(item: Any) -> list[bytes | None]:
    return [None if "data_base64" not in one else b64decode(one["data_base64"]) for one in item["attachments"]]


async def test_inline_contents_come_with_bodies_wherever_bodies_come(carrying: AttachmentParts) -> None:
    messaging = carrying.messaging
    carrying.path("notes.txt")
    await carrying.send(carrying.path("a.png", PNG, inline=True), "notes.txt", thread_id="T", topic="pictures")
    bodies = {"include_bodies": True}
    lists = [
        await messaging.inbox("RedStone", **bodies),
        await messaging.inbox("RedStone", mark_read=True, **bodies),
        await messaging.call("fetch_topic", topic_name="pictures"),
        (await messaging.call("read_mail", thread_id="T"))["messages"],
        (await messaging.call("read_mail", message_id=1))["messages"],
        (await messaging.read("thread/T?include_bodies=true&project=code-app"))["messages"],
        (await messaging.read("inbox/RedStone?include_bodies=true"))["messages"],
        (await messaging.read("outbox/BlueLake?include_bodies=true&project=code-app"))["messages"],
        [await messaging.read("message/1")],
    ]

    assert [_data_of(item) for (item,) in lists] == [[PNG, None]] * len(lists)
    assert [one.get("path") for one in lists[0][0]["attachments"]] == [
        None,
        f"attachments/{digest_of(b'text')[:2]}/{digest_of(b'text')}.txt",
    ]


async def test_without_bodies_nothing_is_read(carrying: AttachmentParts) -> None:
    await carrying.send(carrying.path("a.png", PNG, inline=True), thread_id="T")
    carrying.sources.shelf.opened.clear()

    (item,) = await carrying.messaging.inbox("RedStone")
    (threaded,) = (await carrying.messaging.read("thread/T?project=code-app"))["messages"]

    assert (_data_of(item), _data_of(threaded)) == ([None], [None])
    assert carrying.sources.shelf.opened == []


async def test_the_operator_reads_everything(carrying: AttachmentParts) -> None:
    await carrying.send(carrying.path("notes.txt"), project_key=LIB, sender_name="QuietFox", to=["BlueLake"])

    blob = await carrying.messaging.read(f"attachment/{digest_of(b'text')}", OPERATOR)

    assert b64decode(blob["blob"]) == b"text"
