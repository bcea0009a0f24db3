"""What the front matter of a mail file says of an attachment."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, OutboxSeq, ProjectId
from mcp_agent_mail.domain.archive_format.attachments import FREED, attachment_entry
from mcp_agent_mail.domain.archive_format.layout import Changes, Snapshot, batch_files, mail_snapshot
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION
from mcp_agent_mail.domain.attachments import HEAD_BYTES, WEBP, Attachment, StoredContent, kind_of, to_record
from mcp_agent_mail.domain.events import EventKind, OutboxEvent
from mcp_agent_mail.domain.messages import Importance, Message

CONTENT = StoredContent(sha256="0f" * 32, bytes=7, extension="webp")
PLAN = Attachment(content=CONTENT, name="plan.png", media_type="image/webp", width=2, height=3)


def test_an_attachment_is_told_with_the_file_that_holds_it() -> None:
    assert attachment_entry(to_record(PLAN)) == {
        "bytes": 7,
        "height": 3,
        "media_type": "image/webp",
        "name": "plan.png",
        "path": f"attachments/0f/{'0f' * 32}.webp",
        "sha256": "0f" * 32,
        "type": "file",
        "width": 2,
    }


def test_an_original_is_told_beside_it() -> None:
    original = StoredContent(sha256="ab" * 32, bytes=9, extension="png")
    kept = Attachment(content=CONTENT, name="plan.png", media_type="image/webp", is_inline=True, original=original)

    entry = attachment_entry(to_record(kept))

    assert (entry["original_path"], entry["original_bytes"], entry["type"]) == (original.path, 9, "inline")


GOLDEN = Path(__file__).parents[2] / "golden" / "archive" / "attachments-4d5e6f"
TEXT = b"The plan, in a file.\n"
PNG = b"\x89PNG\r\n\x1a\nno more of it"
PICTURE = b"RIFF\x0e\0\0\0WEBPno more of it"
AT = Micros(1_795_294_800_123_456)


def content(data: bytes) -> StoredContent:
    return StoredContent(
        sha256=hashlib.sha256(data).hexdigest(), bytes=len(data), extension=kind_of(data[:HEAD_BYTES]).extension
    )


def carrying(*attachments: Attachment) -> Snapshot:
    message = Message(
        id=MessageId(743),
        project_id=ProjectId(3),
        project_slug="attachments-4d5e6f",
        project_key="/code/attachments",
        sender_id=AgentId(11),
        sender_name="BlueLake",
        thread_id=None,
        topic=None,
        subject="Plan, drawn",
        body_md="See what is attached.",
        importance=Importance.NORMAL,
        ack_required=False,
        created_ts=AT,
        reply_to=None,
        is_system=False,
        attachments=attachments,
    )
    return mail_snapshot(message, [], ProjectId(3))


def event(snapshot: Snapshot, kind: EventKind = EventKind.MAIL) -> OutboxEvent:
    return OutboxEvent(
        seq=OutboxSeq(1),
        project_id=ProjectId(3),
        project_slug="attachments-4d5e6f",
        kind=kind,
        agent_id=AgentId(11),
        created_ts=AT,
        snapshot=snapshot,
    )


def files_of(*snapshots: Snapshot) -> Changes:
    return batch_files(map(event, snapshots), "this-store", FORMAT_VERSION)


DRAWN = Attachment(
    content=content(PICTURE), name="plan.png", media_type=WEBP, width=2, height=3, is_inline=True, original=content(PNG)
)
WRITTEN = Attachment(content=content(TEXT), name="plan.md", media_type="text/markdown")


def test_the_files_of_mail_with_attachments_are_those_of_the_published_format() -> None:
    golden = {str(path.relative_to(GOLDEN)): path.read_bytes() for path in GOLDEN.rglob("*") if path.is_file()}

    files = files_of(carrying(DRAWN, WRITTEN))

    assert files == {path: content(data) if path.startswith("attachments/") else data for path, data in golden.items()}


def test_what_is_freed_goes_unless_later_mail_carries_it() -> None:
    freed = carrying() | {FREED: [WRITTEN.content.path, DRAWN.content.path]}

    files = files_of(carrying(WRITTEN), freed, carrying(DRAWN))

    assert files[WRITTEN.content.path] is None
    assert files[DRAWN.content.path] == DRAWN.content
    assert FREED not in str(files[next(path for path in files if path.startswith("messages/"))])


def test_mail_that_carries_nothing_brings_its_own_files_alone() -> None:
    assert {path.partition("/")[0] for path in files_of(carrying())} == {"agents", "messages"}
