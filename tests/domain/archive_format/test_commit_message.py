from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, OutboxSeq, ProjectId
from mcp_agent_mail.domain.archive_format.commit_message import (
    LINES_SHOWN,
    attachments_text,
    commit_text,
    conversion_text,
)
from mcp_agent_mail.domain.archive_format.layout import Snapshot
from mcp_agent_mail.domain.archive_format.leases import stand_in
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


def test_of_several_events_the_first_is_the_subject_and_each_has_a_line() -> None:
    events = [mail(entry("RedStone")), mail(sender="RedStone"), replace(mail(), seq=OutboxSeq(9))]
    text = commit_text(events)

    assert text.message == (
        "mail: BlueLake -> RedStone | Plan (+2)\n\n"
        "mail: BlueLake -> RedStone | Plan\nmail: RedStone | Plan\nmail: BlueLake | Plan\n\n"
        "Agent: BlueLake\nAgent: RedStone\nOutbox-Seq: 9\n"
    )
    assert text.author is None


def test_how_many_more_there_are_stands_at_the_end_of_a_long_subject_too() -> None:
    subject = commit_text([mail(entry("R"), subject="x" * 512)] * 5).subject

    assert len(subject) == 100
    assert subject.endswith("x… (+4)")


def test_of_very_many_events_so_many_have_a_line_and_the_rest_are_counted() -> None:
    lines = commit_text([mail(entry("R"))] * (LINES_SHOWN + 7)).lines

    assert len(lines) == LINES_SHOWN + 1
    assert lines[-1] == "and 7 more"


AT = Micros(1_000)
LEASE = {
    "agent": "BlueLake",
    "path_pattern": "src/lexer/**",
    "created_ts": AT,
    "released_ts": None,
    "lapsed_ts": None,
    "ended_by": None,
    "acting": "BlueLake",
}
PROFILE = {"name": "RedStone", "inception_ts": AT, "profiled_ts": AT, "retired_ts": None}
PROJECT = {"slug": "app", "created_ts": AT, "archived_ts": None}
SAID_BY = AgentId(5)


def happened(kind: EventKind, said: Snapshot, *, at: Micros = AT, agent_id: AgentId | None = SAID_BY) -> OutboxEvent:
    return replace(mail(), kind=kind, snapshot=said, created_ts=at, agent_id=agent_id)


def ended(how: str) -> Snapshot:
    return LEASE | {"released_ts": AT, "ended_by": how}


@pytest.mark.parametrize(
    ("event", "subject"),
    [
        (
            happened(EventKind.RECEIPT, {"agent": "RedStone", "step": "acknowledged", "message_id": 38}),
            "RedStone acknowledged 38",
        ),
        (happened(EventKind.RECEIPT, {"agent": "RedStone", "step": "read", "message_id": 38}), "RedStone read 38"),
        (happened(EventKind.RESERVATION, LEASE), "BlueLake reserved src/lexer/**"),
        (happened(EventKind.RESERVATION, LEASE, at=Micros(AT + 1)), "BlueLake renewed src/lexer/**"),
        (
            happened(EventKind.RESERVATION, LEASE | {"lapsed_ts": AT}, at=Micros(AT + 1)),
            "BlueLake reserved src/lexer/**",
        ),
        (happened(EventKind.RESERVATION, ended("release")), "BlueLake released src/lexer/**"),
        (happened(EventKind.RESERVATION, ended("expiry")), "reservation src/lexer/** of BlueLake expired"),
        (happened(EventKind.RESERVATION, ended("force")), "reservation src/lexer/** of BlueLake ended by force"),
        (happened(EventKind.SLOT, LEASE), "BlueLake took slot src/lexer/**"),
        (happened(EventKind.SLOT, LEASE, at=Micros(AT + 1)), "BlueLake kept slot src/lexer/**"),
        (happened(EventKind.SLOT, ended("release")), "BlueLake released slot src/lexer/**"),
        (happened(EventKind.SLOT, ended("idle")), "slot src/lexer/** of BlueLake ended: idle"),
        (happened(EventKind.PROFILE, PROFILE), "RedStone joined"),
        (happened(EventKind.PROFILE, PROFILE | {"profiled_ts": AT + 1}), "RedStone changed its profile"),
        (happened(EventKind.PROFILE, PROFILE | {"retired_ts": AT + 1}), "RedStone retired"),
        (happened(EventKind.PROFILE, PROFILE, agent_id=None), "profile of RedStone"),
        (happened(EventKind.PROJECT, PROJECT), "project app begun"),
        (happened(EventKind.PROJECT, PROJECT, at=Micros(AT + 1)), "project app changed"),
        (happened(EventKind.PROJECT, PROJECT | {"archived_ts": AT}), "project app set aside"),
        (happened(EventKind.PRODUCT, {"acting": "RedStone", "name": "Shop"}), "RedStone linked product Shop"),
        (happened(EventKind.PRODUCT, {"acting": None, "name": "Shop"}), "product Shop linked"),
        (happened(EventKind.ADOPTION, stand_in({"source": "lib"})), "adopt: lib into app"),
        (happened(EventKind.ADOPTION, stand_in({"source": None})), "archive: names after an adoption"),
        (happened(EventKind.RESERVATION, stand_in(LEASE)), "archive: records"),
    ],
)
def test_the_subject_line_says_what_happened(event: OutboxEvent, subject: str) -> None:
    assert commit_text([event]).subject == subject


