"""What a commit must hold if it is of the events of a batch: by that it is recognised after a crash."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.archive.ownership import Written
from mcp_agent_mail.domain.archive_format.attachments import carried_files
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.archive_format.layout import batch_files, event_files, held_copies, is_tombstone
from mcp_agent_mail.domain.archive_format.leases import is_stand_in
from mcp_agent_mail.domain.events import EventKind, OutboxEvent

LARGE_BYTES = 64 * 1024 * 1024
"""Of contents that one commit brings, unless a single event has more: the archive of another project waits for it."""


def up_to_size(events: list[OutboxEvent]) -> list[OutboxEvent]:
    """The first of them, so many as do not bring too much at once; one at least."""
    brought: set[str] = set()
    size = 0
    for number, event in enumerate(events):
        for path, content in carried_files(event.snapshot) if event.kind is EventKind.MAIL else ():
            size += 0 if path in brought else content.bytes
            brought.add(path)
        if number and size > LARGE_BYTES:
            return events[:number]
    return events


def what_was_written(batch: Sequence[OutboxEvent], store_id: str, version: int) -> Written:
    """What a commit of this batch must hold, by which it is recognised. Files that change later (profiles, projects,
    links, mail that was held or purged) count by their paths alone: after a renewal they show their newest state.
    Leases, who had got held mail by then, and contents of attachments (which may have come later, and mail names them)
    count for nothing.
    """
    mutable: set[str] = set()
    later: set[str] = set()
    for event in batch:
        if event.kind in (EventKind.PROFILE, EventKind.PROJECT, EventKind.CONTACT):
            mutable.update(path for path, _ in event_files(event.kind, event.snapshot, store_id, version))
        elif event.kind is EventKind.MAIL and (held := held_copies(event.snapshot, version)):
            mutable.update(path for path, _ in event_files(event.kind, event.snapshot, store_id, version))
            later.update(held)
        elif event.kind is EventKind.MAIL and is_tombstone(event.snapshot):
            mutable.update(path for path, _ in event_files(event.kind, event.snapshot, store_id, version))
    clear = [event for event in batch if not is_stand_in(event.snapshot)]
    files = batch_files(clear, store_id, version)
    blobs = {
        path: None if path in mutable else blob_id(content)
        for path, content in files.items()
        if isinstance(content, bytes) and path not in later
    }
    return Written(blobs=blobs, is_vague=len(clear) < len(batch) or bool(later))
