"""Attachments as values: kinds by first bytes, names, references, and what a row keeps."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.attachments import (
    HEAD_BYTES,
    MAX_NAME,
    Attachment,
    StoredContent,
    UnfitDigest,
    attachment_path,
    from_json,
    image_type,
    is_content_path,
    kind_of,
    media_type_of,
    parse_digest,
    read_digest,
    shown_name,
    to_json,
)

DIGEST = "0f" * 32


@pytest.mark.parametrize(
    ("head", "media_type", "extension", "is_image"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png", "png", True),
        (b"\xff\xd8\xff\xe0", "image/jpeg", "jpg", True),
        (b"GIF89a", "image/gif", "gif", True),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp", "webp", True),
        (b"RIFF\0\0\0\0WAVEfmt ", "application/octet-stream", "bin", False),
        (b"BM\x36", "image/bmp", "bmp", True),
        (b"II*\0", "image/tiff", "tiff", True),
        (b"MM\0*", "image/tiff", "tiff", True),
        (b"%PDF-1.7", "application/pdf", "pdf", False),
        (b"PK\x03\x04", "application/zip", "zip", False),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "text/plain", "txt", False),
        ("Grüße".encode(), "text/plain", "txt", False),
        (b"", "text/plain", "txt", False),
        (b"a\0b", "application/octet-stream", "bin", False),
        (b"\xfftext", "application/octet-stream", "bin", False),
    ],
)
def test_the_first_bytes_tell_the_kind(head: bytes, media_type: str, extension: str, is_image: bool) -> None:
    kind = kind_of(head)

    assert (kind.media_type, kind.extension, kind.is_image) == (media_type, extension, is_image)


def test_a_letter_cut_by_the_end_of_the_head_is_text_and_one_cut_by_the_end_of_the_file_is_not() -> None:
    assert kind_of(b"x" * (HEAD_BYTES - 1) + "ü".encode()[:1]).extension == "txt"
    assert kind_of("ü".encode()[:1]).extension == "bin"


@pytest.mark.parametrize(
    ("head", "name", "media_type"),
    [
        (b"a,b", "table.csv", "text/csv"),
        (b"a,b", "table", "text/plain"),
        (b"<svg/>", "drawing.svg", "image/svg+xml"),
        (b"<script>", "photo.png", "text/plain"),
        (b"\x89PNG\r\n\x1a\n", "page.html", "image/png"),
        (b"text", "notes.txt.gz", "text/plain"),
    ],
)
def test_a_name_tells_the_media_type_only_where_the_bytes_do_not(head: bytes, name: str, media_type: str) -> None:
    assert media_type_of(kind_of(head), name) == media_type


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("docs/plan.md", "plan.md"),
        ("C:\\temp\\plan.md", "plan.md"),
        ("a\nb\x1b[31m\u202e.txt", "ab[31m.txt"),
        ("docs/", "attachment.txt"),
        ("..", "attachment.txt"),
        ("x" * 300, "x" * MAX_NAME),
    ],
)
def test_a_name_is_the_last_part_of_the_path_without_control_characters(given: str, shown: str) -> None:
    assert shown_name(given, kind_of(b"text")) == shown


def test_what_is_stored_is_named_by_its_digest() -> None:
    assert read_digest(f"sha256:{DIGEST.upper()}") == DIGEST
    assert read_digest("docs/sha256.txt") is None
    for unfit in ("sha256:", "sha256:xyz", f"sha256:{DIGEST}0"):
        with pytest.raises(UnfitDigest):
            read_digest(unfit)


def test_a_row_gives_back_what_it_was_given() -> None:
    content = StoredContent(sha256=DIGEST, bytes=7, extension="webp")
    original = StoredContent(sha256="ab" * 32, bytes=9, extension="png")
    attachments = (
        Attachment(content=content, name="ü.png", media_type="image/webp", width=1, height=2, original=original),
        Attachment(content=content, name="a", media_type="text/plain", is_inline=True),
    )

    assert from_json(to_json(attachments)) == attachments
    assert (to_json(()), from_json(None)) == (None, ())
    assert attachments[0].contents == (content, original)
    assert content.path == f"attachments/0f/{DIGEST}.webp"


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        (attachment_path("ab" * 32, "txt"), True),
        (f"attachments/cd/{'ab' * 32}.txt", False),
        (f"attachments/ab/{'ab' * 31}.txt", False),
        (f"attachments/ab/{'ab' * 32}", False),
        ("attachments/ab/abstract.txt", False),
        ("attachments/notes.txt", False),
    ],
)
def test_a_content_is_known_by_its_path(path: str, is_one: bool) -> None:
    assert is_content_path(path) is is_one


def test_a_raster_image_has_its_type_by_its_extension_and_nothing_else_has_one() -> None:
    assert [image_type(extension) for extension in ("png", "jpg", "gif", "webp", "bmp", "tiff")] == [
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "image/bmp",
        "image/tiff",
    ]
    assert [image_type(extension) for extension in ("svg", "txt", "bin", "pdf", "PNG", "")] == [None] * 6


def test_a_digest_alone_is_read_as_behind_its_mark() -> None:
    assert parse_digest(f" {'A' * 64}\n") == parse_digest(f"sha256:{'A' * 64}") == "a" * 64
    for text in ("", "a" * 63, "g" * 64, "sha256:", f"sha256:sha256:{'a' * 64}"):
        with pytest.raises(UnfitDigest):
            parse_digest(text)
