"""A configuration file as text: its byte order mark, its line ends, its way to indent, and where a line is."""

from __future__ import annotations

import codecs
import re

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass

DEFAULT_UNIT = "  "
_INDENTED = re.compile(r"^(\t|  +)\S", re.MULTILINE)
_COMMENT_LINE = re.compile(r"^[ \t]*(?:\*|/[/*]|#)")


class UnfitText(InvalidInput):
    """What a file holds cannot be read as what it should be, or our entry has no place in it. `line` counts from 1."""

    def __init__(self, message: str, *, line: int, hint: str = "") -> None:
        super().__init__(message, hint=hint, data={"line": line})
        self.line = line


@dataclass(frozen=True, slots=True)
class FileText:
    """The bytes of a file are `mark` and `text` in UTF-8."""

    mark: bytes
    text: str

    def with_text(self, text: str) -> bytes:
        return self.mark + text.encode()


def read_text(content: bytes) -> FileText:
    """Raises UnfitText where it is no UTF-8."""
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    body = content[len(mark) :]
    try:
        return FileText(mark, body.decode())
    except UnicodeDecodeError as broken:
        line = body.count(b"\n", 0, broken.start) + 1
        raise UnfitText("it is no text in UTF-8", line=line) from broken


def newline_of(text: str) -> str:
    """The line end of the file's first line; a file of one line gets plain ones."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def unit_of(text: str) -> str:
    """What the file indents by: the first indentation of a line that is no comment."""
    for found in _INDENTED.finditer(text):
        line = text[found.start() : text.find("\n", found.start())]
        if not _COMMENT_LINE.match(line):
            return found[1]
    return DEFAULT_UNIT


def line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def indentation_at(text: str, position: int) -> str | None:
    """The blanks before `position` on its line; None where something else stands there too."""
    start = text.rfind("\n", 0, position) + 1
    before = text[start:position]
    return before if not before.strip(" \t") else None
