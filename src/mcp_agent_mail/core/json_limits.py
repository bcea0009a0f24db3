"""JSON that a stranger may have written, read only while it is not made of more parts than it can need.

Its bytes say little of the memory that it takes: an empty object of three bytes becomes one of seventy.
"""

from __future__ import annotations

import json
from typing import Any


class TooManyParts(ValueError):
    """More values than what is read can need."""


# As JSON has it.
def read_bounded(content: bytes, most_parts: int) -> Any:  # noqa: ANN401
    """What UTF-8 JSON says. Raises ValueError for what is none, RecursionError, and TooManyParts before anything is
    made of it: for more than `most_parts` texts, or commas and beginnings of lists and objects outside of texts.
    """
    text = content.decode()  # Of other encodings `json` would read texts that the counts below take for marks.
    plain = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = plain.count(b'"')
    if quotes > 2 * most_parts:
        raise TooManyParts(f"{quotes // 2:,} texts")
    marks = sum(part.count(mark) for part in plain.split(b'"')[::2] for mark in (b",", b"[", b"{"))
    if marks > most_parts:
        raise TooManyParts(f"{marks:,} values")
    return json.loads(text)
