"""Where database and archive lie, by the one path that a person names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mcp_agent_mail.domain.importing.refusals import some, unknown_layout, wrong_path
from mcp_agent_mail.facades.importers.folders import SourceFolder
from mcp_agent_mail.facades.importers.mcp_agent_mail.archive import PROJECTS, SourceArchive, open_archive
from mcp_agent_mail.facades.importers.mcp_agent_mail.reader import SYSTEM, McpAgentMailReader
from mcp_agent_mail.facades.importers.mcp_agent_mail.tables import SourceTables
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes
from mcp_agent_mail.store.foreign.database import open_private_copy
from mcp_agent_mail.store.foreign.mail_index import open_mail_index

DATABASE = "storage.sqlite3"
"""As that system calls it unless it is told otherwise."""


@contextmanager
def open_mcp_agent_mail(path: Path, *, archive: Path | None) -> Iterator[McpAgentMailReader]:
    """`path` is the database, or a folder with it, the archive, or both. Raises UnknownLayout, SourceUnreadable,
    SourceInUse.
    """
    notes = ReadingNotes()
    database_path, archive_path = _places(path, archive)
    with ExitStack() as stack:
        tables = None
        if database_path is not None:
            database = stack.enter_context(open_private_copy(database_path))
            tables = SourceTables(database, database_path, SYSTEM)
        source_archive: SourceArchive | None = None
        if archive_path is not None:
            source_archive = open_archive(archive_path, SYSTEM, notes, stack)
        else:
            notes.note(
                "No archive was given (--archive): what lies in it alone, such as the contents of attachments, is not "
                "found."
            )
        index = stack.enter_context(open_mail_index())
        yield McpAgentMailReader(tables, source_archive, index, notes, path)


def _places(path: Path, archive: Path | None) -> tuple[Path | None, Path | None]:
    """Database and archive, of which one at least is there."""
    if not path.is_dir():
        return path, archive
    with SourceFolder.open(path) as folder:
        names = folder.names()
    has_database = any(one.name == DATABASE and one.is_file for one in names)
    has_archive = any(one.name == PROJECTS and one.is_folder for one in names)
    if has_database:
        return path / DATABASE, archive or (path if has_archive else None)
    if has_archive and archive in (None, path):
        return None, path
    if has_archive:
        raise wrong_path(path, "it is an archive, and --archive names another")
    if archive is not None:
        raise unknown_layout(path, SYSTEM, f"the folder has no {DATABASE}; it has {some(one.name for one in names)}")
    raise unknown_layout(
        path, SYSTEM, f"the folder has no {DATABASE} and no `{PROJECTS}`; it has {some(one.name for one in names)}"
    )
