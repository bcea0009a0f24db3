"""One store as neutral records: out of the database where there is one, and out of the archive beside it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.importing.records import (
    MAX_OLDEST,
    NotCarried,
    SourceAgent,
    SourceKind,
    SourceLease,
    SourceLink,
    SourceMessage,
    SourceNote,
    SourceProduct,
    SourceProject,
    SourceStore,
)
from mcp_agent_mail.facades.importers.mcp_agent_mail.agents import agent_of_profile, agents_of_rows
from mcp_agent_mail.facades.importers.mcp_agent_mail.archive import SourceArchive
from mcp_agent_mail.facades.importers.mcp_agent_mail.attachments import AttachmentReader
from mcp_agent_mail.facades.importers.mcp_agent_mail.ghost_rows import find_ghosts, join_mail
from mcp_agent_mail.facades.importers.mcp_agent_mail.mail_files import MailFiles
from mcp_agent_mail.facades.importers.mcp_agent_mail.mail_reader import MailReader
from mcp_agent_mail.facades.importers.mcp_agent_mail.people import SourcePeople
from mcp_agent_mail.facades.importers.mcp_agent_mail.side_records import (
    leases_of_files,
    leases_of_rows,
    links_of_rows,
    products_of_rows,
)
from mcp_agent_mail.facades.importers.mcp_agent_mail.tables import SourceTables
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes
from mcp_agent_mail.facades.importers.values import digest_of
from mcp_agent_mail.store.foreign.mail_index import MailIndex

SYSTEM = "mcp-agent-mail"


class McpAgentMailReader:
    """A `SourceReader`. At least one of database and archive is there. What must be known before the first record is
    looked up when it is made. Raises UnknownLayout, SourceUnreadable.
    """

    def __init__(
        self,
        tables: SourceTables | None,
        archive: SourceArchive | None,
        index: MailIndex,
        notes: ReadingNotes,
        path: Path,
    ) -> None:
        self._tables = tables
        self._archive = archive
        self._notes = notes
        self._people = SourcePeople(path, notes)
        self._filed = None if archive is None else MailFiles(archive, self._people, index, notes)
        if tables is not None:
            self._people.read(tables)
            self._find_lost_senders(tables)
            join_mail(tables, self._people, find_ghosts(tables, self._people), index, notes)
        if archive is not None:
            for slug in archive.slugs():
                self._people.add_project(slug=slug, human_key="", created_ts=Micros(0))
        if self._filed is not None:
            self._filed.read(tables, SYSTEM)
        carried = AttachmentReader(archive, notes)
        self._letters = MailReader(tables, self._filed, self._people, index, carried, notes)

    def store(self) -> SourceStore:
        """By its oldest project; without a database by the oldest message."""
        if self._tables is not None:
            return SourceStore(system=SYSTEM, store_id=digest_of("database", *self._tables.oldest_project()))
        oldest = () if self._filed is None else tuple(one.key for one in islice(self._filed.places(), MAX_OLDEST))
        return SourceStore(system=SYSTEM, store_id=digest_of("archive", *(oldest[:1] or ("",))), oldest_mail=oldest)

    def projects(self) -> Iterator[SourceProject]:
        yield from sorted(self._people.projects.values(), key=lambda one: (one.created_ts, one.key))

    def agents(self) -> Iterator[SourceAgent]:
        """By rows, then by profiles, last those whom only mail names."""
        given: set[str] = set()
        if self._tables is not None:
            yield from agents_of_rows(self._tables, self._people, self._notes, given)
        if self._archive is not None:
            yield from self._filed_agents(self._archive, given)
        for person in self._people.persons.values():
            if person.key not in given:
                yield agent_of_profile(person, {})

    def messages(self) -> Iterator[SourceMessage]:
        yield from self._letters.in_order()
        if self._tables is not None and self._tables.mended:
            self._notes.note("Some texts are no UTF-8: their broken places stand as U+FFFD.")

    def leases(self) -> Iterator[SourceLease]:
        """The archive's only where there is no database."""
        if self._tables is not None:
            yield from leases_of_rows(self._tables, self._people, self._notes)
        elif self._archive is not None:
            yield from leases_of_files(self._archive, self._people, self._notes)

    def links(self) -> Iterator[SourceLink]:
        if self._tables is not None:
            yield from links_of_rows(self._tables, self._people, self._notes)

    def products(self) -> Iterator[SourceProduct]:
        if self._tables is not None:
            yield from products_of_rows(self._tables, self._people, self._notes)

    def left_out(self) -> Iterator[NotCarried]:
        """What nobody here takes over is counted now."""
        if self._tables is not None:
            self._count_left_out(self._tables)
        if self._archive is not None:
            self._archive.count_left_out()
        yield from self._notes.left_out()

    def notes(self) -> Iterator[SourceNote]:
        yield from self._notes.notes()

    def _find_lost_senders(self, tables: SourceTables) -> None:
        for number, project, sender, created in tables.message_heads():
            if number is None:
                self._notes.leave_out(SourceKind.MESSAGE, "its row has no number")
            elif self._people.person(sender) is None:
                self._people.add_lost(sender, project, created or Micros(0))

    def _filed_agents(self, archive: SourceArchive, given: set[str]) -> Iterator[SourceAgent]:
        for slug in archive.slugs():
            project_key = self._people.add_project(slug=slug, human_key="", created_ts=Micros(0))
            for name, profile in archive.profiles(slug):
                known = self._people.person_named(project_key, name)
                # With a database its agents are all there are, but for those whom only the archive's mail names.
                if known is None and self._tables is None:
                    known = self._people.add_person(project_key, name, first_ts=Micros(0), last_ts=Micros(0))
                if known is not None and known.key not in given:
                    given.add(known.key)
                    yield agent_of_profile(known, profile)

    def _count_left_out(self, tables: SourceTables) -> None:
        self._notes.leave_out(
            "windows", "a window says anew who it is when its agent comes", tables.count("window_identities")
        )
        self._notes.leave_out(SourceKind.COPY, "its message is not in the source any more", tables.lost_recipients())
        self._notes.leave_out("summaries", "they are made anew of the mail", tables.count("message_summaries"))
        for table in tables.unknown_tables():
            self._notes.leave_out(f"rows of {table}"[:100], "it is a table that is not known here", tables.count(table))
        if missing := tables.missing_columns():
            self._notes.note(f"The database does not say of recipients: {', '.join(missing)}.")
