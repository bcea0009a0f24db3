from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.domain.presence import ListeningVia, Presence
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.idempotency import Replay
from mcp_agent_mail.features.messaging.read import InboxListing
from mcp_agent_mail.features.messaging.recipients import Skipped
from mcp_agent_mail.features.messaging.send import Sent
from mcp_agent_mail.features.messaging.shapes import (
    add_body,
    show_delivery,
    show_inbox_items,
    show_message,
    show_send_outcome,
    show_sent,
)
from tests.features.samples import APP, LIB, NOW, NOW_TEXT, a_head, a_message, a_recipient, an_agent, an_entry

MESSAGE_KEYS = [
    "id",
    "thread_id",
    "topic",
    "subject",
    "from",
    "importance",
    "ack_required",
    "created_ts",
    "attachments",
]
BLUE = Actor(agent=an_agent(), project=APP, verified=True)


def test_a_message_is_shown_with_these_keys_and_its_sender_as_one_writes_back_to_it() -> None:
    here, elsewhere = show_message(a_message(), APP.id), show_message(a_message(), LIB.id)

    assert list(here) == MESSAGE_KEYS
    assert (here["from"], elsewhere["from"], here["created_ts"]) == ("BlueLake", "BlueLake@code-app", NOW_TEXT)


def test_what_the_server_wrote_says_so() -> None:
    assert show_message(a_head(is_system=True), APP.id)["system"] is True
    assert "system" not in show_message(a_head(), APP.id)


@pytest.mark.parametrize(
    ("bodies", "added"),
    [
        (None, {}),
        ({MessageId(1): "text"}, {"body_md": "text"}),
        ({MessageId(1): ""}, {"body_md": ""}),
        ({}, {"body_md": None, "body_omitted": True}),
    ],
)
def test_a_body_is_shown_where_asked_for_and_its_absence_said(
    bodies: dict[MessageId, str] | None, added: dict[str, object]
) -> None:
    assert add_body({}, MessageId(1), bodies) == added


def test_inbox_items_say_by_which_kind_of_address_they_came() -> None:
    items = show_inbox_items(InboxListing(read_ts=NOW, mailbox=BLUE, entries=[an_entry(1), an_entry(2)]))

    assert [(item["id"], item["kind"]) for item in items] == [(1, "to"), (2, "to")]


def test_a_delivery_lists_recipients_by_kind_and_each_with_its_status() -> None:
    recipients = [a_recipient("RedStone"), a_recipient("Fox", RecipientKind.CC, project=LIB)]
    recipients.append(a_recipient("GreenField", RecipientKind.BCC))

    recipients[0] = replace(recipients[0], agent_id=AgentId(9))
    presences = {AgentId(9): Presence(via=ListeningVia.WAIT)}

    shown = show_delivery(a_message(), recipients, APP, presences)

    assert (shown["to"], shown["cc"], shown["bcc"]) == (["RedStone"], ["Fox@code-lib"], ["GreenField"])
    assert shown["recipients"][0] == {
        "name": "RedStone",
        "kind": "to",
        "status": "delivered",
        "listening": True,
        "listening_via": "wait",
        "busy_since": None,
        "last_active_ts": NOW_TEXT,
    }
    assert [one["listening"] for one in shown["recipients"]] == [True, False, False]


def test_what_was_sent_is_one_delivery_for_each_project_in_the_order_addressed() -> None:
    recipients = [a_recipient("Fox", project=LIB), a_recipient("RedStone"), a_recipient("Owl", project=LIB)]
    sent = Sent(
        actor=BLUE,
        message=a_message(),
        recipients=recipients,
        projects={APP.id: APP, LIB.id: LIB},
        skipped=[],
        held=[Skipped(agent="Owl", code="CONTACT_REQUIRED", reason="asks first")],
    )

    shown = show_sent(sent)

    assert [(one["project"], one["payload"]["to"]) for one in shown["deliveries"]] == [
        ("/code/lib", ["Fox", "Owl"]),
        ("/code/app", ["RedStone"]),
    ]
    assert (shown["count"], shown["verified_sender"], shown["skipped"]) == (2, True, [])
    assert shown["held"] == [{"agent": "Owl", "code": "CONTACT_REQUIRED", "reason": "asks first"}]
    assert "eligible" not in shown


def test_a_broadcast_that_reached_nobody_says_how_many_it_could_have() -> None:
    sent = Sent(actor=BLUE, message=None, recipients=[], projects={}, skipped=[], held=[], eligible=0)

    shown = show_send_outcome(sent)

    assert (shown["deliveries"], shown["count"], shown["eligible"]) == ([], 0, 0)


def test_a_repeat_is_answered_as_the_first_call_was() -> None:
    first = {"count": 1, "idempotent_replay": True}

    assert show_send_outcome(Replay(actor=BLUE, answer=first)) == first
