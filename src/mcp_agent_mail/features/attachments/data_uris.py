"""`data:` URIs, read strictly and piece by piece: what a browser would guess at is refused."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.attachments import kind_of

_TOKEN = r"[A-Za-z0-9!#$&^_.+-]++"
_HEAD = lazy_pattern(
    rf"data:(?>(?P<type>{_TOKEN}/{_TOKEN})?)(?>(?:;(?!base64,){_TOKEN}=(?:\"[^\"\\]*+\"|[^\s;,\"]*+))*)"
    r"(?>(?P<base64>;base64)?),",
    re.IGNORECASE | re.ASCII,
)
_PIECE = 1 << 16
"""Characters that are decoded at a time: a multiple of four."""
_SAMPLE = 1 << 12
"""Of base64: enough to tell what it is."""
_PERCENT = lazy_pattern(rb"%(?:([0-9A-Fa-f]{2}))?")
_UNFIT = lazy_pattern(r"[^ -~]|#")


class UnfitDataUri(InvalidInput):
    """A `data:` URI that does not say exactly which bytes are meant."""


def is_data_uri(text: str) -> bool:
    return text[:5].lower() == "data:"


def read_data_uri(uri: str) -> Iterator[bytes]:
    """The bytes that the URI holds, in pieces. Raises UnfitDataUri, also after some of them."""
    head = _HEAD.match(uri)
    if head is None:
        raise _unfit(uri, "has no comma, or what comes before it is no media type")
    if not head["base64"] and _is_unsaid_base64(uri, head):
        raise UnfitDataUri(
            f"{uri[:60]!r} holds base64, and does not say so: its bytes would be these letters.",
            hint=f"Did you forget `;base64`? data:{head['type'][:80]};base64,{uri[head.end() : head.end() + 8]}…",
            data={"parameter": "attachment_paths"},
        )
    decode = _from_base64 if head["base64"] else _from_percent
    return decode(uri, head.end())


def _is_unsaid_base64(uri: str, head: re.Match[str]) -> bool:
    """Whether the letters are base64 of just what the URI says it holds, by the first bytes of that."""
    declared = (head["type"] or "").lower()
    begin = uri[head.end() : head.end() + _SAMPLE]
    if not declared or declared.startswith("text/"):
        return False
    try:
        data = binascii.a2b_base64(begin[: len(begin) & ~3].encode("ascii"), strict_mode=True)
    except ValueError:
        return False
    return bool(data) and kind_of(data).media_type == declared


def _from_base64(uri: str, begin: int) -> Iterator[bytes]:
    # The four marks that base64 has beside letters and digits may be escaped like any other.
    text = _plain(uri, begin) if "%" in uri[begin:] else uri
    begin = 0 if text is not uri else begin
    for at in range(begin, len(text), _PIECE):
        piece = text[at : at + _PIECE]
        if "=" in piece and at + _PIECE < len(text):
            raise _unfit(uri, "goes on after the `=` that ends base64")
        try:
            yield binascii.a2b_base64(piece.encode("ascii"), strict_mode=True)
        except ValueError as broken:
            raise _unfit(uri, "is not base64 with its padding (`A-Z a-z 0-9 + / =`)") from broken


def _plain(uri: str, begin: int) -> str:
    return b"".join(_from_percent(uri, begin)).decode("latin-1")


def _from_percent(uri: str, begin: int) -> Iterator[bytes]:
    at = begin
    while at < len(uri):
        end = at + _PIECE
        # An escape is three characters: none is cut.
        if end < len(uri) and (escape := uri.rfind("%", end - 2, end)) > at:
            end = escape
        piece = uri[at:end]
        if _UNFIT.search(piece):
            raise _unfit(uri, "holds letters that have to be escaped: `#` as %23, all but ASCII as UTF-8")
        yield _PERCENT.sub(lambda escape: _byte(uri, escape), piece.encode("ascii"))
        at = end


def _byte(uri: str, escape: re.Match[bytes]) -> bytes:
    if escape[1] is None:
        raise _unfit(uri, "holds a `%` without two hexadecimal digits behind it")
    return bytes([int(escape[1], 16)])


def _unfit(uri: str, why: str) -> UnfitDataUri:
    return UnfitDataUri(
        f"{uri[:60]!r} {why}.",
        hint="Write data:<media type>;base64,<base64 of the bytes>.",
        data={"parameter": "attachment_paths"},
    )
