"""JSON that a stranger may have written, read only while it is not made of more parts than it can need.

Its bytes say little of the memory that it takes: an empty object of three bytes becomes one of seventy, and with one
character beyond ASCII a text takes up to four times its bytes, whole.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from json.encoder import encode_basestring_ascii
from typing import Any

LONGEST_TEXT = 1 << 20
"""Bytes of a single text, as it stands in the JSON."""

_CHUNK = 1 << 16
_BEYOND_ASCII = re.compile("[^\x00-\x7f]+")


class TooManyParts(ValueError):
    """More values than what is read can need, or a longer text."""


# As JSON has it.
def read_bounded(content: bytes, most_parts: int, *, longest: int = LONGEST_TEXT) -> Any:  # noqa: ANN401
    """What UTF-8 JSON says. Raises ValueError for what is none, RecursionError, and what `require_bounded` does before
    anything is made of it.
    """
    require_bounded(content, most_parts, longest=longest)
    # In ASCII alone it takes a byte a character, and each text only what is its own.
    return json.loads("".join(_in_ascii(content)))


def require_bounded(content: bytes, most_parts: int, *, longest: int = LONGEST_TEXT) -> None:
    """Raise TooManyParts for more than `most_parts` texts, or commas and beginnings of lists and objects outside of
    texts, and for a text of more than `longest` bytes.
    """
    plain = content.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    quotes = plain.count(b'"')
    if quotes > 2 * most_parts:
        raise TooManyParts(f"{quotes // 2:,} texts")
    parts = plain.split(b'"')
    marks = sum(part.count(mark) for part in parts[::2] for mark in (b",", b"[", b"{"))
    if marks > most_parts:
        raise TooManyParts(f"{marks:,} values")
    found = max(map(len, parts[1::2]), default=0)
    if found > longest:
        raise TooManyParts(f"a text of {found:,} bytes")


def _in_ascii(content: bytes) -> Iterator[str]:
    """The same JSON. Raises UnicodeDecodeError: of other encodings `json` would read texts that were taken for marks
    above.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(content)
    for start in range(0, len(content), _CHUNK):
        chunk = decoder.decode(view[start : start + _CHUNK], final=start + _CHUNK >= len(content))
        yield chunk if chunk.isascii() else _BEYOND_ASCII.sub(_escaped, chunk)


def _escaped(found: re.Match[str]) -> str:
    return encode_basestring_ascii(found[0])[1:-1]
