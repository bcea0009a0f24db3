"""Attachments: what a message lists, with their bytes out of the list itself or out of the archive."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mcp_agent_mail.core.json_limits import require_bounded
from mcp_agent_mail.domain.importing.records import SourceAttachment, SourceKind
from mcp_agent_mail.facades.importers.mcp_agent_mail.archive import SourceArchive
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes
from mcp_agent_mail.facades.importers.values import text_of

LARGEST = 64 << 20
"""Bytes of one attachment that are read."""

MOST_OF_MESSAGE = 128 << 20
"""Bytes of all that one message carries: what comes after that counts as lost."""

_MOST = 200
_MOST_PARTS = 20_000
_BYTES = ("data_uri", "data_base64", "base64", "data", "content", "uri", "url")
_PATHS = ("path", "archive_path", "file", "file_path", "relative_path")
_HASHES = ("sha1", "hash", "digest")
_NAMES = ("name", "filename", "file_name", "original_name", "title")
_DATA_URI = re.compile(r"data:(?P<type>[^;,]*)(?:;[^,]*)?,", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_EXTENSIONS = {"image/webp": "webp", "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "text/plain": "txt"}


class AttachmentReader:
    """Of one source. Where there is no archive, files of it count as lost."""

    def __init__(self, archive: SourceArchive | None, notes: ReadingNotes) -> None:
        self._archive = archive
        self._notes = notes

    def attachments(self, value: object, slug: str) -> tuple[SourceAttachment, ...]:
        """`value` is a list, or the JSON of one."""
        listed = self._list(value)
        if len(listed) > _MOST:
            self._notes.leave_out(
                SourceKind.ATTACHMENT, f"one message has more than {_MOST} of them", len(listed) - _MOST
            )
        read, room = [], MOST_OF_MESSAGE
        for one in listed[:_MOST]:
            attachment = self._one(one, slug)
            room -= len(attachment.content or b"")
            read.append(attachment if room >= 0 else replace(attachment, content=None))
        return tuple(read)

    def _list(self, value: object) -> list[object]:
        if isinstance(value, bytes | str) and value.strip():
            content = value if isinstance(value, bytes) else text_of(value).encode()
            with suppress(ValueError, RecursionError):
                require_bounded(content, _MOST_PARTS, longest=2 * LARGEST)
                value = json.loads(content)
        if isinstance(value, list):
            return value
        if isinstance(value, dict):
            return [value]
        if value not in (None, "", b""):
            self._notes.leave_out(SourceKind.ATTACHMENT, "what lists them is no JSON")
        return []

    def _one(self, one: object, slug: str) -> SourceAttachment:
        fields = one if isinstance(one, dict) else {"path": one}
        found = next(self._inline(fields), None)
        if found is not None:
            media_type, content = found
            return SourceAttachment(name=_name(fields, media_type), content=content, is_inline=True)
        filed = next(self._filed(fields, slug), None)
        return SourceAttachment(name=_name(fields, text_of(fields.get("media_type"))), content=filed)

    # As JSON has it.
    def _inline(self, fields: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
        for key in _BYTES:
            value = fields.get(key)
            if isinstance(value, str) and value:
                uri = _DATA_URI.match(value)
                if uri is None and key in ("uri", "url", "content"):
                    continue
                text = value if uri is None else value[uri.end() :]
                with suppress(binascii.Error, ValueError):
                    content = base64.b64decode(_SPACE.sub("", text), validate=True)
                    yield (text_of(fields.get("media_type")) if uri is None else uri["type"]), content

    # As JSON has it.
    def _filed(self, fields: Mapping[str, Any], slug: str) -> Iterator[bytes]:
        for key in (*_PATHS, *_HASHES):
            value = fields.get(key)
            if isinstance(value, str) and value and self._archive is not None:
                content = self._archive.content(slug, value.strip().removeprefix("./"), LARGEST)
                if content is not None:
                    yield content


# As JSON has it.
def _name(fields: Mapping[str, Any], media_type: str) -> str:
    for key in (*_NAMES, *_PATHS):
        value = fields.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    extension = _EXTENSIONS.get(media_type.lower())
    return f"attachment.{extension}" if extension else ""
