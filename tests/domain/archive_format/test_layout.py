from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import AgentId, LeaseId, MessageId, OutboxSeq, ProjectId
from mcp_agent_mail.domain.agents import Agent, AgentKind, AgentStatus, AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.archive_format.commit_message import commit_text
from mcp_agent_mail.domain.archive_format.layout import (
    Snapshot,
    batch_files,
    mail_files,
    mail_snapshot,
    profile_snapshot,
    project_snapshot,
    receipt_snapshot,
    subject_slug,
)
from mcp_agent_mail.domain.archive_format.leases import lease_snapshot
from mcp_agent_mail.domain.archive_format.months import month_of
from mcp_agent_mail.domain.archive_format.names import UnsafeName
from mcp_agent_mail.domain.archive_format.overdue_notices import overdue_snapshot
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION
from mcp_agent_mail.domain.events import EventKind, OutboxEvent
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKind
from mcp_agent_mail.domain.messages import Importance, Message, Receipt, ReceiptStep, Recipient, RecipientKind
from mcp_agent_mail.domain.overdue_notices import NotedMessage
from mcp_agent_mail.domain.projects import AliasKind, Project, StoredAlias

GOLDEN = Path(__file__).parents[2] / "golden" / "archive"
STORE_ID = "0f5ad5b0-6a5e-4f3c-9f0e-2f4d7f1f9f10"
AT = Micros(1_795_294_800_123_456)
APP, LIB = ProjectId(1), ProjectId(2)
TAIL = "2026/11/500-999/2026-11-21T21-00-00Z__plan-for-the-week__742.md"

MESSAGE = Message(
    id=MessageId(742),
    project_id=APP,
    project_slug="app-1a2b3c",
    project_key="/code/app",
    sender_id=AgentId(11),
    sender_name="BlueLake",
    thread_id="week-47",
    topic="planning",
    subject="Plan for the week",
    body_md="# Plan\n\nÄpfel, 梨 and `code`.\r\n\n---\nno break at the end",
    importance=Importance.HIGH,
    ack_required=True,
    created_ts=AT,
    reply_to=MessageId(741),
    is_system=False,
)


ALIASES = (
    StoredAlias(name="/code/feature", kind=AliasKind.PATH, created_ts=AT),
    StoredAlias(name="common:/code/app/.git", kind=AliasKind.TIE, created_ts=AT),
)
NOTED = NotedMessage(
    message_id=MESSAGE.id,
    project_id=APP,
    created_ts=AT,
    sender="BlueLake",
    noted_ts=Micros(AT + 1_800_000_000),
    escalation="log",
)


def recipient(agent_id: int, name: str, kind: RecipientKind, *, project_id: ProjectId = APP) -> Recipient:
    return Recipient(
        message_id=MESSAGE.id,
        agent_id=AgentId(agent_id),
        project_id=project_id,
        project_slug="app-1a2b3c" if project_id == APP else "lib-9f8e7d",
        name=name,
        kind=kind,
        position=agent_id,
        delivery_seq=agent_id + 1_000,
        delivered_ts=AT,
        read_ts=None,
        ack_ts=None,
        last_active_ts=AT,
    )


RED = recipient(12, "RedStone", RecipientKind.TO)
FOX = recipient(13, "QuietFox", RecipientKind.CC, project_id=LIB)
GREEN = recipient(14, "GreenField", RecipientKind.BCC)
OWL = recipient(15, "GreyOwl", RecipientKind.BCC, project_id=LIB)

PROJECT = Project(id=APP, slug="app-1a2b3c", human_key="/code/app", created_ts=AT, archived_ts=None)
AGENT = Agent(
    id=AgentId(11),
    project_id=APP,
    kind=AgentKind.AGENT,
    name="BlueLake",
    program="claude-code",
    model="opus",
    task_description='Plans "the week"',
    inception_ts=AT,
    last_active_ts=Micros(AT + 5 * SECOND),
    profiled_ts=Micros(AT + SECOND),
    contact_policy=ContactPolicy.AUTO,
    attachments_policy=AttachmentsPolicy.INLINE,
    status=AgentStatus.BUSY,
    status_note="not for the archive",
    status_ts=AT,
    retired_ts=None,
    unread_count=3,
    open_unread_count=2,
)


