"""One archive of version 1 by itself, with mail in its first block and a file of a person's, and its conversion."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.archive.ownership import ArchiveOwner, OutboxPosition
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.failpoints import FaultHook, no_fault
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.commit_message import CommitText
from tests.archive.one_archive import AT
from tests.archive_harness import refresh, version_1

MAIL = "messages/2026/11/0/2026-11-21T21-00-00Z__plan__7.md"
COPY = f"agents/RedStone/inbox/2026/11/0/{MAIL.rpartition('/')[2]}"
FILES = {
    "archive.json": b'{"format": 1, "store_id": "s", "project": {"id": 1}}',
    MAIL: b"body",
    COPY: b"body",
    "file_reservations/released/2026/11/1/id-700.json": b"{}\n",
    "agents/RedStone/profile.json": b"{}\n",
    'messages/2026/11/0/a "b\u00e4.txt': b"mine",
}


def open_writer(path: Path, fault_hook: FaultHook = no_fault) -> ArchiveWriter:
    """Of the store that FILES name."""
    owner = ArchiveOwner(store_id="s", author_name="mcp-agent", author_email="a@example.com")
    return ArchiveWriter(path, owner, OutboxPosition(highest_seq=OutboxSeq(9)), fault_hook=fault_hook)


def make_old_archive(path: Path) -> Path:
    """FILES, in one commit."""
    with version_1():
        writer = open_writer(path)
        writer.commit(FILES, CommitText(subject="mail", agents=(), last_seq=OutboxSeq(3)), AT)
        refresh(writer)
    return path


def convert(path: Path) -> ArchiveWriter:
    """The whole of it."""
    writer = open_writer(path)
    for _ in range(20):
        if not writer.conversion.is_needed:
            break
        writer.convert(OutboxSeq(3), AT)
    refresh(writer)
    return writer
