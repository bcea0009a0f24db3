from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.messages import Addressee, ReceiptStep, RecipientKind
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.idempotency import Replay
from mcp_agent_mail.features.messaging import schemas
from mcp_agent_mail.features.messaging.read import InboxListing, MailListing, OutboxListing, SeenMessage, ThreadPage
from mcp_agent_mail.features.messaging.read_mail import ThreadListing
from mcp_agent_mail.features.messaging.receipts import MarkedReceipt, MarkedReceipts, ReceiptRefusal
from mcp_agent_mail.features.messaging.send import Sent
from mcp_agent_mail.store.mail.copy_steps import ReadingState
from mcp_agent_mail.store.mail.messages import MailCommit
from mcp_agent_mail.store.mail.threads import ListedThread, ThreadParty
from tests.features.samples import (
    APP,
    LIB,
    NOW,
    NOW_TEXT,
    OPEN,
    STRICT,
    a_head,
    a_message,
    a_recipient,
    an_agent,
    an_entry,
)

BLUE = Actor(agent=an_agent(), project=APP)
PROVEN = Actor(agent=an_agent(), project=APP, verified=True)
ONE = MessageId(1)


def a_marking(receipt: MarkedReceipt) -> MarkedReceipts:
    return MarkedReceipts(agent=an_agent(), receipts=[receipt], is_verified=False)


def outbox(mailbox: Actor) -> OutboxListing:
    addressees = [
        Addressee("RedStone", APP.id, APP.slug, "to", "held"),
        Addressee("Fox", LIB.id, LIB.slug, "cc", "delivered"),
        Addressee("GreenField", APP.id, APP.slug, "bcc", "refused"),
    ]
    mail = MailListing(project=APP, heads=[a_head(1), a_head(2)], standings={}, addressees={ONE: addressees})
    return OutboxListing(mailbox=mailbox, mail=mail)


def test_an_outbox_shows_its_proven_owner_blind_copies_and_what_became_of_each() -> None:
    newest, oldest = schemas.show_outbox(outbox(PROVEN))["messages"]

    assert (newest["to"], newest["cc"], newest["bcc"]) == (["RedStone"], ["Fox@code-lib"], ["GreenField"])
    assert (newest["held"], newest["refused"]) == (["RedStone"], ["GreenField"])
    assert oldest.keys().isdisjoint({"held", "refused"})


def test_an_outbox_shows_others_open_recipients_and_no_more() -> None:
    shown = schemas.show_outbox(outbox(BLUE))

    assert (shown["project"], shown["agent"], shown["count"]) == ("/code/app", "BlueLake", 2)
    assert shown["messages"][0].keys().isdisjoint({"bcc", "held", "refused"})
    assert "GreenField" not in str(shown)


def test_an_inbox_says_whose_it_is_and_counts_what_it_shows() -> None:
    shown = schemas.show_inbox(InboxListing(read_ts=NOW, mailbox=BLUE, entries=[an_entry(2), an_entry(1)]))

    assert (shown["project"], shown["agent"], shown["count"]) == ("/code/app", "BlueLake", 2)
    assert [item["id"] for item in shown["messages"]] == [2, 1]


def test_a_mailbox_names_the_commit_that_holds_each_message_once_there_is_one() -> None:
    listing = InboxListing(read_ts=NOW, mailbox=BLUE, entries=[an_entry(2), an_entry(1)])

    commits = {ONE: MailCommit("0123456789abcdef", "mail: x", NOW)}

    shown = schemas.show_mailbox(listing, commits)
    with_times = schemas.show_mailbox(listing, commits, with_times=True)

    commit = {"hexsha": "0123456789ab", "summary": "mail: x"}
    assert [item["commit"] for item in shown["messages"]] == [None, commit]
    assert [item["commit"] for item in with_times["messages"]] == [None, {**commit, "authored_ts": NOW_TEXT}]


def test_stale_mail_says_how_long_it_waits_and_never_less_than_nothing() -> None:
    listing = InboxListing(read_ts=NOW, mailbox=BLUE, entries=[an_entry(1, read_ts=NOW)])

    later = schemas.show_stale_inbox(listing, Micros(NOW + 90 * SECOND), 60)
    clock_set_back = schemas.show_stale_inbox(listing, Micros(NOW - 90 * SECOND), 60)

    assert (later["messages"][0]["read_at"], later["messages"][0]["age_seconds"], later["ttl_seconds"]) == (
        NOW_TEXT,
        90,
        60,
    )
    assert clock_set_back["messages"][0]["age_seconds"] == 0


