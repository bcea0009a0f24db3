"""postal: one table of messages, each from one name to another, read once it was given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.importing.records import SourceCopy, SourceMessage, SourceStore
from mcp_agent_mail.domain.importing.refusals import some, unknown_layout
from mcp_agent_mail.facades.importers.door_reader import PROJECT, DoorReader, MailSighting, NameSighting, name_key
from mcp_agent_mail.facades.importers.values import digest_of, flag_of, text_of, time_of
from mcp_agent_mail.store.foreign.database import ForeignDatabase, ForeignRow

_TABLE = "messages"
_NEEDED = ("id", "from_agent", "to_agent", "content", "done")
_COLUMNS = ("id", "from_agent", "to_agent", "content", "created", "done")


class PostalReader(DoorReader):
    """Of a private copy of `messages.sqlite`. When a message was given is not known there: what was, counts as read
    when it was sent.
    """

    door = Door.POSTAL

    def __init__(self, database: ForeignDatabase, path: Path) -> None:
        super().__init__(path)
        self._database = database
        known = database.tables.get(_TABLE)
        if known is None:
            raise unknown_layout(path, self.door, f"it has no table `messages`; it has {some(database.tables)}")
        if missing := [column for column in _NEEDED if column not in known]:
            raise unknown_layout(path, self.door, f"its messages lack {some(missing)}; they have {some(known)}")

    def store(self) -> SourceStore:
        """By its oldest message, but for its names: mailboxes get others."""
        external_id, *_, body, created = next(self._database.rows(_TABLE, _COLUMNS[:-1]), [None] * 5)
        return SourceStore(system=self.door, store_id=digest_of(external_id, body, created))

    def sightings(self) -> Iterator[NameSighting]:
        """Whoever mail names, by the time of it."""
        for row, created in self._in_order():
            mail = MailSighting(external_id=text_of(row[0]), sent=row[4], body=row[3])
            yield NameSighting(name=text_of(row[1]), seen_ts=created, sent=mail)
            yield NameSighting(name=text_of(row[2]), seen_ts=created, received=mail)

    def messages(self) -> Iterator[SourceMessage]:
        """By `created`, whole seconds of UTC, then as they came in."""
        undated = 0
        for row, created in self._in_order():
            external_id = text_of(row[0])
            undated += time_of(row[4]) is None
            yield SourceMessage(
                key=self.message_key(external_id, row[4], row[3], row[1], row[2]),
                project_key=PROJECT,
                sender_key=name_key(text_of(row[1])),
                subject=None,
                body_md=text_of(row[3]),
                created_ts=created,
                recipients=(
                    SourceCopy(agent_key=name_key(text_of(row[2])), read_ts=created if flag_of(row[5]) else None),
                ),
                external_id=external_id or None,
                door=self.door if external_id else None,
            )
        self.note_undated(undated)
        self.note_mended(self._database.mended)

    def _in_order(self) -> Iterator[tuple[ForeignRow, Micros]]:
        """With the time of each; one without a time of its own has that of the one before."""
        last = Micros(0)
        for row in self._database.rows(_TABLE, _COLUMNS, order=("created",), read_as=time_of):
            last = time_of(row[4]) or last
            yield row, last