def event(seq: int, kind: EventKind, snapshot: Snapshot, project_id: ProjectId = APP) -> OutboxEvent:
    return OutboxEvent(
        seq=OutboxSeq(seq),
        project_id=project_id,
        project_slug="app-1a2b3c" if project_id == APP else "lib-9f8e7d",
        kind=kind,
        agent_id=AgentId(snapshot["sender_id"]) if kind is EventKind.MAIL else None,
        created_ts=Micros(AT + seq),
        snapshot=snapshot,
    )


def receipt(seq: int, step: ReceiptStep) -> OutboxEvent:
    made = Receipt(message_id=MESSAGE.id, agent_id=RED.agent_id, agent=RED.name, step=step, at=Micros(AT + seq))
    return event(seq, EventKind.RECEIPT, receipt_snapshot(made))


def mail(*recipients: Recipient, project_id: ProjectId = APP) -> dict[str, bytes]:
    return dict(mail_files(mail_snapshot(MESSAGE, recipients, project_id), FORMAT_VERSION))


def front_matter(content: bytes) -> dict[str, object]:
    text, separator, _ = content.removeprefix(b"---json\n").partition(b"\n---\n")
    assert separator
    found: dict[str, object] = json.loads(text)
    return found


def app_batch() -> dict[str, bytes]:
    everyone = (RED, FOX, GREEN, OWL)
    events = [
        event(1, EventKind.PROJECT, project_snapshot(PROJECT, ALIASES)),
        event(2, EventKind.PROFILE, profile_snapshot(AGENT)),
        event(3, EventKind.MAIL, mail_snapshot(MESSAGE, everyone, APP)),
        receipt(4, ReceiptStep.READ),
        receipt(5, ReceiptStep.ACKNOWLEDGED),
        event(7, EventKind.RESERVATION, lease_snapshot(lease(7), PROJECT)),
        event(8, EventKind.RESERVATION, lease_snapshot(lease(8, released_ts=AT, ended_by=EndedBy.RELEASE), PROJECT)),
        event(9, EventKind.SLOT, lease_snapshot(lease(9, LeaseKind.SLOT), PROJECT)),
        event(10, EventKind.OVERDUE, overdue_snapshot(NOTED)),
    ]
    return written(events)


def written(events: Sequence[OutboxEvent]) -> dict[str, bytes]:
    """Without what a batch takes away."""
    return {
        path: content
        for path, content in batch_files(events, STORE_ID, FORMAT_VERSION).items()
        if isinstance(content, bytes)
    }


def lease(
    number: int, kind: LeaseKind = LeaseKind.FILE, *, released_ts: Micros | None = None, ended_by: EndedBy | None = None
) -> Lease:
    return Lease(
        id=LeaseId(number),
        project_id=APP,
        agent_id=AgentId(11),
        agent="BlueLake",
        kind=kind,
        path_pattern="src/**" if kind is LeaseKind.FILE else "frontend-build",
        is_folder=False,
        ignore_case=False,
        exclusive=True,
        reason="the parser",
        branch=None if kind is LeaseKind.FILE else "main",
        created_ts=AT,
        expires_ts=Micros(AT + 3_600_000_000),
        released_ts=released_ts,
        ended_by=ended_by,
        evidence=None,
        fencing=number + 40,
    )


def lib_batch() -> dict[str, bytes]:
    everyone = (RED, FOX, GREEN, OWL)
    return written([event(6, EventKind.MAIL, mail_snapshot(MESSAGE, everyone, LIB), LIB)])


@pytest.mark.parametrize(("folder", "files"), [("app-1a2b3c", app_batch()), ("lib-9f8e7d", lib_batch())])
def test_the_files_of_a_batch_are_those_of_the_published_format(folder: str, files: dict[str, bytes]) -> None:
    root = GOLDEN / folder
    golden = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    assert files == golden


def test_without_blind_recipients_all_copies_are_one_content() -> None:
    files = mail(RED)

    assert sorted(files) == [f"agents/BlueLake/outbox/{TAIL}", f"agents/RedStone/inbox/{TAIL}", f"messages/{TAIL}"]
    assert len({id(content) for content in files.values()}) == 1


def test_a_blind_recipient_is_named_in_the_sender_s_copy_alone() -> None:
    files = mail(RED, GREEN)
    naming = [path for path, content in files.items() if b"GreenField" in content or b'"bcc": ["' in content]

    assert naming == [f"agents/BlueLake/outbox/{TAIL}"]
    assert f"agents/GreenField/inbox/{TAIL}" in files


