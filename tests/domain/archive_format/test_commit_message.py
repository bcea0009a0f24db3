from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, OutboxSeq, ProjectId
from mcp_agent_mail.domain.archive_format.commit_message import commit_text
from mcp_agent_mail.domain.archive_format.layout import Snapshot
from mcp_agent_mail.domain.events import EventKind, OutboxEvent


def entry(name: str, kind: str = "to", project_id: int = 1) -> Snapshot:
    return {"name": name, "kind": kind, "project_id": project_id, "project_slug": "app" if project_id == 1 else "lib"}


def mail(*recipients: Snapshot, subject: str = "Plan", sender: str = "BlueLake", archive: int = 1) -> OutboxEvent:
    snapshot = {
        "archive_project_id": archive,
        "project_id": 1,
        "project_slug": "app",
        "sender": sender,
        "sender_id": 5,
        "subject": subject,
        "recipients": list(recipients),
    }
    return OutboxEvent(
        seq=OutboxSeq(7),
        project_id=ProjectId(archive),
        project_slug="app",
        kind=EventKind.MAIL,
        agent_id=AgentId(5),
        created_ts=Micros(0),
        snapshot=snapshot,
    )


def test_one_mail_says_from_whom_to_whom_about_what() -> None:
    text = commit_text([mail(entry("RedStone"))])

    assert text.message == "mail: BlueLake -> RedStone | Plan\n\nAgent: BlueLake\nOutbox-Seq: 7\n"
    assert text.author == "BlueLake"


@pytest.mark.parametrize(
    ("event", "subject"),
    [
        (mail(entry("A"), entry("B"), entry("C"), entry("D"), entry("E")), "mail: BlueLake -> A, B, C +2 | Plan"),
        (mail(entry("RedStone"), entry("Spy", "bcc")), "mail: BlueLake -> RedStone | Plan"),
        (mail(entry("Spy", "bcc")), "mail: BlueLake | Plan"),
        (mail(entry("QuietFox", project_id=2)), "mail: BlueLake -> QuietFox@lib | Plan"),
        (mail(entry("QuietFox", project_id=2), archive=2), "mail: BlueLake@app -> QuietFox | Plan"),
        (mail(entry("R"), subject="a\x00b\n\nOutbox-Seq: 9\x1b[31m"), "mail: BlueLake -> R | a b Outbox-Seq: 9 [31m"),
        (mail(entry("R"), subject="x" * 512), "mail: BlueLake -> R | " + "x" * 77 + "…"),
    ],
)
def test_the_subject_line_is_short_names_no_blind_recipient_and_holds_no_control_character(
    event: OutboxEvent, subject: str
) -> None:
    assert commit_text([event]).subject == subject


def test_several_events_are_counted_and_their_agents_named_once() -> None:
    events = [mail(), mail(sender="RedStone"), replace(mail(), seq=OutboxSeq(9))]
    text = commit_text(events)

    assert text.message == "archive: 3 events\n\nAgent: BlueLake\nAgent: RedStone\nOutbox-Seq: 9\n"
    assert text.author is None


def test_an_event_of_the_server_has_no_agent() -> None:
    event = replace(mail(), kind=EventKind.PROJECT, snapshot={})

    assert commit_text([event]).message == "archive: 1 event\n\nOutbox-Seq: 7\n"


PLAIN = mail(entry("RedStone"))
WITH_HELD = mail(entry("RedStone"), entry("Spy", "bcc") | {"status": "held"})
APPROVED = replace(mail(entry("RedStone"), entry("Spy", "bcc")), agent_id=AgentId(9))
REQUEST = replace(PLAIN, snapshot=PLAIN.snapshot | {"is_private": True})
CONSENT = replace(PLAIN, kind=EventKind.CONTACT, agent_id=AgentId(9), snapshot={"acting": "Spy"})
RECEIPT = replace(PLAIN, kind=EventKind.RECEIPT, agent_id=AgentId(9), snapshot={"agent": "Spy", "is_blind": True})
ELSEWHERE = mail(entry("Spy", "bcc", project_id=2), archive=2)


def test_a_commit_says_the_same_whatever_few_may_know_of_is_in_it() -> None:
    texts = {
        commit_text([first, *others]).message for first in (PLAIN, WITH_HELD) for others in ([], [REQUEST, CONSENT])
    }

    assert texts == {"mail: BlueLake -> RedStone | Plan\n\nAgent: BlueLake\nOutbox-Seq: 7\n"}


@pytest.mark.parametrize(
    "events", [[CONSENT], [CONSENT, APPROVED], [REQUEST], [RECEIPT], [RECEIPT, CONSENT], [ELSEWHERE]]
)
def test_what_few_may_know_of_is_neither_counted_nor_anybodys(events: list[OutboxEvent]) -> None:
    assert commit_text(events).message == "archive: records\n\nOutbox-Seq: 7\n"
