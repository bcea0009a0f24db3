"""What happened in a commit, in words: its own message, read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST_HAPPENINGS = 200
_TRAILER = re.compile(r"[A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)*: ")
_MORE = re.compile(r" \(\+\d+\)$")
_MAIL = re.compile(r"mail: (?P<who>\S+) -> (?P<to>.+?) \| (?P<subject>.*)$")
_ACT = re.compile(
    r"(?P<who>\w{1,64}) (?P<words>(?:read|acknowledged|answered|joined|left|changed|reserved|released|withdrew)\b.*)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
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


def happenings(told: str) -> tuple[Sequence[Happening], int]:
    """The first MOST_HAPPENINGS, and how many more there are. `told` is a commit's whole message: a line that sums up,
    then what happened, a line each, then trailers.
    """
    paragraphs = [one.split("\n") for one in told.strip("\n").split("\n\n")]
    if len(paragraphs) > 1 and all(_TRAILER.match(line) for line in paragraphs[-1]):
        paragraphs.pop()
    lines = [
        line for one in paragraphs[1:] or [[_MORE.sub("", line) for line in paragraphs[0]]] for line in one if line
    ]
    return [_happening(line) for line in lines[:MOST_HAPPENINGS]], max(0, len(lines) - MOST_HAPPENINGS)


def _happening(line: str) -> Happening:
    if found := _MAIL.match(line):
        return Happening(who=found["who"], words=f"wrote to {found['to']}", subject=found["subject"])
    if found := _ACT.match(line):
        words, _, number = found["words"].rpartition(" ")
        if words and number.isascii() and number.isdigit() and len(number) < 16:
            return Happening(who=found["who"], words=words, number=int(number))
        return Happening(who=found["who"], words=found["words"])
    return Happening(who="", words=line)
