"""Messages in their order, with recipients, threads and attachments: rows of the database, and files beside them."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.doors.names import wire_key
from mcp_agent_mail.domain.importing.records import SourceCopy, SourceKind, SourceMessage, ThreadRef
from mcp_agent_mail.domain.messages import Importance, RecipientKind
from mcp_agent_mail.facades.importers.mcp_agent_mail.attachments import AttachmentReader
from mcp_agent_mail.facades.importers.mcp_agent_mail.mail_file import MailFile
from mcp_agent_mail.facades.importers.mcp_agent_mail.mail_files import MailFiles, message_key
from mcp_agent_mail.facades.importers.mcp_agent_mail.people import SourcePeople
from mcp_agent_mail.facades.importers.mcp_agent_mail.tables import ForeignMessage, SourceTables
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes
from mcp_agent_mail.facades.importers.values import digest_of, flag_of, key_of, text_of, time_of, whole_of
from mcp_agent_mail.store.foreign.mail_index import ArchivedPlace, MailIndex

_MOST_THREAD = 18
_DIGITS = 16


class MailReader:
    """Of one source."""

    def __init__(
        self,
        tables: SourceTables | None,
        filed: MailFiles | None,
        people: SourcePeople,
        index: MailIndex,
        carried: AttachmentReader,
        notes: ReadingNotes,
    ) -> None:
        self._tables = tables
        self._filed = filed
        self._people = people
        self._index = index
        self._carried = carried
        self._notes = notes
        self._last = Micros(0)
        self._undated = self._ahead = self._alike = 0
        self._number: int | None = None
        self._keys: set[str] = set()
        """Of the rows of that number."""

    def in_order(self) -> Iterator[SourceMessage]:
        """Rows in the order of their numbers; each file before the first row that is younger."""
        places = iter(()) if self._filed is None else self._filed.places()
        place = next(places, None)
        for row in () if self._tables is None else self._tables.messages():
            while place is not None and place.created_ts <= (row.created_ts or Micros(0)):
                yield from self._of_file(place)
                place = next(places, None)
            if self._tables is None:
                continue
            if row.number == self._number:
                yield self._of_row(self._tables, row, [row.number], is_another=True)
                continue
            self._number, self._keys = row.number, set()
            rows = self._index.rows_of_mail(row.number)
            if rows[0] == row.number:
                yield self._of_row(self._tables, row, rows)
        while place is not None:
            yield from self._of_file(place)
            place = next(places, None)
        self._tell()

    def _of_row(
        self, tables: SourceTables, row: ForeignMessage, rows: list[int], *, is_another: bool = False
    ) -> SourceMessage:
        """`is_another`: the table has a row of this number already. It is a message of its own, to the same agents."""
        if row.created_ts is None:
            self._undated += 1
        else:
            self._last = row.created_ts
        sender = self._people.sender(row.sender, row.project)
        if sender is None:  # All were looked for before: the copy is ours, and does not change.
            raise AssertionError(row.sender)
        own = message_key(row.number, row.created_ts, row.subject)
        key = self._another(own, row) if is_another else own
        self._keys.add(key)
        slug = self._people.projects[self._people.project_key(row.project)].slug or ""
        return SourceMessage(
            key=key,
            project_key=sender.project_key,
            sender_key=sender.key,
            subject=row.subject,
            body_md=row.body_md,
            created_ts=self._last,
            recipients=self._copies(tables, rows),
            importance=_importance(row.importance),
            ack_required=flag_of(row.ack_required),
            thread=self._thread(row.thread_id, rows, self._last),
            topic=row.topic or None,
            attachments=self._carried.attachments(row.attachments, slug),
            also=tuple(one for number in rows[1:] if (one := self._key_of(tables, number)) is not None),
        )

    def _another(self, key: str, row: ForeignMessage) -> str:
        """A key that the others of its number have not: by what it says, where its time is theirs."""
        self._alike += 1
        if key in self._keys:
            key = key_of(key, digest_of(row.subject, row.body_md)[:_DIGITS])
        number = 1
        while key in self._keys:
            number += 1
            key = key_of(key, number)
        return key

    def _copies(self, tables: SourceTables, rows: list[int]) -> tuple[SourceCopy, ...]:
        """Who is blind is what the row of each recipient says."""
        copies: dict[str, SourceCopy] = {}
        for number in rows:
            for agent, kind, read, acked in tables.recipients_of(number):
                person = self._people.person(whole_of(agent))
                if person is None:
                    self._notes.leave_out(SourceKind.COPY, "its recipient is not in the source any more")
                elif person.key in copies:
                    self._notes.leave_out(SourceKind.COPY, "the same agent is a recipient already")
                else:
                    copies[person.key] = SourceCopy(
                        agent_key=person.key, kind=_kind(text_of(kind)), read_ts=time_of(read), ack_ts=time_of(acked)
                    )
        return tuple(copies.values())

    def _of_file(self, place: ArchivedPlace) -> Iterator[SourceMessage]:
        mail = None if self._filed is None else self._filed.mail(place)
        if mail is None:
            self._notes.leave_out(SourceKind.MESSAGE, "its file in the archive has gone while it was read")
            return
        project_key = self._people.add_project(slug=place.slug, human_key="", created_ts=place.created_ts)
        sender = self._people.person_named(project_key, mail.sender)
        if sender is None:
            raise AssertionError(mail.sender)
        yield SourceMessage(
            key=place.key,
            project_key=project_key,
            sender_key=sender.key,
            subject=mail.subject,
            body_md=mail.body,
            created_ts=place.created_ts,
            recipients=self._filed_copies(project_key, mail, place.created_ts),
            importance=_importance(mail.importance),
            ack_required=flag_of(mail.ack_required),
            thread=self._thread(mail.thread_id, [place.number], place.created_ts),
            attachments=self._carried.attachments(mail.attachments, place.slug),
        )

    def _filed_copies(self, project_key: str, mail: MailFile, created_ts: Micros) -> tuple[SourceCopy, ...]:
        """What the database no longer has is history: read. Without a database nobody knows, and nothing is."""
        read_ts = None if self._tables is None else created_ts
        copies: dict[str, SourceCopy] = {}
        kinds = ((mail.to, RecipientKind.TO), (mail.cc, RecipientKind.CC), (mail.bcc, RecipientKind.BCC))
        for names, kind in kinds:
            for name in names:
                person = self._people.person_named(project_key, name)
                if person is not None and person.key not in copies:
                    copies[person.key] = SourceCopy(agent_key=person.key, kind=kind, read_ts=read_ts)
        return tuple(copies.values())

    def _thread(self, thread_id: str, rows: list[int], created_ts: Micros) -> ThreadRef | None:
        """A number names a message that is older, and follows it; the message itself has no thread."""
        if not thread_id:
            return None
        number = whole_of(thread_id) if thread_id.isascii() and thread_id.isdecimal() else None
        if number is None or len(thread_id) > _MOST_THREAD:
            return ThreadRef(name=thread_id)
        if number in rows:
            return None
        key = self._root(number, rows[0], created_ts)
        return ThreadRef(name=thread_id) if key is None else ThreadRef(message_key=key)

    def _root(self, number: int, at: int, created_ts: Micros) -> str | None:
        """The key of the message of that number that was there when this one was sent, and was given before it."""
        head = None if self._tables is None else self._tables.head_of(number)
        if self._tables is not None and head is not None and (head[2] or Micros(0)) <= created_ts:
            if self._index.rows_of_mail(number)[0] < at:
                return self._key_of(self._tables, number)
            self._ahead += 1
            return None
        return self._index.find_archived(number, before=created_ts)

    def _key_of(self, tables: SourceTables, number: int) -> str | None:
        head = tables.head_of(number)
        return None if head is None else message_key(number, head[2], head[3])

    def _tell(self) -> None:
        if self._undated:
            self._notes.note(
                f"{self._undated} messages have no time that can be read: each has that of the one before it."
            )
        if self._alike:
            self._notes.note(
                f"{self._alike} messages have the number of another one: who got which is not known, each goes to all."
            )
        if self._ahead:
            self._notes.note(
                f"{self._ahead} messages stand in a thread that a later message names: it is kept as a name."
            )


def _importance(word: str) -> Importance:
    key = wire_key(word)
    return Importance(key) if key in set(Importance) else Importance.NORMAL


def _kind(word: str) -> RecipientKind:
    key = wire_key(word)
    return RecipientKind(key) if key in set(RecipientKind) else RecipientKind.TO
