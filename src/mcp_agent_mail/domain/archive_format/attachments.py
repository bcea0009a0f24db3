"""What mail carries, as an archive has it: each content is one file, for all mail that carries it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mcp_agent_mail.domain.attachments import StoredContent, from_record

Content = bytes | StoredContent
"""What a file is to hold: it itself, or which of the contents beside the database."""

FREED = "freed"
"""The key under which a snapshot says what the archive is to keep no longer, by path."""


def carried_files(snapshot: Mapping[str, Any]) -> Iterator[tuple[str, StoredContent]]:
    """Path and content of what a mail carries."""
    for record in snapshot.get("attachments", ()):
        for content in from_record(record).contents:
            yield content.path, content


def freed_paths(snapshot: Mapping[str, Any]) -> list[str]:
    """What the archive is to keep no longer, since no mail carries it any more."""
    return list(snapshot.get(FREED, ()))


def attachment_entry(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a mail file says of an attachment: the file that has it, and what it is. The keys are the format."""
    one = from_record(record)
    shown = {
        "bytes": one.content.bytes,
        "height": one.height,
        "media_type": one.media_type,
        "name": one.name,
        "path": one.content.path,
        "sha256": one.content.sha256,
        "type": one.type,
        "width": one.width,
    }
    if one.original is not None:
        shown |= {"original_bytes": one.original.bytes, "original_path": one.original.path}
    return shown
