"""What the front matter of a mail file says of an attachment."""

from __future__ import annotations

from mcp_agent_mail.domain.archive_format.attachments import attachment_entry
from mcp_agent_mail.domain.attachments import Attachment, StoredContent, to_record

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
