"""TOML as text: its statements, each with the place where it stands and the names that it sets. `tomllib` judges."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp_agent_mail.clients.setup.edits.text import UnfitText, line_at
from mcp_agent_mail.core.lazy.dataclass import dataclass

_AT_LINE = re.compile(r"at line (\d+)")
_STRINGS = re.compile(
    r'"""(?s:(?:[^\\]|\\.)*?)"{3,5}'
    r"|'''(?s:.*?)'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
)

# Any: what tomllib gives, dates among it.
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A line, or the lines of one value, up to its line end (`end`). `path` is what it sets, with its table's names.

    `equals` is where the value of a pair begins; None for a table's header.
    """

    start: int
    end: int
    path: Sequence[str]
    equals: int | None
    is_array_header: bool = False

    @property
    def is_header(self) -> bool:
        return self.equals is None


def read_values(text: str) -> dict[str, Any]:
    """Raises UnfitText with the line, where the text is no TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as broken:
        found = _AT_LINE.search(str(broken))
        line = int(found[1]) if found else line_at(text, len(text))
        raise UnfitText(f"it is no TOML: {str(broken)[:200]}", line=line) from broken


def statements(text: str) -> list[Statement]:
    """In order. Of a text that `read_values` has read."""
    found: list[Statement] = []
    table: list[str] = []
    for start, end in _spans(text):
        source = text[start:end]
        if source.startswith("["):
            is_array = source.startswith("[[")
            table = _names(tomllib.loads(source))
            found.append(Statement(start=start, end=end, path=tuple(table), equals=None, is_array_header=is_array))
            continue
        equals = _equals(source)
        names = _names(tomllib.loads(f"{source[:equals]}= 1"))
        value_at = equals + 1 + len(source[equals + 1 :]) - len(source[equals + 1 :].lstrip(" \t"))
        found.append(Statement(start=start, end=end, path=(*table, *names), equals=start + value_at))
    return found


def _names(parsed: Values) -> list[str]:
    """Of the one path that a header or a pair holds."""
    names: list[str] = []
    value: object = parsed
    while isinstance(value, dict) and value:
        name = next(iter(value))
        names.append(name)
        value = value[name]
        if isinstance(value, list):
            break
    return names


def _equals(source: str) -> int:
    at = 0
    while source[at] != "=":
        string = _STRINGS.match(source, at)
        at = string.end() if string else at + 1
    return at


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where statements stand: from their first letter to the end of their value, comments left out."""
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
        elif text[at] == "#":
            at = _line_end(text, at)
        else:
            end = _statement_end(text, at)
            yield at, end
            at = end


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _statement_end(text: str, start: int) -> int:
    """Behind the last letter of a header or a value, which goes over lines within brackets and strings."""
    at, depth, last = start, 0, start
    while at < len(text):
        letter = text[at]
        if letter == "\n" and depth == 0:
            break
        if letter == "#":
            at = _line_end(text, at)
            continue
        string = _STRINGS.match(text, at) if letter in "\"'" else None
        depth += (letter in "[{") - (letter in "]}")
        at = string.end() if string else at + 1
        if letter not in " \t\r\n":
            last = at
    return last
