"""Which reader reads what, by the word behind `am import`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.importing.reader import SourceReader
from mcp_agent_mail.facades.importers.agentmail_reader import AgentMailReader
from mcp_agent_mail.facades.importers.claude_mailbox_reader import ClaudeMailboxReader
from mcp_agent_mail.facades.importers.folders import SourceFolder
from mcp_agent_mail.facades.importers.mcp_agent_mail.place import open_mcp_agent_mail
from mcp_agent_mail.facades.importers.mcp_agent_mail.reader import SYSTEM
from mcp_agent_mail.facades.importers.postal_reader import PostalReader
from mcp_agent_mail.store.foreign.database import open_private_copy
from mcp_agent_mail.store.foreign.private_folder import private_folder


@contextmanager
def open_source(system: str, path: Path, *, archive: Path | None = None) -> Iterator[SourceReader]:
    """The reader of a store, which is left as it is. Raises UnknownLayout for what is no such store, SourceUnreadable,
    SourceInUse, DiskFull. `archive` is the Git repository beside a database of mcp-agent-mail.
    """
    if system == Door.AGENTMAIL:
        with (
            private_folder() as copies,
            SourceFolder.open(path) as folder,
            closing(AgentMailReader(folder, copies)) as agentmail,
        ):
            yield agentmail
    elif system == Door.POSTAL:
        with open_private_copy(path) as database:
            yield PostalReader(database, path)
    elif system == Door.CLAUDE_MAILBOX:
        with open_private_copy(path) as database:
            yield ClaudeMailboxReader(database, path)
    elif system == SYSTEM:
        with open_mcp_agent_mail(path, archive=archive) as reader:
            yield reader
    else:
        raise AssertionError(system)
