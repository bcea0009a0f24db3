"""What happened in a commit, in words: its own message, read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mcp_agent_mail.core.ids import read_number
from mcp_agent_mail.core.lazy.dataclass import dataclass

MOST_LINES = 200
_TRAILER = re.compile(r"[A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)*: ")
_MORE = re.compile(r" \(\+\d+\)$")
_MAIL = re.compile(r"mail: (?P<who>\S+) -> (?P<to>.+?) \| (?P<subject>.*)$")
_ACT = re.compile(
    r"(?P<who>\w{1,64}) (?P<words>(?:read|acknowledged|answered|joined|left|changed|reserved|released|withdrew)\b.*)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLine:
    """`who` did what the `words` say; empty where nobody is named. `subject` is that of a message which was sent,
    `number` that of one with which something was done.
    """

    who: str
    words: str
    subject: str = ""
    number: int | None = None

    @property
    def told(self) -> str:
        """All of it as one line."""
        number = "" if self.number is None else f" #{self.number}"
        return f"{self.who} {self.words}{number}{': ' if self.subject else ''}{self.subject}".strip()


def commit_lines(told: str) -> tuple[Sequence[CommitLine], int]:
    """The first MOST_LINES, and how many more there are. `told` is a commit's whole message: a line that sums up,
    then what happened, a line each, then trailers.
    """
    paragraphs = [one.split("\n") for one in told.strip("\n").split("\n\n")]
    if len(paragraphs) > 1 and all(_TRAILER.match(line) for line in paragraphs[-1]):
        paragraphs.pop()
    lines = [
        line for one in paragraphs[1:] or [[_MORE.sub("", line) for line in paragraphs[0]]] for line in one if line
    ]
    return [_line(line) for line in lines[:MOST_LINES]], max(0, len(lines) - MOST_LINES)


def _line(line: str) -> CommitLine:
    if found := _MAIL.match(line):
        return CommitLine(who=found["who"], words=f"wrote to {found['to']}", subject=found["subject"])
    if found := _ACT.match(line):
        words, _, number = found["words"].rpartition(" ")
        if words and (named := read_number(number)) is not None:
            return CommitLine(who=found["who"], words=words, number=named)
        return CommitLine(who=found["who"], words=found["words"])
    return CommitLine(who="", words=line)
