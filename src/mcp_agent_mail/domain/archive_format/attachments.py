"""Attachments as the front matter of a mail file tells of them; their contents lie beside, each in its own file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_agent_mail.domain.attachments import from_record


def attachment_entry(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a message carries, by the file in which the archive keeps it."""
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