def _trailers(events: list[OutboxEvent]) -> list[str]:
    return commit_text(events).message.rstrip("\n").rpartition("\n\n")[2].split("\n")


def test_where_lines_are_left_out_the_trailers_say_what_each_agent_did() -> None:
    others = [
        happened(EventKind.PROFILE, PROFILE, agent_id=None),
        happened(EventKind.RESERVATION, LEASE),
        happened(EventKind.RECEIPT, {"agent": "RedStone", "step": "read", "message_id": 38}),
        happened(EventKind.SLOT, LEASE | {"agent": "Human", "acting": "Human"}),
    ]
    agents = ["Agent: BlueLake", "Agent: Human", "Agent: RedStone"]
    did = ["Did: BlueLake mail, reservation", "Did: Human slot", "Did: RedStone receipt"]

    assert _trailers([mail(entry("R"))] * (LINES_SHOWN - 4) + others) == [*agents, "Outbox-Seq: 7"]
    assert _trailers([mail(entry("R"))] * (LINES_SHOWN - 3) + others) == [*agents, *did, "Outbox-Seq: 7"]


@pytest.mark.parametrize(
    ("act", "acting", "did"),
    [
        (happened(EventKind.RESERVATION, ended("force") | {"acting": "RedStone"}), "RedStone", "force"),
        (happened(EventKind.SLOT, ended("force") | {"acting": "RedStone"}), "RedStone", "force"),
        (happened(EventKind.RESERVATION, ended("retirement")), "BlueLake", "reservation"),
        (happened(EventKind.PROJECT, PROJECT | {"acting": "RedStone"}), "RedStone", "project"),
    ],
)
def test_where_a_line_does_not_begin_with_who_acted_the_trailers_say_it(
    act: OutboxEvent, acting: str, did: str
) -> None:
    assert _trailers([act]) == [f"Agent: {acting}", f"Did: {acting} {did}", "Outbox-Seq: 7"]


def test_where_the_line_of_a_lease_is_cut_the_trailers_say_so_too() -> None:
    read = happened(EventKind.RECEIPT, {"agent": "BlueLake", "step": "read", "message_id": 38})

    def expired(pattern: str) -> OutboxEvent:
        return happened(EventKind.RESERVATION, ended("expiry") | {"path_pattern": pattern, "acting": None})

    assert _trailers([read, expired("x" * 68)]) == ["Agent: BlueLake", "Outbox-Seq: 7"]
    assert _trailers([read, expired("x" * 69)]) == ["Agent: BlueLake", "Did: BlueLake receipt", "Outbox-Seq: 7"]


