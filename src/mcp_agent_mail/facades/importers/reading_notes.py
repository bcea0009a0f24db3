"""What a reader has to say besides its records: what it left out, by count, and what a person should know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mcp_agent_mail.domain.importing.records import NotCarried, SourceNote

MOST_NOTES = 100
_MOST_REASONS = 200
_OTHERS = "for other reasons"


class ReadingNotes:
    """Counts and notes of one reading. Bounded: beyond many reasons and notes they are only counted."""

    def __init__(self) -> None:
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._notes: dict[str, None] = {}
        self._unsaid = 0

    def leave_out(self, kind: str, why: str, count: int = 1) -> None:
        """So many of this kind are not given as records; `why` is a sentence without what differs between them."""
        if count <= 0:
            return
        if (kind, why) not in self._left_out and len(self._left_out) >= _MOST_REASONS:
            why = _OTHERS
        self._left_out[kind, why] += count

    def note(self, text: str) -> None:
        """Said once, however often it is noted."""
        if text in self._notes:
            return
        if len(self._notes) < MOST_NOTES - 1:
            self._notes[text] = None
        else:
            self._unsaid += 1

    def left_out(self) -> Iterator[NotCarried]:
        for (kind, why), count in self._left_out.items():
            yield NotCarried(kind=kind, count=count, why=why)

    def notes(self) -> Iterator[SourceNote]:
        """In the order in which they came up."""
        for text in self._notes:
            yield SourceNote(text=text)
        if self._unsaid:
            yield SourceNote(text=f"And {self._unsaid} more notes like these.")
