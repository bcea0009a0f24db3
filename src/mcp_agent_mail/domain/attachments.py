"""Attachments: what one is, what its content is by its first bytes, and where it lies in an archive.

One content is one attachment of a message and one file of an archive, whatever it is called.
"""

from __future__ import annotations

import json
import mimetypes
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass

ATTACHMENTS_FOLDER = "attachments"
"""In archives, and beside the database."""

MAX_ATTACHMENTS = 20
"""Of one message: named ones and images of its body together."""

MAX_NAME = 200
HEAD_BYTES = 4_096
"""So much of a content's beginning tells its kind."""

WEBP = "image/webp"
_UNKNOWN = "application/octet-stream"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CONTENT_PATH = re.compile(rf"{ATTACHMENTS_FOLDER}/([0-9a-f]{{2}})/(?P<sha256>\1[0-9a-f]{{62}})\.[a-z]+")
_BY_DIGEST = "sha256:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentKind:
    """What a content is by its first bytes. Its extension follows from that alone, so that one content is one file."""

    media_type: str
    extension: str
    is_image: bool = False
    """A raster image that can be converted, and that browsers show without running anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredContent:
    """Bytes that are kept: what names them, and how many there are."""

    sha256: str
    bytes: int
    extension: str

    @property
    def path(self) -> str:
        """Where the content lies in every archive with mail that carries it."""
        return attachment_path(self.sha256, self.extension)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """An attachment as its message carries it. `width` and `height` are pixels, of images that were read as such.

    `is_inline`: small enough, and meant, to be given with the body. `original`: what a converted image was before.
    """

    content: StoredContent
    name: str
    media_type: str
    width: int | None = None
    height: int | None = None
    is_inline: bool = False
    original: StoredContent | None = None

    @property
    def type(self) -> str:
        """`inline` or `file`, as results and archives say it."""
        return "inline" if self.is_inline else "file"

    @property
    def contents(self) -> tuple[StoredContent, ...]:
        """All that has to be kept for it."""
        return (self.content,) if self.original is None else (self.content, self.original)


class UnfitDigest(InvalidInput):
    """What stands for a digest, behind `sha256:` or alone, is none in hexadecimal."""


def attachment_path(sha256: str, extension: str) -> str:
    return f"{ATTACHMENTS_FOLDER}/{sha256[:2]}/{sha256}.{extension}"


def is_content_path(path: str) -> bool:
    """Is it one that `attachment_path` gives? Other files of the same folder are somebody else's."""
    return _CONTENT_PATH.fullmatch(path) is not None


def find_digest(path: str) -> str | None:
    """The digest of the content that an archive keeps at this path; None for a path at which it keeps none."""
    found = _CONTENT_PATH.fullmatch(path)
    return None if found is None else found["sha256"]


def is_reference(text: str) -> bool:
    """Whether it begins as `sha256:<hex>` does, whatever follows."""
    return text[: len(_BY_DIGEST)].lower() == _BY_DIGEST


def read_digest(text: str) -> str | None:
    """The digest of `sha256:<hex>`; None for what is no reference. Raises UnfitDigest."""
    if not is_reference(text):
        return None
    return _digest(text[len(_BY_DIGEST) :], text, "attachment_paths")


def parse_digest(text: str) -> str:
    """A SHA-256 in hexadecimal, in small letters; `sha256:` before it is left out. Raises UnfitDigest."""
    return _digest(text[len(_BY_DIGEST) :] if is_reference(text) else text, text, "sha256")


def _digest(text: str, given: str, parameter: str) -> str:
    digest = text.strip().lower()
    if not _SHA256.fullmatch(digest):
        raise UnfitDigest(
            f"{given[:100]!r} is no digest: a SHA-256 has 64 hexadecimal digits.",
            hint="Copy the sha256 of an attachment that you have received.",
            data={"parameter": parameter},
        )
    return digest


def kind_of(head: bytes) -> ContentKind:
    """What begins like this, by at most the first `HEAD_BYTES`. A name is never asked: it may lie."""
    for start, kind in _BY_START:
        if head.startswith(start):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _IMAGE_WEBP
    return _TEXT if _is_text(head[:HEAD_BYTES]) else _BYTES


