from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.identity.names import UnknownAgent
from tests.features.messaging.harness import APP, LIB, MessagingHarness

MESSAGE_KEYS = {
    *("id", "thread_id", "topic", "subject", "from", "importance", "ack_required", "created_ts", "attachments"),
}


async def test_a_message_resource_shows_what_the_contract_names(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id(to=["RedStone", f"QuietFox@{LIB}"], cc=["Human"], bcc=["GreenField"])

    message = await harness.read(f"message/{message_id}")

    assert set(message) == MESSAGE_KEYS | {"body_md", "to", "cc", "reply_to", "project"}
    assert (message["to"], message["cc"], message["project"]) == (["RedStone", "QuietFox@code-lib"], ["Human"], APP)
    seen_from_lib = await harness.read(f"message/{message_id}?project={LIB}")
    assert (seen_from_lib["from"], seen_from_lib["to"]) == ("BlueLake@code-app", ["RedStone@code-app", "QuietFox"])


async def test_the_outbox_lists_what_was_sent_newest_first(harness: MessagingHarness) -> None:
    first = await harness.sent_id(body_md="1")
    second = await harness.sent_id(to=["GreenField", f"QuietFox@{LIB}"], cc=["RedStone"], body_md="2")
    await harness.sent_id(sender_name="RedStone", to=["BlueLake"])

    outbox = await harness.read(f"outbox/BlueLake?project={APP}&include_bodies=true")

    assert [(m["id"], m["body_md"]) for m in outbox["messages"]] == [(second, "2"), (first, "1")]
    newest = outbox["messages"][0]
    assert (newest["to"], newest["cc"]) == (["GreenField", "QuietFox@code-lib"], ["RedStone"])
    assert set(newest) == MESSAGE_KEYS | {"to", "cc", "body_md"}


async def test_the_mailbox_adds_the_commit_of_each_message(harness: MessagingHarness) -> None:
    done = await harness.sent_id()
    pending = await harness.sent_id()
    app = harness.seeded.app.id
    await harness.seeded.store.write(
        lambda tx: (
            tx.messages._connection.execute(
                "INSERT INTO commits (project_id, hexsha, summary, authored_ts, last_seq)"
                " VALUES (?, ?, 'mail: x', 1, 1)",
                (app, "0123456789abcdef" * 2),
            ),
            tx.messages._connection.execute("UPDATE outbox SET commit_id = 1, snapshot = NULL WHERE seq = 1"),
        )
    )

    mailbox = await harness.read("mailbox/RedStone")

    assert [(m["id"], m["commit"]) for m in mailbox["messages"]] == [
        (pending, None),
        (done, {"hexsha": "0123456789ab", "summary": "mail: x"}),
    ]


async def test_the_urgent_view_holds_unread_high_and_urgent_mail(harness: MessagingHarness) -> None:
    high = await harness.sent_id(importance="high")
    read = await harness.sent_id(importance="urgent")
    await harness.sent_id()
    await harness.call("mark_message_read", agent_name="RedStone", message_id=read)

    view = await harness.read("views/urgent-unread/RedStone")

    assert (view["project"], view["agent"], view["count"]) == (APP, "RedStone", 1)
    assert view["messages"][0]["id"] == high


async def test_the_views_of_acknowledgements_filter_by_age_first_and_then_limit(harness: MessagingHarness) -> None:
    old = [await harness.sent_id(ack_required=True) for _ in range(3)]
    await harness.call("mark_message_read", agent_name="RedStone", message_id=old[0])
    read_at = iso(harness.seeded.clock.now)
    harness.seeded.clock.step(1_800)
    done = await harness.sent_id(ack_required=True)
    await harness.call("acknowledge_message", agent_name="RedStone", message_id=done)
    new = await harness.sent_id(ack_required=True)

    waiting = await harness.read("views/ack-required/RedStone")
    stale = await harness.read("views/acks-stale/RedStone?limit=2")
    overdue = await harness.read("views/ack-overdue/RedStone")
    half_hour = await harness.read("views/ack-overdue/RedStone?ttl_minutes=30")

    assert [m["id"] for m in waiting["messages"]] == [new, *reversed(old)]
    assert [(m["id"], m["read_at"], m["age_seconds"]) for m in stale["messages"]] == [
        (old[0], read_at, 1_800),
        (old[1], None, 1_800),
    ]
    assert stale["ttl_seconds"] == 1_800
    assert (overdue["count"], overdue["ttl_minutes"]) == (0, 60)
    assert ([m["id"] for m in half_hour["messages"]], half_hour["ttl_minutes"]) == (old, 30)


async def test_inbox_outbox_and_thread_are_read_with_bodies_when_asked_and_from_a_time_on(
    harness: MessagingHarness,
) -> None:
    await harness.sent_id(body_md="old", thread_id="T")
    since = iso(harness.seeded.clock.now).replace("+00:00", "Z")
    harness.seeded.clock.step(1)
    await harness.sent_id(body_md="new", thread_id="T")

    inbox = await harness.read(f"inbox/RedStone?since_ts={since}&include_bodies=true")
    outbox = await harness.read(f"outbox/BlueLake?project={APP}&since_ts={since}&include_bodies=true")
    thread = await harness.read("thread/T?include_bodies=true&after_id=1")

    assert [[item["body_md"] for item in box["messages"]] for box in (inbox, outbox, thread)] == [["new"]] * 3
    assert "body_md" not in (await harness.read("inbox/RedStone"))["messages"][0]


@pytest.mark.parametrize("uri", ["inbox/RedStone?limit=0", "views/acks-stale/RedStone?ttl_seconds=0", "message/x"])
async def test_what_is_out_of_bounds_is_refused(harness: MessagingHarness, uri: str) -> None:
    with pytest.raises(InvalidInput):
        await harness.read(uri)


async def test_an_inbox_of_a_misspelt_name_is_refused_with_the_names_that_are_near(harness: MessagingHarness) -> None:
    with pytest.raises(UnknownAgent) as refused:
        await harness.read("inbox/redston")

    assert refused.value.hint.startswith("Did you mean RedStone? ")
    assert refused.value.data["nearest"] == ["RedStone"]
