"""Gives one setting a value in the text of a `.env`; every other byte of it stays. Standard library only.

What a line says is read as `env_file` reads it.
"""

from __future__ import annotations

import re

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.env_file import EnvFault, EnvLine, parse_env_line

_MARK = "\ufeff"
_LINE_END = re.compile(r"\r\n|\r|\n")


class UnfitLine(Exception):
    """The line that sets it already would be misread: what stands there is not ours to guess."""

    def __init__(self, fault: EnvFault) -> None:
        super().__init__(f"line {fault.number}: expected {fault.expected}. {fault.hint}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedText:
    """The new text, the number of the line that counts in it, and whether it was there before."""

    text: str
    line: int
    was_set: bool


def with_value(text: str, name: str, value: str) -> EditedText:
    """The text in which the last line that sets `name` says `value`; without such a line a new one stands behind the
    one that has it as a comment, else at the end. Raises UnfitLine.
    """
    lines = _lines(text)
    counting = commented = None
    for index, (line, _) in enumerate(lines):
        found = parse_env_line(index + 1, line.removeprefix(_MARK) if index == 0 else line)
        if isinstance(found, EnvFault) and found.name == name:
            raise UnfitLine(found)
        if isinstance(found, EnvLine) and found.name == name:
            counting = index
        elif commented is None and re.match(rf"\ufeff?\s*#\s*{re.escape(name)}\s*=", line):
            commented = index
    if counting is not None:
        line, end = lines[counting]
        lines[counting] = (_with_value(line, value), end)
        return EditedText(text=_joined(lines), line=counting + 1, was_set=True)
    return _added(lines, f"{name}={value}", after=len(lines) - 1 if commented is None else commented)


def _with_value(line: str, value: str) -> str:
    """What stands before the value, and behind it, stays; so do its quotes."""
    head, equals, old = line.partition("=")
    said = old.strip()
    if not said:
        return f"{head}{equals}{value}"
    before, _, behind = old.partition(said)
    quote = said[0] if len(said) > 1 and said[0] == said[-1] and said[0] in "'\"" else ""
    return f"{head}{equals}{before}{quote}{value}{quote}{behind}"


def _added(lines: list[tuple[str, str]], line: str, *, after: int) -> EditedText:
    end = lines[0][1] if lines and lines[0][1] else "\n"
    if after >= 0 and not lines[after][1]:
        lines[after] = (lines[after][0], end)
    lines.insert(after + 1, (line, end))
    return EditedText(text=_joined(lines), line=after + 2, was_set=False)


def _lines(text: str) -> list[tuple[str, str]]:
    """Each line with the end that it has; no empty one behind the last end."""
    lines, start = [], 0
    for end in _LINE_END.finditer(text):
        lines.append((text[start : end.start()], end.group()))
        start = end.end()
    if start < len(text):
        lines.append((text[start:], ""))
    return lines


def _joined(lines: list[tuple[str, str]]) -> str:
    return "".join(line + end for line, end in lines)
