"""What the readers of the systems that doors stand for have in common: names instead of agents, and one project."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
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
_NEVER = Micros(0)
_TOLD_BY = 3
"""Messages, the oldest, of each name as sender and as recipient."""
PROJECT = "all"
"""The key of the one project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSighting:
    """What tells a message, as the source has it."""

    external_id: str
    sent: object
    body: object


@dataclass(frozen=True, slots=True, kw_only=True)
class NameSighting:
    """A name, when it was seen, and what its owner said of itself then; in which mail, as its sender or recipient."""

    name: str
    seen_ts: Micros
    status: AgentStatus | None = None
    sent: MailSighting | None = None
    received: MailSighting | None = None


@dataclass(slots=True, kw_only=True)
class _Seen:
    """What is known of a name."""

    name: str
    first_ts: Micros = _NEVER
    last_ts: Micros = _NEVER
    status: AgentStatus | None = None
    sent: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)

    def add(self, one: NameSighting) -> None:
        if one.seen_ts:
            self.first_ts = min(self.first_ts or one.seen_ts, one.seen_ts)
            self.last_ts = max(self.last_ts, one.seen_ts)
        self.status = self.status if one.status is None else one.status
        for keys, mail in ((self.sent, one.sent), (self.received, one.received)):
            if mail is not None and len(keys) < _TOLD_BY and mail.external_id and time_of(mail.sent) is not None:
                keys.append(_first_key(mail.external_id, mail.sent, mail.body))


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
        names: dict[str, _Seen] = {}
        for one in self.sightings():
            names.setdefault(wire_key(one.name), _Seen(name=one.name)).add(one)
            if len(names) > MOST_AGENTS:
                raise too_large(self.path, f"it has more than {MOST_AGENTS:,} names")
        for key, seen in names.items():
            yield SourceAgent(
                key=key_of(key),
                project_key=PROJECT,
                name=seen.name,
                created_ts=seen.first_ts,
                last_active_ts=seen.last_ts,
                program=self.door.value,
                status=seen.status,
                wire=self.door,
                received=tuple(seen.received),
                sent=tuple(seen.sent),
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
        key = _first_key(external_id, sent, body, *names)
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


def _first_key(external_id: str, sent: object, body: object, *names: object) -> str:
    """Of the first of those that are alike."""
    sent_ts = time_of(sent)
    told = (sent, body, *names) if sent_ts is None else (sent_ts, body)
    return key_of("id" if external_id else "row", external_id, digest_of(*told)[:_DIGITS])


def name_key(name: str) -> str:
    """The key of whoever has this name."""
    return key_of(wire_key(name))
