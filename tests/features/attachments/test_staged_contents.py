"""What one call has staged goes together, whoever comes late."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.features.attachments.staged_contents import StagedContents


def left(folder: Path) -> int:
    return len(list((folder / "staged").iterdir()))


def test_what_is_not_kept_is_discarded_with_what_was_made_of_it(tmp_path: Path) -> None:
    contents = StagedContents(AttachmentFiles(tmp_path), 100)
    kept, dropped = contents.stage([b"kept"]), contents.stage([b"dropped"])
    contents.place_beside(dropped).write_bytes(b"made")

    stored = contents.keep([kept])

    assert stored[kept.sha256].bytes == 4
    assert left(tmp_path) == 0
    assert not contents.end()


def test_whoever_stages_after_the_end_leaves_nothing(tmp_path: Path) -> None:
    contents = StagedContents(AttachmentFiles(tmp_path), 100)
    contents.stage([b"early"])

    assert contents.end()
    contents.stage([b"late"])

    assert left(tmp_path) == 0
