"""`data:` URIs say exactly which bytes are meant, or are refused."""

from __future__ import annotations

import base64
import random
from urllib.parse import quote_from_bytes

import pytest

from mcp_agent_mail.features.attachments.data_uris import UnfitDataUri, is_data_uri, read_data_uri


def content(uri: str) -> bytes:
    return b"".join(read_data_uri(uri))


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("data:,", b""),
        ("data:,a b<c>%20%C3%A4", b"a b<c> \xc3\xa4"),
        ("data:text/plain;charset=utf-8,x", b"x"),
        ('data:text/plain;name="a b";base64,YQ==', b"a"),
        ("DATA:image/svg+xml;BASE64,YQ%3D%3d", b"a"),
        ("data:;base64,", b""),
        ("data:text/plain;base64=no,YQ==", b"YQ=="),
    ],
)
def test_both_forms_are_read(uri: str, expected: bytes) -> None:
    assert is_data_uri(uri)
    assert content(uri) == expected


@pytest.mark.parametrize(
    ("declared", "raw"),
    [
        ("image/png", b"\x89PNG\r\n\x1a\n" + bytes(90)),
        ("application/PDF", b"%PDF-1.7 and on"),
        ("image/gif", b"GIF89a"),
    ],
)
def test_base64_that_does_not_say_so_is_asked_about(declared: str, raw: bytes) -> None:
    letters = base64.b64encode(raw).decode()

    with pytest.raises(UnfitDataUri) as refused:
        content(f"data:{declared},{letters}")

    assert f"Did you forget `;base64`? data:{declared};base64,{letters[:8]}" in refused.value.hint
    for said_otherwise in ("text/plain", "image/webp", ""):
        assert content(f"data:{said_otherwise},{letters}") == letters.encode()


@pytest.mark.parametrize("size", [65_533, 65_536, 65_537, 200_000])
def test_large_contents_come_in_pieces_that_cut_nothing(size: int) -> None:
    raw = random.Random(size).randbytes(size)

    assert content("data:;base64," + base64.b64encode(raw).decode()) == raw
    assert content("data:," + quote_from_bytes(raw)) == raw
    assert len(list(read_data_uri("data:," + quote_from_bytes(raw)))) > 1


@pytest.mark.parametrize(
    "uri",
    [
        *("data:", "data:text/plain", "data:no type,x", "data:;charset,x", "data:image/png;base64"),
        *("data:;base64,Y", "data:;base64,YQ", "data:;base64,YQ=", "data:;base64,Y Q==", "data:;base64,YQ==YQ=="),
        *("data:;base64,YQ==\n", "data:;base64,-_-_", "data:;base64,é", f"data:;base64,{'YQ==' * 20_000}"),
        *("data:,%", "data:,%4", "data:,%GG", "data:,a#b", "data:,é", "data:,a\nb", "data:," + "%" * 70_000),
    ],
)
def test_what_could_mean_several_things_is_refused(uri: str) -> None:
    with pytest.raises(UnfitDataUri) as refused:
        content(uri)

    assert len(refused.value.message) < 300
