"""Labels, destinations and titles of links and images, and what of them a paragraph defines for later use.

All functions look at one text from a position on, copy none of it, and take time by what they pass over.
"""

from __future__ import annotations

import re
from html.entities import html5

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.markdown.steps import Steps

MAX_LABEL = 999
_MAX_PARENTHESES = 32

_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_ESCAPED = lazy_pattern(
    rf"\\(?P<mark>{_PUNCTUATION})|&(?:#[xX](?P<hex>[0-9a-fA-F]{{1,6}})|#(?P<number>[0-9]{{1,7}})|(?P<name>[A-Za-z][A-Za-z0-9]{{1,31}}));"
)
_LABEL = lazy_pattern(rf"\[((?>(?:[^\\\[\]]|\\.){{0,{MAX_LABEL}}}))\]", re.DOTALL)
_BLANKS = lazy_pattern(r"[ \t]*+(?>(?:\n[ \t]*+)?)")
_LINE_END = lazy_pattern(r"[ \t]*+(?:\n|\Z)")
_IN_BRACKETS = lazy_pattern(r"<((?>(?:[^<>\n\\]|\\.)*))>")
_PLAIN = lazy_pattern(rf"(?>(?:[^\\()\x00-\x20\x7f]++|\\{_PUNCTUATION}?+)+)")
_TITLES = {
    '"': re.compile(r'"(?>(?:[^"\\]|\\.)*)"', re.DOTALL),
    "'": re.compile(r"'(?>(?:[^'\\]|\\.)*)'", re.DOTALL),
    "(": re.compile(r"\((?>(?:[^()\\]|\\.)*)\)", re.DOTALL),
}


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A destination as it is written: its place in the text, less `<>`; and where what it belongs to ends."""

    start: int
    end: int
    after: int


@dataclass(frozen=True, slots=True)
class LinkDefinition:
    """`[label]: target`, with the label by which it is found."""

    label: str
    target: LinkTarget


def unescaped(text: str) -> str:
    """The destination that is meant: without backslashes, and entities as what they stand for."""
    return _ESCAPED.sub(_meant, text) if "\\" in text or "&" in text else text


def label_key(label: str) -> str:
    """By what references find definitions; empty for what is no label."""
    return " ".join(label.split()).casefold()


def read_label(text: str, at: int) -> re.Match[str] | None:
    """The label in brackets that begins at `at`, which may be empty."""
    return _LABEL.match(text, at)


def read_inline(text: str, at: int, steps: Steps | None = None) -> LinkTarget | None:
    """What follows the text of an inline link or image: `(target "title")` at `at`."""
    if not text.startswith("(", at):
        return None
    place = _destination(text, _BLANKS.match(text, at + 1).end(), steps)  # type: ignore[union-attr]  # it matches anywhere
    if place is None:
        return None
    after = _after_title(text, place.after)
    end = _BLANKS.match(text, place.after if after is None else after).end()  # type: ignore[union-attr]  # likewise
    return LinkTarget(place.start, place.end, end + 1) if text.startswith(")", end) else None


def read_definition(text: str, at: int, steps: Steps | None = None) -> LinkDefinition | None:
    """The definition of a reference that begins at `at`, the beginning of a line; it ends with a line."""
    label = _LABEL.match(text, at)
    if label is None or not text.startswith(":", label.end()) or not (key := label_key(label[1])):
        return None
    place = _destination(text, _BLANKS.match(text, label.end() + 1).end(), steps)  # type: ignore[union-attr]  # likewise
    if place is None:
        return None
    for after in (_after_title(text, place.after), place.after):
        if after is not None and (end := _LINE_END.match(text, after)):
            return LinkDefinition(key, LinkTarget(place.start, place.end, end.end()))
    return None


def _after_title(text: str, at: int) -> int | None:
    """Where the title ends that follows a destination, with blanks between them."""
    begin = _BLANKS.match(text, at).end()  # type: ignore[union-attr]  # likewise
    pattern = _TITLES.get(text[begin : begin + 1])
    if begin == at or pattern is None or (title := pattern.match(text, begin)) is None:
        return None
    return title.end()


def _destination(text: str, at: int, steps: Steps | None) -> LinkTarget | None:
    if text.startswith("<", at):
        found = _IN_BRACKETS.match(text, at)
        return LinkTarget(*found.span(1), found.end()) if found else None
    end, depth = at, 0
    while end < len(text):
        if found := _PLAIN.match(text, end):
            end = found.end()
            continue
        if steps is not None:
            steps.take()  # The same parentheses may be passed over for each target that begins before them.
        if text[end] == "(" and depth < _MAX_PARENTHESES:
            depth += 1
        elif text[end] == ")" and depth:
            depth -= 1
        else:
            break
        end += 1
    is_empty = end == at and not text.startswith(")", at)
    return None if depth or is_empty else LinkTarget(at, end, end)


def _meant(found: re.Match[str]) -> str:
    if mark := found["mark"]:
        return mark
    if name := found["name"]:
        return html5.get(f"{name};", found[0])
    code = int(found["hex"], 16) if found["hex"] else int(found["number"])
    is_letter = 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
    return chr(code) if is_letter else "\ufffd"
