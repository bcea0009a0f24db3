"""Contents beside the database of a store, as a send puts them there."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.domain.attachments import Attachment, StoredContent


def keep_content(root: Path, data: bytes) -> StoredContent:
    """Beside the database of the store at `root`, as a send puts it there."""
    files = AttachmentFiles(root / ATTACHMENTS_FOLDER)
    return files.keep(files.stage([data], len(data)))


def content_path(root: Path, content: StoredContent) -> Path:
    """Where a content lies beside the database."""
    return root / ATTACHMENTS_FOLDER / content.sha256[:2] / content.sha256


def attached(content: StoredContent, *, original: StoredContent | None = None) -> Attachment:
    return Attachment(content=content, name="notes.txt", media_type="text/plain", original=original)