def media_type_of(kind: ContentKind, name: str) -> str:
    """As the name says where the bytes do not tell; never an image's that they do not make it."""
    if kind not in (_TEXT, _BYTES):
        return kind.media_type
    named, encoding = _TYPES.guess_type(name)
    return kind.media_type if named is None or encoding is not None or named in _RASTER else named


def image_type(extension: str) -> str | None:
    """The media type of a raster image, by the extension that its first bytes gave it; None for all other contents."""
    return _IMAGE_TYPES.get(extension)


def shown_name(text: str, kind: ContentKind) -> str:
    """The base name of a path as it came, without control and format characters; by its kind where none is left."""
    base = re.split(r"[/\\]", text)[-1]
    name = "".join(letter for letter in base if unicodedata.category(letter)[0] != "C").strip()[:MAX_NAME]
    return name if name.strip(". ") else f"attachment.{kind.extension}"


def to_json(attachments: Iterable[Attachment]) -> str | None:
    """As a message's row keeps them; None for none."""
    records = [to_record(one) for one in attachments]
    return json.dumps(records, ensure_ascii=False, separators=(",", ":")) if records else None


def from_json(text: str | None) -> tuple[Attachment, ...]:
    return () if text is None else tuple(from_record(record) for record in json.loads(text))


def to_record(one: Attachment) -> dict[str, Any]:
    """Plain JSON, for a row and for a snapshot: what `from_record` reads."""
    return {
        **_content_record(one.content),
        "name": one.name,
        "media_type": one.media_type,
        "width": one.width,
        "height": one.height,
        "is_inline": one.is_inline,
        **({} if one.original is None else {"original": _content_record(one.original)}),
    }


def from_record(record: Mapping[str, Any]) -> Attachment:
    """The attachment that `to_record` wrote down, today or in any earlier version."""
    original = record.get("original")
    return Attachment(
        content=_content(record),
        name=record["name"],
        media_type=record["media_type"],
        width=record["width"],
        height=record["height"],
        is_inline=record["is_inline"],
        original=None if original is None else _content(original),
    )


def _content_record(content: StoredContent) -> dict[str, Any]:
    return {"sha256": content.sha256, "bytes": content.bytes, "extension": content.extension}


def _content(record: Mapping[str, Any]) -> StoredContent:
    return StoredContent(sha256=record["sha256"], bytes=record["bytes"], extension=record["extension"])


def _is_text(head: bytes) -> bool:
    """UTF-8 without NUL, but for a letter that the end of `head` may have cut."""
    if b"\0" in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as broken:
        return broken.reason == "unexpected end of data" and len(head) >= HEAD_BYTES
    return True


_IMAGE_WEBP = ContentKind(media_type=WEBP, extension="webp", is_image=True)
_TEXT = ContentKind(media_type="text/plain", extension="txt")
_BYTES = ContentKind(media_type=_UNKNOWN, extension="bin")
_TIFF = ContentKind(media_type="image/tiff", extension="tiff", is_image=True)
_GIF = ContentKind(media_type="image/gif", extension="gif", is_image=True)
_ZIP = ContentKind(media_type="application/zip", extension="zip")
_BY_START = (
    (b"\x89PNG\r\n\x1a\n", ContentKind(media_type="image/png", extension="png", is_image=True)),
    (b"\xff\xd8\xff", ContentKind(media_type="image/jpeg", extension="jpg", is_image=True)),
    (b"GIF87a", _GIF),
    (b"GIF89a", _GIF),
    (b"BM", ContentKind(media_type="image/bmp", extension="bmp", is_image=True)),
    (b"II*\0", _TIFF),
    (b"MM\0*", _TIFF),
    (b"%PDF-", ContentKind(media_type="application/pdf", extension="pdf")),
    (b"PK\x03\x04", _ZIP),
    (b"PK\x05\x06", _ZIP),
    (b"\x1f\x8b", ContentKind(media_type="application/gzip", extension="gz")),
)
_IMAGE_TYPES = {
    kind.extension: kind.media_type for kind in (_IMAGE_WEBP, *(kind for _, kind in _BY_START)) if kind.is_image
}
_RASTER = frozenset(_IMAGE_TYPES.values())
# Of the module's own table alone: what the machine has in /etc must not change what mail says.
_TYPES = mimetypes.MimeTypes(filenames=())