def test_a_thread_says_what_each_message_answers_and_where_the_next_page_begins() -> None:
    mail = MailListing(project=APP, heads=[a_head(1), a_head(2, reply_to=1)], standings={}, bodies={ONE: "text"})

    shown = schemas.show_thread(ThreadPage(thread_id="T", mail=mail, total=5, next_after_id=2))

    assert [(item["reply_to"], item["body_md"]) for item in shown["messages"]] == [(None, "text"), (1, None)]
    assert (shown["thread_id"], shown["total"], shown["next_after_id"]) == ("T", 5, 2)


def test_a_single_message_is_shown_whole_without_its_blind_recipients() -> None:
    recipients = [a_recipient("RedStone"), a_recipient("GreenField", RecipientKind.BCC)]

    shown = schemas.show_seen_message(SeenMessage(message=a_message(reply_to=4), recipients=recipients, project=APP))

    assert (shown["to"], shown["cc"], shown["body_md"], shown["reply_to"]) == (["RedStone"], [], "body", 4)
    assert "GreenField" not in str(shown)


def test_a_reply_is_shown_as_its_message_and_as_what_was_sent_and_its_repeat_as_it_was() -> None:
    sent = Sent(
        actor=BLUE,
        message=a_message(5, reply_to=4),
        recipients=[a_recipient("RedStone")],
        projects={APP.id: APP},
        skipped=[],
        held=[],
    )

    shown = schemas.show_reply_outcome(sent)
    again = schemas.show_reply_outcome(Replay(actor=BLUE, answer={"id": 5}))

    assert (shown["id"], shown["reply_to"], shown["to"], shown["count"]) == (5, 4, ["RedStone"], 1)
    assert "recipients" not in shown
    assert again == {"id": 5}


def test_a_receipt_says_what_is_so_since_when_and_whether_the_act_was_proven() -> None:
    state = ReadingState(read_ts=NOW, ack_ts=None, changed=True, kind=RecipientKind.TO)
    marked = a_marking(MarkedReceipt(message_id=ONE, state=state))

    assert schemas.show_receipts(marked, ReceiptStep.READ, OPEN, as_list=False) == {
        "message_id": 1,
        "read": True,
        "read_at": NOW_TEXT,
        "verified": False,
    }
    assert schemas.show_receipts(marked, ReceiptStep.ACKNOWLEDGED, STRICT, as_list=False) == {
        "message_id": 1,
        "acknowledged": False,
        "acknowledged_at": None,
        "read_at": NOW_TEXT,
    }


def test_who_is_no_recipient_has_neither_read_nor_acknowledged_and_is_told_why() -> None:
    marked = a_marking(MarkedReceipt(message_id=ONE, state=None, reason=ReceiptRefusal.NOT_A_RECIPIENT))

    assert schemas.show_receipts(marked, ReceiptStep.READ, STRICT, as_list=False) == {
        "message_id": 1,
        "read": False,
        "read_at": None,
        "reason": "not_a_recipient",
    }
    assert schemas.show_receipts(marked, ReceiptStep.ACKNOWLEDGED, OPEN, as_list=True) == {
        "results": [
            {
                "message_id": 1,
                "acknowledged": False,
                "acknowledged_at": None,
                "read_at": None,
                "reason": "not_a_recipient",
            }
        ],
        "verified": False,
    }


def test_a_thread_of_a_list_has_no_unread_mail_where_nobody_is_named() -> None:
    head = a_head(1)
    thread = ListedThread(
        thread_id="TKT-1",
        first=head,
        last=head,
        last_ts=NOW,
        messages=1,
        participants=[ThreadParty("RedStone", LIB.id, LIB.slug)],
    )
    listing = ThreadListing(project=APP, threads=[thread], total=7, unread=None, reader=None, topic=None)

    assert schemas.show_threads(listing) == {
        "threads": [
            {
                "thread_id": "TKT-1",
                "subject": head.subject,
                "participants": [f"RedStone@{LIB.slug}"],
                "messages": 1,
                "unread": None,
                "last_ts": NOW_TEXT,
                "last_from": head.sender_name,
            }
        ],
        "total": 7,
    }
    counted = schemas.show_threads(replace(listing, unread={"TKT-1": 3}))
    assert counted["threads"][0]["unread"] == 3