@pytest.mark.parametrize(
    "said", ["a\n\nOutbox-Seq: 9", "a\u2028Outbox-Seq: 9", "\u202eb", "x\x1b[31m", "\ufeff", "\u061c", "\U000e0041"]
)
def test_what_agents_write_ends_no_line_and_is_no_trailer(said: str) -> None:
    events = [mail(entry("R"), subject=said), happened(EventKind.RESERVATION, LEASE | {"path_pattern": said})]

    message = commit_text(events).message

    assert [line for line in message.split("\n") if line.startswith("Outbox-Seq")] == ["Outbox-Seq: 7"]
    assert len(message.split("\n")) == 8
    assert all(character == "\n" or character.isprintable() for character in message)


def test_a_conversion_says_so_and_goes_as_far_as_the_commit_before_it() -> None:
    message = conversion_text(1, OutboxSeq(12)).message

    assert message.startswith("archive: format 2 (was 1)\n\n")
    assert message.endswith("\n\nArchive-Format: 2\nOutbox-Seq: 12\n")


PLAIN = mail(entry("RedStone"))
WITH_HELD = mail(entry("RedStone"), entry("Spy", "bcc") | {"status": "held"})
APPROVED = replace(mail(entry("RedStone"), entry("Spy", "bcc")), agent_id=AgentId(9))
REQUEST = replace(PLAIN, snapshot=PLAIN.snapshot | {"is_private": True})
CONSENT = replace(PLAIN, kind=EventKind.CONTACT, agent_id=AgentId(9), snapshot={"acting": "Spy"})
NOTICE = replace(PLAIN, kind=EventKind.OVERDUE, agent_id=None, snapshot={"sender": "BlueLake", "id": 38})
RECEIPT = replace(PLAIN, kind=EventKind.RECEIPT, agent_id=AgentId(9), snapshot={"agent": "Spy", "is_blind": True})
PRIVATE_RECEIPT = replace(RECEIPT, snapshot={"agent": "Spy", "is_private": True})
ELSEWHERE = mail(entry("Spy", "bcc", project_id=2), archive=2)


def test_a_commit_says_the_same_whatever_few_may_know_of_is_in_it() -> None:
    texts = {
        commit_text([first, *others]).message
        for first in (PLAIN, WITH_HELD)
        for others in ([], [REQUEST, CONSENT, NOTICE])
    }

    assert texts == {"mail: BlueLake -> RedStone | Plan\n\nAgent: BlueLake\nOutbox-Seq: 7\n"}


def test_what_each_agent_did_tells_nothing_of_what_few_may_know_of() -> None:
    texts = {
        commit_text([*[first] * (LINES_SHOWN + 1), *others]).message
        for first in (PLAIN, WITH_HELD)
        for others in ([], [APPROVED, REQUEST, CONSENT, NOTICE, RECEIPT, PRIVATE_RECEIPT])
    }

    (text,) = texts
    assert text.endswith("\n\nAgent: BlueLake\nDid: BlueLake mail\nOutbox-Seq: 7\n")


@pytest.mark.parametrize(
    "events",
    [
        [PRIVATE_RECEIPT],
        [NOTICE],
        [CONSENT],
        [CONSENT, APPROVED],
        [REQUEST],
        [RECEIPT],
        [RECEIPT, CONSENT],
        [ELSEWHERE],
    ],
)
def test_what_few_may_know_of_is_neither_counted_nor_anybodys(events: list[OutboxEvent]) -> None:
    assert commit_text(events).message == "archive: records\n\nOutbox-Seq: 7\n"


@pytest.mark.parametrize(("count", "said"), [(1, "1 attachment"), (2, "2 attachments")])
def test_what_is_brought_later_says_so_and_goes_as_far_as_the_commit_before_it(count: int, said: str) -> None:
    text = attachments_text(count, OutboxSeq(7))

    assert text.message == f"archive: {said} brought later\n\nOutbox-Seq: 7\n"
