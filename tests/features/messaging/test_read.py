from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import (
    InvalidInput,
    NotFound,
    PermissionDenied,
)
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.messages import MAX_BODIES_BYTES
from mcp_agent_mail.features.messaging.read import read_inbox
from mcp_agent_mail.features.messaging.requests import InboxRequest
from tests.features.messaging.harness import APP, LIB, MessagingHarness
from tests.seeded_store import add_project

MESSAGE_KEYS = {
    *("id", "thread_id", "topic", "subject", "from", "importance", "ack_required", "created_ts", "attachments"),
}
ITEM_KEYS = MESSAGE_KEYS | {"kind", "age_s", "newer_from_sender"}


async def test_the_inbox_lists_items_newest_first_without_bodies(harness: MessagingHarness) -> None:
    ids = [await harness.sent_id(subject=f"S{n}") for n in range(3)]

    items = await harness.inbox("RedStone", limit=2)

    assert [item["id"] for item in items] == [ids[2], ids[1]]
    assert set(items[0]) == ITEM_KEYS


async def test_reading_changes_nothing(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id(importance="urgent", ack_required=True, thread_id="T", topic="b")
    before = harness.rows("SELECT * FROM recipients"), harness.rows("SELECT * FROM agents")

    for _ in range(2):
        await harness.inbox("RedStone", include_bodies=True, unread_only=True)
        await harness.call("fetch_topic", topic_name="b")
        for uri in (
            f"message/{message_id}",
            "thread/T?include_bodies=true",
            "inbox/RedStone?include_bodies=true",
            "outbox/RedStone",
            "mailbox/RedStone",
            "views/urgent-unread/RedStone",
            "views/ack-required/RedStone",
            "views/acks-stale/RedStone",
            "views/ack-overdue/RedStone",
        ):
            await harness.read(f"{uri}{'&' if '?' in uri else '?'}project=code-app")

    assert (harness.rows("SELECT * FROM recipients"), harness.rows("SELECT * FROM agents")) == before


async def test_since_is_strict_and_about_delivery(harness: MessagingHarness) -> None:
    first = await harness.sent_id()
    at = iso(harness.seeded.clock.now)
    harness.seeded.clock.step(0.000001)
    second = await harness.sent_id()

    assert [i["id"] for i in await harness.inbox("RedStone", since_ts=at)] == [second]
    assert [i["id"] for i in await harness.inbox("RedStone", since_ts="2020-01-01")] == [second, first]
    assert await harness.inbox("RedStone", since_ts=iso(harness.seeded.clock.now)) == []


async def test_after_id_pages_oldest_first_from_the_start(harness: MessagingHarness) -> None:
    ids = [await harness.sent_id() for _ in range(5)]

    seen: list[int] = []
    while page := await harness.inbox("RedStone", after_id=seen[-1] if seen else 0, limit=2):
        seen += [item["id"] for item in page]

    assert seen == ids


async def test_after_id_of_another_inbox_is_an_error_that_says_so(harness: MessagingHarness) -> None:
    foreign = await harness.sent_id(to=["GreenField"])

    with pytest.raises(NotFound) as error:
        await harness.inbox("RedStone", after_id=foreign)

    assert "RedStone's inbox" in error.value.message


async def test_filters_can_be_combined_with_a_cursor(harness: MessagingHarness) -> None:
    first = await harness.sent_id(topic="build", importance="high", thread_id="T")
    await harness.sent_id(topic="build")
    third = await harness.sent_id(topic="BUILD", importance="urgent", thread_id="T")
    await harness.call("mark_message_read", agent_name="RedStone", message_id=third)

    def ids(items: list[dict[str, Any]]) -> list[int]:
        return [item["id"] for item in items]

    assert ids(await harness.inbox("RedStone", topic="Build", urgent_only=True)) == [third, first]
    assert ids(await harness.inbox("RedStone", topic="build", urgent_only=True, unread_only=True)) == [first]
    assert ids(await harness.inbox("RedStone", thread_id="T", after_id=first)) == [third]
    assert ids(await harness.inbox("RedStone", unread_only=True, after_id=first)) == [2]


async def test_bodies_beyond_two_mebibytes_are_left_out_and_said_so(harness: MessagingHarness) -> None:
    small = await harness.sent_id(body_md="small")
    large = await harness.sent_id(body_md="x" * (MAX_BODIES_BYTES - 5))
    over = await harness.sent_id(body_md="1234567")

    items = {item["id"]: item for item in await harness.inbox("RedStone", include_bodies=True)}

    assert items[over]["body_md"] == "1234567"
    assert (items[large]["body_md"], items[large]["body_omitted"]) == (None, True)
    assert (items[small]["body_md"], "body_omitted" in items[small]) == ("small", False)


async def test_bodies_count_as_json_writes_them(harness: MessagingHarness) -> None:
    controls = "\x01" * (MAX_BODIES_BYTES // 6 - 10)
    older = await harness.sent_id(body_md=controls)
    small = await harness.sent_id(body_md='"small"')
    newer = await harness.sent_id(body_md=controls)

    items = {item["id"]: item for item in await harness.inbox("RedStone", include_bodies=True)}

    assert [items[one]["body_md"] for one in (newer, small, older)] == [controls, '"small"', None]
    assert items[older]["body_omitted"]
    assert len(json.dumps(list(items.values()))) < MAX_BODIES_BYTES + 4_096


async def test_one_message_is_shown_whole_whatever_its_size(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id(body_md="x" * (MAX_BODIES_BYTES + 1))

    assert len((await harness.read(f"message/{message_id}"))["body_md"]) == MAX_BODIES_BYTES + 1


async def test_a_topic_lists_mail_whoever_the_recipients(harness: MessagingHarness) -> None:
    first = await harness.sent_id(topic="Build", bcc=["GreenField"])
    second = await harness.sent_id(sender_name="RedStone", to=["Human"], topic="build")

    items = await harness.call("fetch_topic", topic_name="BUILD")

    assert [item["id"] for item in items] == [second, first]
    assert set(items[0]) == MESSAGE_KEYS | {"body_md"}
    assert "body_md" not in (await harness.call("fetch_topic", topic_name="build", include_bodies=False))[0]
    assert await harness.call("fetch_topic", topic_name="none") == []


@pytest.mark.parametrize("message_id", ["999", "0", "-1", "abc", "99999999999999999999"])
async def test_a_message_that_does_not_exist_is_an_error(harness: MessagingHarness, message_id: str) -> None:
    with pytest.raises((NotFound, InvalidInput)):
        await harness.read(f"message/{message_id}")


async def test_a_thread_pages_oldest_first(harness: MessagingHarness) -> None:
    ids = [await harness.sent_id(thread_id="T", body_md=str(n)) for n in range(5)]

    first = await harness.read("thread/T?limit=2")
    rest = await harness.read(f"thread/T?limit=3&after_id={first['next_after_id']}&include_bodies=true")

    assert [m["id"] for m in first["messages"]] == ids[:2]
    assert [m["body_md"] for m in rest["messages"]] == ["2", "3", "4"]
    assert (first["total"], first["next_after_id"], rest["next_after_id"]) == (5, ids[1], None)
    assert set(first["messages"][0]) == MESSAGE_KEYS | {"reply_to"}
    assert (first["project"], first["thread_id"]) == (APP, "T")


async def test_a_thread_started_by_a_reply_counts_its_root_in_every_page(harness: MessagingHarness) -> None:
    root = await harness.sent_id()
    replies = [
        (await harness.call("reply_message", message_id=root, sender_name="RedStone", body_md=""))["id"]
        for _ in range(3)
    ]

    first = await harness.read(f"thread/{root}?limit=2")
    rest = await harness.read(f"thread/{root}?limit=2&after_id={first['next_after_id']}")

    assert [m["id"] for m in (*first["messages"], *rest["messages"])] == [root, *replies]
    assert (first["total"], rest["next_after_id"]) == (4, None)


async def test_a_message_nobody_answered_is_a_thread_of_one(harness: MessagingHarness) -> None:
    root = await harness.sent_id()

    assert (await harness.read(f"thread/{root}"))["total"] == 1


async def test_a_thread_without_mail_is_an_error(harness: MessagingHarness) -> None:
    await harness.sent_id(thread_id="TKT")

    for uri in ("thread/tkt", f"thread/TKT?project={LIB}", "thread/999", "thread/..%2Fx"):
        with pytest.raises((NotFound, InvalidInput)):
            await harness.read(uri)


async def test_a_thread_of_several_projects_asks_for_one(harness: MessagingHarness) -> None:
    await harness.sent_id(thread_id="T", to=[f"QuietFox@{LIB}"])

    with pytest.raises(InvalidInput) as error:
        await harness.read("thread/T")

    assert [p["slug"] for p in error.value.data["projects"]] == ["code-app", "code-lib"]


async def test_an_archived_project_can_still_be_read(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id(thread_id="T")
    await harness.seeded.store.write(lambda tx: tx.projects.set_archived(harness.seeded.app.id, tx.now))

    assert (await harness.inbox("RedStone"))[0]["id"] == message_id
    assert (await harness.read(f"thread/T?project={APP}"))["total"] == 1


async def test_an_unknown_project_is_an_error_with_the_nearest(harness: MessagingHarness) -> None:
    await harness.seeded.store.write(lambda tx: add_project(tx, "/code/apps"))

    with pytest.raises(NotFound) as error:
        await harness.call("fetch_inbox", project_key="/code/ap", agent_name="RedStone")

    assert "/code/app" in error.value.data["nearest"]


async def test_a_limit_of_zero_gives_the_counts_of_the_whole_inbox_alone(harness: MessagingHarness) -> None:
    await harness.sent_id(thread_id="T", importance="high")
    second = await harness.sent_id(importance="urgent", ack_required=True)
    await harness.sent_id(ack_required=True)
    await harness.call("mark_message_read", agent_name="RedStone", message_id=second)

    counts = {"total": 3, "unread_count": 2, "ack_pending": 2, "urgent_unread": 1}
    assert await harness.inbox("RedStone", limit=0) == counts
    assert await harness.inbox("RedStone", limit=0, thread_id="T", unread_only=True, mark_read=True) == counts
    assert (await harness.inbox("RedStone", limit=1)).beside == counts
    assert (await harness.inbox("RedStone", thread_id="T")).beside == counts
    assert await harness.inbox("GreenField", limit=0) == dict.fromkeys(counts, 0)
    with pytest.raises(PermissionDenied):
        await harness.call("fetch_inbox", harness.proof(harness.seeded.blue), agent_name="RedStone", limit=0)


async def test_items_say_when_they_were_read_and_acknowledged_once_they_were(harness: MessagingHarness) -> None:
    read, acknowledged = await harness.sent_id(), await harness.sent_id()
    at = iso(harness.seeded.clock.now)
    await harness.call("mark_message_read", agent_name="RedStone", message_id=read)
    harness.seeded.clock.step()
    await harness.call("acknowledge_message", agent_name="RedStone", message_id=acknowledged)
    later = iso(harness.seeded.clock.now)

    last, first = await harness.inbox("RedStone")
    by_uri = (await harness.read("inbox/RedStone?project=code-app"))["messages"]

    assert set(first) == ITEM_KEYS | {"read_at"}
    assert (first["read_at"], last["read_at"], last["acknowledged_at"]) == (at, later, later)
    assert by_uri == [last, first]


@pytest.mark.parametrize(("limit", "shown"), [(1, [4]), (2, [4, 2]), (3, [4, 2, 3]), (20, [4, 2, 3, 1])])
async def test_unread_mail_comes_before_what_was_read_where_a_request_says_so(
    harness: MessagingHarness, limit: int, shown: list[int]
) -> None:
    ids = [await harness.sent_id() for _ in range(4)]
    for place in (0, 2):
        await harness.call("mark_message_read", agent_name="RedStone", message_id=ids[place])
    request = InboxRequest(project_key=APP, agent_name="RedStone", limit=limit, unread_first=True)
    nobody = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)

    listing = await harness.seeded.store.read(lambda view: read_inbox(view, nobody, request))

    assert [entry.head.id for entry in listing.entries] == [ids[number - 1] for number in shown]
