"""Which lines of a text are paragraphs and headings, and which are code or HTML: CommonMark's blocks, in linear time.

One pass over the lines. The open containers (quotes, list items) are asked first which of them go on, then the rest
of the line is asked what it begins; what is neither continues a paragraph, or is a new one.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import field
from enum import Enum, auto

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.markdown.inlines import TAG
from mcp_agent_mail.domain.markdown.links import LinkDefinition, read_definition
from mcp_agent_mail.domain.markdown.steps import Steps

_LINE = lazy_pattern(r"([^\r\n]*+)(?:\r\n?|\n|\Z)")
_SPACE = lazy_pattern(r"[ \t]*+")
_NOT_MID_PARAGRAPH = frozenset("#`~*+_=<>-0123456789")
"""With one of these a line begins that may be more than the next one of a paragraph."""
_HEADING = lazy_pattern(r"#{1,6}+(?:[ \t]|$)")
_FENCE = lazy_pattern(r"(?:`{3,}+(?!.*`)|~{3,}+)")
_FENCE_END = lazy_pattern(r"(?:`{3,}+|~{3,}+)(?=[ \t]*+$)")
_UNDERLINE = lazy_pattern(r"(?:=+|-+)[ \t]*$")
_MARKER = lazy_pattern(r"(?:[*+-]|(\d{1,9})[.)])(?=[ \t]|$)", re.ASCII)
_TAB_STOP = 4
_CODE_INDENT = 4
_BLOCK_STEPS = 3
"""To begin one costs so much more than a line that goes on."""
_BLOCKS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|"
    "menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|"
    "track|ul"
)


def _any_case(pattern: str) -> re.Pattern[str]:
    return lazy_pattern(pattern, re.IGNORECASE | re.ASCII)


_HTML = (
    (_any_case(r"<(?:script|pre|textarea|style)(?:\s|>|$)"), _any_case(r"</(?:script|pre|textarea|style)>")),
    (_any_case(r"<!--"), _any_case(r"-->")),
    (_any_case(r"<\?"), _any_case(r"\?>")),
    (_any_case(r"<![A-Z]"), _any_case(r">")),
    (_any_case(r"<!\[(?-i:CDATA)\["), _any_case(r"\]\]>")),
    (_any_case(rf"</?+(?:{_BLOCKS})(?:\s|/?+>|$)"), None),
)
"""How HTML begins, and what ends it: without a pattern a blank line."""
_NO_HTML = _any_case(r"(?!)")
_LONE_TAG = lazy_pattern(rf"(?:{TAG})[ \t]*+$", re.ASCII)


class _Leaf(Enum):
    PARAGRAPH = auto()
    FENCED = auto()
    INDENTED = auto()
    HTML = auto()


@dataclass(frozen=True, slots=True)
class LeafText:
    """The text of a paragraph or heading, its lines joined; from `begin` on, where definitions have ended."""

    text: str
    begin: int
    starts: list[int]
    sources: list[int]

    def source(self, at: int) -> int:
        """Where in the whole text stands what is at `at` of this one, on the line of it."""
        line = bisect_right(self.starts, at) - 1
        return self.sources[line] + at - self.starts[line]


@dataclass(slots=True)
class _Container:
    """A quote, or a list item whose content stands `indent` columns further in."""

    is_quote: bool
    indent: int = 0
    is_empty: bool = True


@dataclass(slots=True)
class _Rest:
    """What of a line is not used up: its first character that is no blank, and the columns to it."""

    body: str
    end: int
    at: int = 0
    column: int = 0
    at_column: int = 0
    rules: dict[str, int] = field(default_factory=dict)

    def move(self, at: int, column: int) -> None:
        """Everything before `at` is used up."""
        self.column = self.at_column = column
        while at < self.end and (letter := self.body[at]) in " \t":
            self.at_column += 1 if letter == " " else _TAB_STOP - self.at_column % _TAB_STOP
            at += 1
        self.at = at

    @property
    def is_blank(self) -> bool:
        return self.at >= self.end

    @property
    def indent(self) -> int:
        return self.at_column - self.column

    def is_rule(self) -> bool:
        """Three of one mark at least, and nothing else. The line's end is looked at once for each mark."""
        mark = self.body[self.at]
        if mark not in self.rules:
            self.rules[mark] = self.at + len(self.body[self.at : self.end].rstrip(f"{mark} \t"))
        return self.rules[mark] <= self.at and self.body.count(mark, self.at, self.end) >= 3


