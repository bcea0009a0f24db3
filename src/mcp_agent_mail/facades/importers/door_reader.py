"""What the readers of the systems that doors stand for have in common: names instead of agents, and one project."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.agents import AgentStatus
from mcp_agent_mail.domain.doors.names import Door, wire_key
from mcp_agent_mail.domain.importing.records import (
    NotCarried,
    SourceAgent,
    SourceLease,
    SourceLink,
    SourceMessage,
    SourceNote,
    SourceProduct,
    SourceProject,
    SourceStore,
)
from mcp_agent_mail.domain.importing.refusals import too_large
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes
from mcp_agent_mail.facades.importers.values import digest_of, key_of, time_of

MOST_AGENTS = 100_000
"""Of one store: they stand in memory while it is read."""

MOST_ALIKE = 100_000
"""Keys that are kept in mind to tell messages that are alike: they have one time, and come one after the other."""

_DIGITS = 32
PROJECT = "all"
"""The key of the one project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameSighting:
    """A name, when it was seen, and what its owner said of itself then."""

    name: str
    seen_ts: Micros
    status: AgentStatus | None = None


class DoorReader(ABC):
    """A `SourceReader` but for what each system has of its own."""

    door: Door
    human_key: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said = ReadingNotes()
        self._alike: dict[str, int] = {}

    @abstractmethod
    def store(self) -> SourceStore: ...

    @abstractmethod
    def messages(self) -> Iterator[SourceMessage]: ...

    @abstractmethod
    def sightings(self) -> Iterator[NameSighting]:
        """Of every name there is, as often as it is seen."""

    def projects(self) -> Iterator[SourceProject]:
        first = min((one.seen_ts for one in self.sightings() if one.seen_ts), default=Micros(0))
        yield SourceProject(key=PROJECT, human_key=self.human_key, slug=None, created_ts=first)

    def agents(self) -> Iterator[SourceAgent]:
        """By the first sighting of each: as it was written there, since names compare ignoring letter case. Raises
        SourceUnreadable for more than `MOST_AGENTS`.
        """
        names: dict[str, str] = {}
        span: dict[str, tuple[Micros, Micros]] = {}
        states: dict[str, AgentStatus] = {}
        for seen in self.sightings():
            key = wire_key(seen.name)
            names.setdefault(key, seen.name)
            if len(names) > MOST_AGENTS:
                raise too_large(self.path, f"it has more than {MOST_AGENTS:,} names")
            if seen.seen_ts:
                first, last = span.get(key, (seen.seen_ts, seen.seen_ts))
                span[key] = (min(first, seen.seen_ts), max(last, seen.seen_ts))
            if seen.status is not None:
                states[key] = seen.status
        for key, name in names.items():
            first, last = span.get(key, (Micros(0), Micros(0)))
            yield SourceAgent(
                key=key_of(key),
                project_key=PROJECT,
                name=name,
                created_ts=first,
                last_active_ts=last,
                program=self.door.value,
                status=states.get(key),
                wire=self.door,
            )

    def leases(self) -> Iterator[SourceLease]:
        yield from ()

    def links(self) -> Iterator[SourceLink]:
        yield from ()

    def products(self) -> Iterator[SourceProduct]:
        yield from ()

    def left_out(self) -> Iterator[NotCarried]:
        yield from self.said.left_out()

    def notes(self) -> Iterator[SourceNote]:
        yield from self.said.notes()

    def message_key(self, external_id: str, sent: object, body: object, *names: object) -> str:
        """Of a message by its id, when it was sent and what it says: ids are given out anew, and other stores of the
        system have the same. Names are no part of it, since mailboxes get others; but where no time can be read nothing
        else tells messages apart that say the same. Those that are alike in all that are numbered: each is a message.
        """
        sent_ts = time_of(sent)
        told = (sent, body, *names) if sent_ts is None else (sent_ts, body)
        key = key_of("id" if external_id else "row", external_id, digest_of(*told)[:_DIGITS])
        number = self._alike.pop(key, 0) + 1
        self._alike[key] = number
        if len(self._alike) > MOST_ALIKE:
            self._alike.pop(next(iter(self._alike)))
        return key if number == 1 else key_of(key, number)

    def note_undated(self, count: int) -> None:
        if count:
            self.said.note(f"{count} messages have no time that can be read: each has that of the one before it.")

    def note_mended(self, count: int) -> None:
        if count:
            self.said.note("Some texts are no UTF-8: their broken places stand as U+FFFD.")


def name_key(name: str) -> str:
    """The key of whoever has this name."""
    return key_of(wire_key(name))
