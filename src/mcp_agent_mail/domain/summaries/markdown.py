"""A message's Markdown as the pieces that a summary looks at: sentences, list items, checkboxes.

Quoted lines, fenced code and signatures are somebody else's words or no words; they give no pieces.
Every pattern here is linear in the text, because peers write it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern

MAX_PIECE = 400
"""Characters of one piece that are looked at; what follows is cut."""

_FENCE = lazy_pattern(r"\s{0,3}(```|~~~)")
_HEADING = lazy_pattern(r"\s{0,3}#{1,6}\s+(.*)")
_LABEL_LINE = lazy_pattern(r"\s*(?:\*\*|__)?([A-Za-z][A-Za-z ]{2,30})(?:(?:\*\*|__) ?:?|: ?(?:\*\*|__)?)\s*")
_BULLET = lazy_pattern(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*)")
_BOX = lazy_pattern(r"\[([ xX])\]\s+(.*)")
_SENTENCE_END = lazy_pattern(r"[.!?][\"')\]*_`]{0,3}\s+(?=[\"'(\[*_`@]{0,2}[A-Z0-9@`])|[。！？]")  # noqa: RUF001
_SHORT_FORM = lazy_pattern(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no)\.|^\d{1,3}\.)$", re.IGNORECASE)
_STRONG = lazy_pattern(
    r"(?<![\w/`*])(\*\*|__|\*)(?=[^\s*_/])([^*_`\n]{1,200}(?:`[^`]{1,100}`[^*_`\n]{0,200})?)(?<=[^\s/])\1(?![\w/`*])"
)
_LABELLED = lazy_pattern(r"\s{0,3}[A-Z][A-Za-z-]{1,20}(?: [A-Za-z]{1,12})?(?: ?[(\[][^)\]]{1,64}[)\]])?: +\S")


class Section(StrEnum):
    """What the heading above a piece announces."""

    NONE = ""
    DECISIONS = "decisions"
    ACTIONS = "actions"
    QUESTIONS = "questions"
    POINTS = "points"
    DONE = "done"


_SECTIONS = {
    Section.DECISIONS: "decision decisions decided agreed resolution resolutions agreements",
    Section.ACTIONS: "action actions todo todos task tasks followup followups",
    Section.QUESTIONS: "question questions unresolved",
    Section.POINTS: "summary findings finding results result highlights notes status update risks blockers blocker",
    Section.DONE: "done completed finished shipped",
}
_SECTION_OF = {word: section for section, words in _SECTIONS.items() for word in words.split()}
_SECTION_OF_PHRASE = {
    "next steps": Section.ACTIONS,
    "next step": Section.ACTIONS,
    "to do": Section.ACTIONS,
    "key points": Section.POINTS,
    "open points": Section.QUESTIONS,
    "open issues": Section.QUESTIONS,
    "what remains": Section.ACTIONS,
    "remaining work": Section.ACTIONS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownPiece:
    """`box` is the state of a checkbox: True ticked, False not, None where there is none."""

    text: str
    section: Section = Section.NONE
    is_item: bool = False
    box: bool | None = None


def pieces_of(body_md: str) -> Iterator[MarkdownPiece]:
    """The pieces in their order."""
    section = Section.NONE
    for lines, is_item in _blocks(body_md):
        text = " ".join(" ".join(lines).split())
        if "*" in text or "__" in text:
            text = _STRONG.sub(r"\2", text)
        announced = None if is_item else _announced(lines[0]) if len(lines) == 1 else None
        if announced is not None:
            section = announced
        elif is_item:
            yield from _item(text, section)
        else:
            sentences = sentences_of(text)
            section = (_announced(sentences[-1]) if sentences else None) or Section.NONE
            yield from (MarkdownPiece(text=sentence) for sentence in sentences)


def quoted_lines(body_md: str) -> list[str]:
    """What the message quotes, line by line, less the marks."""
    return [line.lstrip("> \t").strip() for line in body_md.splitlines() if line.lstrip().startswith(">")]


def sentences_of(text: str) -> list[str]:
    """The sentences, each at most `MAX_PIECE` characters."""
    sentences: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if _SHORT_FORM.search(text[max(start, end.start() - 8) : end.start() + 1]):
            continue
        sentences.append(text[start : end.end()])
        start = end.end()
    sentences.append(text[start:])
    return [cut for sentence in sentences if (cut := sentence.strip()[:MAX_PIECE])]


def _blocks(body_md: str) -> Iterator[tuple[list[str], bool]]:
    """Paragraphs and list items, as the lines they are made of."""
    block: list[str] = []
    is_item = False
    for line in _spoken(body_md):
        bullet = _BULLET.fullmatch(line)
        heading = bullet is None and (_HEADING.match(line) is not None or _announced(line) is not None)
        ends = bullet is not None or heading or not line.strip() or _LABELLED.match(line) is not None
        if ends and block:
            yield block, is_item
            block = []
        if bullet is not None:
            block, is_item = [bullet[1]], True
        elif heading:
            yield [line], False
        elif line.strip():
            is_item = is_item and bool(block)
            block.append(line)
    if block:
        yield block, is_item


def _spoken(body_md: str) -> Iterator[str]:
    """The lines that are the sender's own words; a quote or a fence counts as a blank line."""
    fence = ""
    for line in body_md.splitlines():
        mark = _FENCE.match(line)
        if mark is not None and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
            yield ""
        elif fence or line.lstrip().startswith((">", "|")):
            yield ""
        elif line.rstrip() == "--":
            return
        else:
            yield line


def _announced(line: str) -> Section | None:
    """The section that a heading, or a line that only labels what follows, begins. None for any other line."""
    heading = _HEADING.match(line)
    label = _LABEL_LINE.fullmatch(line) if heading is None else None
    if heading is None and label is None:
        return None
    title = (heading or label)[1].strip(" #*_:").lower()  # type: ignore[index]  # one of them matched
    words = title.replace("-", "").split()
    if heading is None and len(words) > _MAX_LABEL_WORDS:
        return None
    if (section := _SECTION_OF_PHRASE.get(title)) is not None:
        return section
    found = [section for word in words if (section := _SECTION_OF.get(word)) is not None]
    if found:
        return found[-1]
    return Section.NONE if heading is not None else None


_MAX_LABEL_WORDS = 4


def _item(text: str, section: Section) -> Iterator[MarkdownPiece]:
    box = _BOX.fullmatch(text)
    if box is not None:
        yield MarkdownPiece(text=box[2][:MAX_PIECE], section=section, is_item=True, box=box[1] != " ")
    elif section is Section.NONE:
        yield from (MarkdownPiece(text=sentence, is_item=True) for sentence in sentences_of(text))
    elif text:
        yield MarkdownPiece(text=text[:MAX_PIECE], section=section, is_item=True)
