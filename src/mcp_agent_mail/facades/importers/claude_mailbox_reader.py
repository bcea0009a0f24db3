"""ClaudeMailbox: mailboxes and messages, delivered or not. Versions name their columns otherwise: they are detected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.importing.records import SourceCopy, SourceMessage, SourceStore
from mcp_agent_mail.domain.importing.refusals import some, unknown_layout
from mcp_agent_mail.facades.importers.door_reader import PROJECT, DoorReader, MailSighting, NameSighting, name_key
from mcp_agent_mail.facades.importers.values import digest_of, flag_of, text_of, time_of, whole_of
from mcp_agent_mail.store.foreign.database import ForeignDatabase, ForeignRow, ForeignValue

_MESSAGES = ("messages", "message", "mails", "mail")
_MAILBOXES = ("mailboxes", "mailbox")
# Compared without `_`, in small letters; the first that is there is meant.
_COLUMNS = {
    "id": ("id", "messageid"),
    "from": ("from", "fromname", "frommailbox", "fromagent", "sender", "sendername", "source"),
    "to": ("to", "toname", "tomailbox", "toagent", "recipient", "recipientname", "target", "mailbox", "mailboxname"),
    "body": ("body", "content", "message", "text"),
    "created": ("createdat", "created", "createdts", "sentat", "timestamp"),
    "delivered": ("deliveredat", "delivered", "isdelivered", "deliveredts", "readat", "consumedat", "checkedat"),
}
_BY_NUMBER = {
    "from": ("fromid", "frommailboxid", "senderid"),
    "to": ("toid", "tomailboxid", "recipientid", "mailboxid"),
}
_OF_MAILBOX = {
    "id": ("id", "mailboxid"),
    "name": ("name", "mailbox", "mailboxname"),
    "created": ("createdat", "created", "firstseenat", "registeredat"),
    "seen": ("lastseenat", "lastseen", "lastactiveat", "updatedat"),
}
_FIELDS = tuple(_COLUMNS)


class ClaudeMailboxReader(DoorReader):
    """Of a private copy of `mailbox.db`. A message that is delivered is read: then, where the time of it is known, else
    when it was sent.
    """

    door = Door.CLAUDE_MAILBOX

    def __init__(self, database: ForeignDatabase, path: Path) -> None:
        super().__init__(path)
        self._database = database
        self._table = self._found_table(_MESSAGES)
        if self._table is None:
            raise unknown_layout(path, self.door, f"it has no table of messages; it has {some(database.tables)}")
        known = database.tables[self._table]
        columns = _detected(known, _COLUMNS)
        self._by_number = {field for field in _BY_NUMBER if field not in columns}
        columns |= _detected(known, {field: _BY_NUMBER[field] for field in self._by_number})
        if missing := [field for field in _COLUMNS if field not in columns]:
            raise unknown_layout(
                path, self.door, f"of its messages no column says {some(missing)}; they have {some(known)}"
            )
        self._columns = tuple(columns[field] for field in _FIELDS)
        self._mailboxes = self._found_table(_MAILBOXES)
        self._names: dict[ForeignValue, str] = {}

    def store(self) -> SourceStore:
        """By its oldest message, but for its names: mailboxes get others."""
        external_id, *_, body, created = next(self._database.rows(self._table or "", self._columns[:-1]), [None] * 5)
        return SourceStore(system=self.door, store_id=digest_of(external_id, body, created))

    def sightings(self) -> Iterator[NameSighting]:
        """Mailboxes that are listed, and whoever mail names."""
        yield from self._registered()
        for row, created in self._in_order():
            mail = MailSighting(external_id=text_of(row[0]), sent=row[4], body=row[3])
            yield NameSighting(name=self._name("from", row[1]), seen_ts=created, sent=mail)
            yield NameSighting(name=self._name("to", row[2]), seen_ts=created, received=mail)

    def messages(self) -> Iterator[SourceMessage]:
        """By the time of each, then as they came in."""
        undated = 0
        for row, created in self._in_order():
            external_id = text_of(row[0])
            undated += time_of(row[4]) is None
            copy = SourceCopy(agent_key=name_key(self._name("to", row[2])), read_ts=_read_ts(row[5], created))
            yield SourceMessage(
                key=self.message_key(external_id, row[4], row[3], row[1], row[2]),
                project_key=PROJECT,
                sender_key=name_key(self._name("from", row[1])),
                subject=None,
                body_md=text_of(row[3]),
                created_ts=created,
                recipients=(copy,),
                external_id=external_id or None,
                door=self.door if external_id else None,
            )
        self.note_undated(undated)
        self.note_mended(self._database.mended)

    def _registered(self) -> Iterator[NameSighting]:
        """Mailboxes that the store lists, whoever wrote to them."""
        if self._mailboxes is None:
            return
        columns = _detected(self._database.tables[self._mailboxes], _OF_MAILBOX)
        if "name" not in columns:
            return
        wanted = [columns.get(field, "") for field in _OF_MAILBOX]
        for number, name, created, seen in self._database.rows(self._mailboxes, wanted):
            if self._by_number and len(self._names) < MOST_NUMBERED:
                self._names[number] = text_of(name)
            for when in (created, seen):
                yield NameSighting(name=text_of(name), seen_ts=time_of(when) or Micros(0))

    def _name(self, field: str, value: ForeignValue) -> str:
        if field not in self._by_number:
            return text_of(value)
        return self._names.get(value) or f"mailbox-{text_of(value)}"

    def _found_table(self, names: tuple[str, ...]) -> str | None:
        return next((name for name in names if name in self._database.tables), None)

    def _in_order(self) -> Iterator[tuple[ForeignRow, Micros]]:
        last = Micros(0)
        for row in self._database.rows(self._table or "", self._columns, order=(self._columns[4],), read_as=time_of):
            last = time_of(row[4]) or last
            yield row, last


MOST_NUMBERED = 100_000
"""Mailboxes that messages name by number."""


def _detected(known: Mapping[str, str], wanted: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    bare = {column.replace("_", ""): column for column in known}
    found = {field: next((bare[name] for name in names if name in bare), None) for field, names in wanted.items()}
    return {field: column for field, column in found.items() if column is not None}


def _read_ts(delivered: ForeignValue, created: Micros) -> Micros | None:
    number = whole_of(delivered)
    if number is None or number > 1:
        return time_of(delivered) or (created if flag_of(delivered) else None)
    return created if number == 1 else None