class MarkdownBlocks:
    """The leaf texts of `body` that hold a `![`, in order, and what is defined anywhere in it, by label.
    Raises TooManySteps.
    """

    def __init__(self, body: str, steps: Steps | None = None) -> None:
        self._steps = steps or Steps()
        self.texts: list[LeafText] = []
        self.definitions: dict[str, tuple[LeafText, LinkDefinition]] = {}
        self._body = body
        self._containers: list[_Container] = []
        self._quotes: list[int] = []
        self._leaf: _Leaf | None = None
        self._ending: re.Pattern[str] | None = None
        self._fence = ""
        self._lines: list[tuple[int, int]] = []
        self._defined: tuple[LeafText, int] | None = None
        for start, end in _spans(body, self._steps):
            self._take(start, end)
        self._close(0)

    def _take(self, start: int, end: int) -> None:
        first = _SPACE.match(self._body, start, end).end()  # type: ignore[union-attr]  # it matches anywhere
        if self._leaf is _Leaf.PARAGRAPH and first < end and self._body[first] not in _NOT_MID_PARAGRAPH:
            self._lines.append((first, end))
            return
        rest = _Rest(self._body, end)
        rest.move(start, 0)
        matched = self._match(rest)
        self._steps.take(matched)
        is_inside = matched == len(self._containers) and self._leaf is not None
        if is_inside and self._leaf is not _Leaf.PARAGRAPH and self._takes(rest):
            return
        is_paragraph = is_inside and self._leaf is _Leaf.PARAGRAPH and not rest.is_blank
        self._begin_blocks(rest, matched, is_paragraph=is_paragraph)

    def _match(self, rest: _Rest) -> int:
        """How many of the containers go on in this line, from the outermost."""
        containers = self._containers
        for index, one in enumerate(containers):
            if rest.is_blank:
                return self._match_blank(index)
            if one.is_quote:
                if rest.indent >= _CODE_INDENT or self._body[rest.at] != ">":
                    return index
                _skip_quote_mark(rest)
            elif rest.indent >= one.indent:
                rest.column += one.indent
            else:
                return index
        return len(containers)

    def _match_blank(self, index: int) -> int:
        """A blank line ends quotes, and an item that has only had its marker."""
        quote = bisect_left(self._quotes, index)
        if quote < len(self._quotes):
            return self._quotes[quote]
        last = self._containers[-1]
        return len(self._containers) - (not last.is_quote and last.is_empty)

    def _takes(self, rest: _Rest) -> bool:
        """Whether the line is of the code or HTML that is open, perhaps its last one."""
        if self._leaf is _Leaf.INDENTED:
            return rest.is_blank or rest.indent >= _CODE_INDENT
        if self._leaf is _Leaf.FENCED:
            found = None if rest.indent >= _CODE_INDENT else _FENCE_END.match(self._body, rest.at, rest.end)
            is_end = found is not None and found[0].startswith(self._fence)
        elif self._ending is None:
            is_end = rest.is_blank
        else:
            is_end = self._ending.search(self._body, rest.at, rest.end) is not None
        if is_end:
            self._leaf = None
        return True

    def _begin_blocks(self, rest: _Rest, matched: int, *, is_paragraph: bool) -> None:
        """`is_paragraph`: the paragraph before goes on if nothing begins here."""
        while not rest.is_blank:
            if rest.indent >= _CODE_INDENT:
                if self._leaf is not _Leaf.PARAGRAPH:
                    self._open_leaf(_Leaf.INDENTED, matched)
                    return
                break
            if self._begin_leaf(rest, matched, is_paragraph=is_paragraph):
                return
            opened = self._container(rest, is_paragraph=is_paragraph)
            if opened is None:
                break
            self._close(matched)
            self._push(opened)
            matched += 1
            is_paragraph = False
        if self._leaf is _Leaf.PARAGRAPH and not rest.is_blank:
            self._lines.append((rest.at, rest.end))
            return
        self._close(matched)
        if not rest.is_blank:
            self._open_leaf(_Leaf.PARAGRAPH, matched)
            self._lines.append((rest.at, rest.end))

    def _begin_leaf(self, rest: _Rest, matched: int, *, is_paragraph: bool) -> bool:
        body, at, end = self._body, rest.at, rest.end
        mark = body[at]
        if mark == "#" and _HEADING.match(body, at, end):
            self._open_leaf(_Leaf.PARAGRAPH, matched)
            self._lines.append((at, end))
            self._close(matched)
        elif mark in "`~" and (found := _FENCE.match(body, at, end)):
            self._open_leaf(_Leaf.FENCED, matched)
            self._fence = found[0]
        elif mark == "<":
            return self._begin_html(rest, matched, is_paragraph=is_paragraph)
        elif mark in "=-" and is_paragraph and _UNDERLINE.match(body, at, end) and self._has_text():
            self._close(matched)
        elif mark in "*-_" and rest.is_rule():
            self._close(matched)
            self._fill(matched)
        else:
            return False
        return True

    def _begin_html(self, rest: _Rest, matched: int, *, is_paragraph: bool) -> bool:
        kinds = (ending for begins, ending in _HTML if begins.match(self._body, rest.at, rest.end))
        ending = next(kinds, _NO_HTML)
        if ending is _NO_HTML:
            is_mid_paragraph = is_paragraph or self._leaf is _Leaf.PARAGRAPH
            if is_mid_paragraph or not _LONE_TAG.match(self._body, rest.at, rest.end):
                return False
            ending = None
        self._open_leaf(_Leaf.HTML, matched)
        self._ending = ending
        if self._ending is not None and self._ending.search(self._body, rest.at, rest.end):
            self._leaf = None
        return True

    def _container(self, rest: _Rest, *, is_paragraph: bool) -> _Container | None:
        if self._body[rest.at] == ">":
            _skip_quote_mark(rest)
            return _Container(is_quote=True)
        marker = _MARKER.match(self._body, rest.at, rest.end)
        if marker is None:
            return None
        after = marker.end()
        if is_paragraph:
            is_blank = _SPACE.match(self._body, after, rest.end).end() >= rest.end  # type: ignore[union-attr]  # as above
            if is_blank or int(marker[1] or 1) != 1:
                return None
        before, width = rest.indent, after - rest.at
        rest.move(after, rest.at_column + width)
        has_space = rest.indent > 0 or after < rest.end
        if rest.is_blank or rest.indent > _CODE_INDENT:
            rest.column += has_space
            return _Container(is_quote=False, indent=before + width + 1)
        width += rest.indent
        rest.column = rest.at_column
        return _Container(is_quote=False, indent=before + width)

    def _push(self, container: _Container) -> None:
        self._steps.take(_BLOCK_STEPS)
        self._fill(len(self._containers))
        if container.is_quote:
            self._quotes.append(len(self._containers))
        self._containers.append(container)

    def _open_leaf(self, leaf: _Leaf, matched: int) -> None:
        self._steps.take(_BLOCK_STEPS)
        self._close(matched)
        self._fill(matched)
        self._leaf = leaf

    def _fill(self, matched: int) -> None:
        """The innermost container has something in it now."""
        if matched:
            self._containers[matched - 1].is_empty = False

    def _close(self, matched: int) -> None:
        """End the leaf, and the containers beyond the first `matched`."""
        if self._leaf is _Leaf.PARAGRAPH:
            self._finish_paragraph()
        self._leaf = None
        del self._containers[matched:]
        while self._quotes and self._quotes[-1] >= matched:
            self._quotes.pop()

    def _has_text(self) -> bool:
        """Whether the paragraph is more than definitions; those that it was are noted and gone."""
        if self._lines and self._body[self._lines[0][0]] == "[":
            leaf = self._define(self._leaf_text())
            if leaf.begin >= len(leaf.text):
                self._lines.clear()
            else:
                line = bisect_right(leaf.starts, leaf.begin) - 1
                del self._lines[:line]
        return bool(self._lines)

    def _finish_paragraph(self) -> None:
        lines = self._lines
        if lines and (self._body[lines[0][0]] == "[" or self._body.find("![", lines[0][0], lines[-1][1]) >= 0):
            leaf = self._define(self._leaf_text())
            if leaf.text.find("![", leaf.begin) >= 0:
                self.texts.append(leaf)
        self._lines = []

    def _leaf_text(self) -> LeafText:
        starts, at = [], 0
        for start, end in self._lines:
            starts.append(at)
            at += end - start + 1
        text = "\n".join(self._body[start:end] for start, end in self._lines)
        return LeafText(text, 0, starts, [start for start, _ in self._lines])

    def _define(self, leaf: LeafText) -> LeafText:
        """Note what the beginning of a paragraph defines; of two definitions of a label the first counts."""
        at = 0
        while leaf.text.startswith("[", at) and (found := read_definition(leaf.text, at, self._steps)):
            self._steps.take()
            self.definitions.setdefault(found.label, (leaf, found))
            at = found.target.after
        return LeafText(leaf.text, at, leaf.starts, leaf.sources)


def _skip_quote_mark(rest: _Rest) -> None:
    """The `>`, and one column of blanks behind it."""
    rest.move(rest.at + 1, rest.at_column + 1)
    rest.column += rest.indent > 0


def _spans(body: str, steps: Steps) -> Iterator[tuple[int, int]]:
    """Start and end of each line. Of blank ones in a row the first alone: the others say nothing more."""
    was_blank = False
    for line in _LINE.finditer(body):
        steps.take()
        start, end = line.span(1)
        is_blank = _SPACE.fullmatch(body, start, end) is not None
        if not (is_blank and was_blank):
            yield start, end
        was_blank = is_blank
