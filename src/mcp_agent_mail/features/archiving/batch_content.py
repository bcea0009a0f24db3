"""What a commit must hold if it is of the events of a batch: by that it is recognised after a crash."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.archive.ownership import Written
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.archive_format.layout import batch_files, event_files, held_copies, is_tombstone
from mcp_agent_mail.domain.archive_format.leases import is_stand_in
from mcp_agent_mail.domain.events import EventKind, OutboxEvent


def what_was_written(batch: Sequence[OutboxEvent], store_id: str, version: int) -> Written:
    """What a commit of this batch must hold, by which it is recognised. Files that change later (profiles, projects,
    links, mail that was held or purged) count by their paths alone: after a renewal they show their newest state.
    Leases, and who had got held mail by then, count for nothing.
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
        if content is not None and path not in later
    }
    return Written(blobs=blobs, is_vague=len(clear) < len(batch) or bool(later))
