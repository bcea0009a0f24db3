"""One archive by itself: begun by a writer, or no more than a repository with commits of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from mcp_agent_mail.archive.fast_import import NewCommit, Signature, import_commit
from mcp_agent_mail.archive.ownership import ArchiveOwner, OutboxPosition
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.commit_message import CommitText

AT = Micros(1_800_000_000 * SECOND)
OWNER = ArchiveOwner(store_id="this-store", author_name="mcp-agent", author_email="mcp-agent@example.com")
IDENTITY = json.dumps({"store_id": "this-store"}).encode()
NOTE = "messages/note.md"
US = Signature(name="mcp-agent", email="mcp-agent@example.com")


def open_writer(path: Path, *, highest_seq: int = 1_000) -> ArchiveWriter:
    return ArchiveWriter(path, OWNER, OutboxPosition(highest_seq=OutboxSeq(highest_seq)), fault_hook=no_fault)


def text(seq: int, *agents: str) -> CommitText:
    return CommitText(subject=f"archive: {seq}", agents=agents, last_seq=OutboxSeq(seq))


def begin(path: Path) -> ArchiveRepository:
    """An archive at `path` without a commit."""
    repository = ArchiveRepository(path)
    repository.create()
    return repository


def add_commit(
    repository: ArchiveRepository, files: Mapping[str, bytes | None], *, seq: int | None = None, at: Micros = AT
) -> str:
    """In Git alone: nobody writes the files. With `seq` it is sealed."""
    message = "work\n" if seq is None else f"work\n\nOutbox-Seq: {seq}\n"
    commit = NewCommit(files=files, message=message, author=US, committer=US, at=at)
    return import_commit(repository, commit, onto=repository.tip())
