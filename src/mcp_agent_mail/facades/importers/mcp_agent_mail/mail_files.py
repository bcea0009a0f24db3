"""Messages that are in the archive alone: all of them where there is no database, else what it has lost by a purge."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.doors.names import wire_key
from mcp_agent_mail.domain.importing.records import SourceKind
from mcp_agent_mail.domain.importing.refusals import unknown_layout
from mcp_agent_mail.facades.importers.mcp_agent_mail.archive import PROJECTS, SourceArchive
from mcp_agent_mail.facades.importers.mcp_agent_mail.mail_file import MailFile
from mcp_agent_mail.facades.importers.mcp_agent_mail.people import SourcePeople
from mcp_agent_mail.facades.importers.mcp_agent_mail.tables import SourceTables
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes
from mcp_agent_mail.facades.importers.values import digest_of, key_of, text_of, time_of, whole_of
from mcp_agent_mail.store.foreign.mail_index import ArchivedPlace, MailIndex

_NUMBER = re.compile(r"__([0-9]{1,18})\.md\Z")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]")
_NO_NUMBER = -1
_DIGITS = 16
_SHOWN = 10
_LONGEST_NOTE = 400
_STAMP = re.compile(r"/([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2})-([0-9]{2})-([0-9]{2})[^/]*\Z")
_MONTH = re.compile(r"/([0-9]{4})/([0-9]{2})/")
_NOT_READ = "its file in the archive cannot be read as a message"
_TWICE = "the archive has another file of the same message"


def message_key(number: int, created_ts: Micros | None, subject: str) -> str:
    """Of a message wherever it is read. Time and subject are part of it: after a purge numbers are given out again, and
    other stores have the same. The project is none: projects are joined there, and their rows go.
    """
    return key_of(f"{number}@{(created_ts or 0) // SECOND}", digest_of(subject.strip())[:_DIGITS])


@dataclass(slots=True)
class _Counted:
    """What a walk over the archive has counted."""

    matched: int = 0
    alone: int = 0
    in_database: int = 0
    undated: int = 0
    twice: Counter[int] = field(default_factory=Counter)


class MailFiles:
    """Of one source; `read` looks at every file once, and the index has what is found."""

    def __init__(self, archive: SourceArchive, people: SourcePeople, index: MailIndex, notes: ReadingNotes) -> None:
        self._archive = archive
        self._people = people
        self._index = index
        self._notes = notes

    def read(self, tables: SourceTables | None, system: str) -> None:
        """Raises UnknownLayout where the archive is another database's."""
        found = _Counted(in_database=0 if tables is None else tables.count("messages"))
        for slug in self._archive.slugs():
            for path in self._archive.mail_places(slug):
                self._look(slug, path, tables, found)
        if found.in_database and found.alone and not found.matched:
            raise unknown_layout(
                self._archive.path, system, "it has mail, and none of it is mail of this database: it is another's"
            )
        self._tell(found, tables)

    def places(self) -> Iterator[ArchivedPlace]:
        """The oldest first."""
        return self._index.archived()

    def mail(self, place: ArchivedPlace) -> MailFile | None:
        return self._archive.mail(place.slug, place.path)

    def _look(self, slug: str, path: str, tables: SourceTables | None, found: _Counted) -> None:
        mail = self._archive.mail(slug, path)
        if mail is None:
            self._notes.leave_out(SourceKind.MESSAGE, _NOT_READ)
            self._notes.note(f"{PROJECTS}/{text_of(slug)}/{text_of(path)} cannot be read as a message."[:_LONGEST_NOTE])
            return
        created = mail.created_ts
        if created is None:
            created = _time_in(path)
            found.undated += 1
        directory = mail.project if _ABSOLUTE.match(mail.project) else ""
        project_key = self._people.add_project(slug=slug, human_key=directory, created_ts=created)
        number = mail.number if mail.number is not None else _number_in(path)
        if tables is not None and number is not None and self._is_in(tables, project_key, number, mail):
            found.matched += 1
            return
        key = key_of(project_key, path) if number is None else message_key(number, created, mail.subject)
        place = ArchivedPlace(
            key=key, number=_NO_NUMBER if number is None else number, created_ts=created, slug=slug, path=path
        )
        if not self._index.add_archived(place):
            self._notes.leave_out("archive files", _TWICE)
            return
        found.alone += 1
        for name in mail.names:
            self._people.add_person(project_key, name, first_ts=created, last_ts=created)
        if number is not None and self._is_used_again(tables, number, created):
            found.twice[number] += 1

    def _is_in(self, tables: SourceTables, project_key: str, number: int, mail: MailFile) -> bool:
        """Whether the database's message of this number is this one, and not a later one that was given its number. It
        may have come to another project there since its file was written.
        """
        head = tables.head_of(number)
        if head is None:
            return False
        if message_key(number, head[2], head[3]) == message_key(number, mail.created_ts, mail.subject):
            return True
        if self._people.project_key(head[0]) != project_key:
            return False
        created, sender = head[2], self._people.person(head[1])
        if created is not None and mail.created_ts is not None and abs(created - mail.created_ts) <= SECOND:
            return True
        is_by_same = sender is not None and wire_key(sender.name) == wire_key(mail.sender)
        return is_by_same and head[3] == mail.subject and (created is None or mail.created_ts is None)

    def _is_used_again(self, tables: SourceTables | None, number: int, created: Micros) -> bool:
        is_in_database = tables is not None and tables.head_of(number) is not None
        return is_in_database or self._index.find_archived(number, before=created) is not None

    def _tell(self, found: _Counted, tables: SourceTables | None) -> None:
        if found.twice:
            shown = ", ".join(str(number) for number in sorted(found.twice)[:_SHOWN])
            more = f" and {len(found.twice) - _SHOWN} more" if len(found.twice) > _SHOWN else ""
            self._notes.note(
                f"After a purge ids were given out again ({shown}{more}): the earlier message of each is kept too."
            )
        if found.alone and tables is not None:
            self._notes.note(
                f"{found.alone} messages are in the archive and no longer in the database: they are taken from there, "
                "as read."
            )
        if found.undated:
            self._notes.note(
                f"{found.undated} files in the archive have no time that can be read: they have that of their name, or "
                "of the month that they lie in."
            )
        if tables is None:
            self._notes.note(
                "There is no database: the archive alone is read. It knows no topics, policies, links, and not who has "
                "read what: all its mail comes in as unread."
            )


def _time_in(path: str) -> Micros:
    """By the stamp in the file's name, else the beginning of the month whose folder it lies in."""
    stamp = _STAMP.search(path)
    if stamp is not None and (at := time_of(f"{stamp[1]}T{stamp[2]}:{stamp[3]}:{stamp[4]}Z")) is not None:
        return at
    month = _MONTH.search(path)
    return (None if month is None else time_of(f"{month[1]}-{month[2]}-01T00:00:00Z")) or Micros(0)


def _number_in(path: str) -> int | None:
    found = _NUMBER.search(path)
    return whole_of(found[1]) if found is not None else None
