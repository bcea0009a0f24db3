"""Text from peers is data: what a terminal would obey, or not show at all, is written out.

Invisible characters carry what a person does not see and a model reads, and make two names look like one. Joiners and
variation selectors belong to words and emoji: they are written out where they stand beside no such character.
"""

from __future__ import annotations

import re

from mcp_agent_mail.core.lazy.pattern import lazy_pattern

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_REORDERING = "\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u206f"
# Fillers, separators and marks without a shape; the last range holds tags and the variation selectors beyond 16.
_UNSEEN = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u2800\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f"
_SHAPE = f"[^\x00-\xa0{_REORDERING}{_UNSEEN}{_JOINERS}{_SELECTORS}]"
# Each alternative begins with the character that it finds, what stands before it comes after: so `re` passes over text
# that has none of them more than twice as fast.
_ALONE = (
    f"[{_JOINERS}](?!{_SHAPE})|[{_JOINERS}](?<!{_SHAPE}[{_JOINERS}])(?<!{_SHAPE}[{_SELECTORS}][{_JOINERS}])"
    f"|[{_SELECTORS}](?<!{_SHAPE}[{_SELECTORS}])(?!\u20e3)"
)
_OBEYED = lazy_pattern(f"[{_CONTROL}{_REORDERING}{_UNSEEN}\ud800-\udfff]|{_ALONE}")
_OBEYED_IN_JSON = lazy_pattern(f"[\x7f-\x9f{_REORDERING}{_UNSEEN}\ud800-\udfff]|{_ALONE}")
_UNPRINTABLE = lazy_pattern(f"(?:[\t\n{_CONTROL}{_REORDERING}{_UNSEEN}\ud800-\udfff]|{_ALONE})+")
_BREAKS = re.compile(r"[\t\n\r]+")


def visible(text: str) -> str:
    r"""`text` with control, reordering and unseen characters written out (`\x1b`, `\u202e`); breaks and tabs stay."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _OBEYED.sub(_written_out, text.replace("\r\n", "\n"))


def as_code(text: str) -> str:
    """`text` as code in Markdown, between more backticks than it holds in a row: nothing in it is read as Markdown."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def on_one_line(text: str) -> str:
    """`visible` text for a cell of a table: line breaks and tabs become blanks."""
    return visible(_BREAKS.sub(" ", text))


def printable(text: str) -> str:
    """`text` on one line that others show as it is: whatever `visible` would write out, breaks and tabs are a blank."""
    if text.isascii() and text.isprintable():
        return text
    return _UNPRINTABLE.sub(" ", text)


def written_on_one_line(text: str) -> str:
    r"""`visible` text for a line of a log, in which nobody writes a line or a column of its own: `\n`, `\t`."""
    if text.isascii() and text.isprintable():
        return text
    return visible(text.replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t"))


def visible_json(document: str) -> str:
    r"""A JSON document that means the same and holds nothing a terminal would obey.

    Such characters stand only inside strings, where `\uXXXX` is the same character.
    """
    return _OBEYED_IN_JSON.sub(_written_in_json, document)


def _written_in_json(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