def test_in_another_project_names_of_this_one_say_where_they_belong() -> None:
    files = mail(RED, FOX, project_id=LIB)
    (content,) = files.values()

    assert list(files) == [f"agents/QuietFox/inbox/{TAIL}"]
    assert front_matter(content)["from"] == "BlueLake@app-1a2b3c"
    assert front_matter(content)["to"] == ["RedStone@app-1a2b3c"]
    assert front_matter(content)["cc"] == ["QuietFox"]
    assert front_matter(content)["project_slug"] == "app-1a2b3c"


def test_a_project_of_blind_recipients_alone_gets_their_copies_without_their_names() -> None:
    files = mail(RED, OWL, project_id=LIB)

    assert list(files) == [f"agents/GreyOwl/inbox/{TAIL}"]
    assert b"GreyOwl" not in files[f"agents/GreyOwl/inbox/{TAIL}"]


def test_of_two_profiles_in_a_batch_the_later_counts() -> None:
    later = replace(AGENT, task_description="Rests")
    events = [event(seq, EventKind.PROFILE, profile_snapshot(agent)) for seq, agent in ((1, AGENT), (2, later))]

    files = written(events)

    assert json.loads(files["agents/BlueLake/profile.json"])["task_description"] == "Rests"


def test_a_profile_shows_neither_token_nor_presence() -> None:
    files = written([event(1, EventKind.PROFILE, profile_snapshot(AGENT))])
    profile = json.loads(files["agents/BlueLake/profile.json"])

    assert not {key for key in profile if "token" in key or "status" in key}
    assert profile["last_active_ts"] == "2026-11-21T21:00:01.123456+00:00"


def test_the_receipts_of_a_batch_share_one_file_named_by_the_first() -> None:
    files = written([receipt(40, ReceiptStep.READ), receipt(41, ReceiptStep.ACKNOWLEDGED)])
    (path,) = files

    assert path == "receipts/2026/11/21/40.jsonl"
    assert [json.loads(line)["step"] for line in files[path].splitlines()] == ["read", "acknowledged"]


def test_a_receipt_for_a_blind_copy_lies_in_its_recipients_folder_and_names_nobody_in_the_commit() -> None:
    blind = receipt(42, ReceiptStep.READ)
    blind = replace(blind, snapshot=blind.snapshot | {"is_blind": True})
    files = written([receipt(40, ReceiptStep.READ), blind])

    shared, own = sorted(files, key=len)
    assert (shared, own) == (
        "receipts/2026/11/21/40.jsonl",
        f"agents/{blind.snapshot['agent']}/receipts/2026/11/21/42.jsonl",
    )
    assert set(json.loads(files[own])) == set(json.loads(files[shared]))
    assert month_of(own) == "2026-11"
    assert commit_text([blind]).message == "archive: records\n\nOutbox-Seq: 42\n"


@pytest.mark.parametrize("name", ["../up", "a/b", "", "1st", "a" * 65, "Blue Lake"])
def test_a_name_that_is_none_never_becomes_a_path(name: str) -> None:
    with pytest.raises(UnsafeName):
        mail(replace(RED, name=name))


@pytest.mark.parametrize(
    ("subject", "slug"),
    [
        ("Plan for the week", "plan-for-the-week"),
        ("../../etc/passwd", "..-..-etc-passwd"),
        ("__init__.py", "init__.py"),
        ("梨", "message"),
        ("a" * 79 + " b", "a" * 79),
        ("Ä b!c_", "b-c"),
    ],
)
def test_a_subject_becomes_part_of_a_file_name(subject: str, slug: str) -> None:
    assert subject_slug(subject) == slug


@given(subject=st.text(max_size=600))
def test_any_subject_gives_a_file_name_that_is_one(subject: str) -> None:
    assert re.fullmatch(r"[a-z0-9._-]{1,80}", subject_slug(subject))


@given(
    subject=st.text(st.characters(exclude_categories=["Cs"])), body=st.text(st.characters(exclude_categories=["Cs"]))
)
def test_subject_and_body_come_back_from_the_file_as_they_were(subject: str, body: str) -> None:
    snapshot = mail_snapshot(replace(MESSAGE, subject=subject, body_md=body), [RED], APP)
    content = next(content for _, content in mail_files(snapshot, FORMAT_VERSION))

    assert front_matter(content)["subject"] == subject
    assert content.partition(b"\n---\n")[2].removesuffix(b"\n") == body.encode()


def test_git_s_name_for_a_content_is_computed_without_git() -> None:
    assert blob_id(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
