"""Text from peers is data: what a terminal would obey is shown, not sent."""

from __future__ import annotations

import re

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_REORDERING = "\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069"
_OBEYED = re.compile(f"[{_CONTROL}{_REORDERING}\ud800-\udfff]")
_OBEYED_IN_JSON = re.compile(f"[\x7f-\x9f{_REORDERING}\ud800-\udfff]")
_BREAKS = re.compile(r"[\t\n\r]+")


def visible(text: str) -> str:
    r"""`text` with control and reordering characters written out (`\x1b`, `\u202e`); line breaks and tabs stay."""
    return _OBEYED.sub(_written_out, text.replace("\r\n", "\n"))


def on_one_line(text: str) -> str:
    """`visible` text for a cell of a table: line breaks and tabs become blanks."""
    return visible(_BREAKS.sub(" ", text))


def visible_json(document: str) -> str:
    r"""A JSON document that means the same and holds nothing a terminal would obey.

    Such characters stand only inside strings, where `\uXXXX` is the same character.
    """
    return _OBEYED_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
