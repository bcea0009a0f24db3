"""Can what waits to be written into archives be written there? Each pending event says it for itself, in JSON, and a
database may be anybody's.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, OutboxSeq, ProjectId
from mcp_agent_mail.core.json_limits import require_bounded
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.commit_message import commit_text
from mcp_agent_mail.domain.archive_format.layout import batch_files, is_own
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION
from mcp_agent_mail.domain.attachments import ATTACHMENTS_FOLDER, is_content_path
from mcp_agent_mail.domain.events import EventKind, OutboxEvent
from mcp_agent_mail.domain.projects import is_slug
from mcp_agent_mail.store.checks.strange_fields import MOST_BYTES, MOST_PARTS
from mcp_agent_mail.store.engine.port import Connection

_PENDING = f"""
    SELECT o.seq, o.project_id, p.slug, o.kind, o.agent_id, o.created_ts,
           CASE WHEN length(CAST(o.snapshot AS BLOB)) <= {MOST_BYTES} THEN o.snapshot ELSE '' END
    FROM outbox o INDEXED BY outbox_oldest JOIN projects p ON p.id = o.project_id WHERE o.commit_id IS NULL
    ORDER BY o.seq
"""
_UNPLAIN = {"", ".", ".."}


@dataclass(frozen=True, slots=True)
class _PendingRow:
    seq: int
    project_id: int
    slug: str
    kind: str
    agent_id: int | None
    created_ts: int
    snapshot: str

    def event(self) -> OutboxEvent:
        """Raises ValueError, TypeError."""
        content = self.snapshot.encode()
        require_bounded(content, MOST_PARTS, longest=MOST_BYTES)
        value = orjson.loads(content)
        if not isinstance(value, dict):
            raise TypeError("its snapshot is no object")
        return OutboxEvent(
            seq=OutboxSeq(self.seq),
            project_id=ProjectId(self.project_id),
            project_slug=self.slug,
            kind=EventKind(self.kind),
            agent_id=None if self.agent_id is None else AgentId(self.agent_id),
            created_ts=Micros(self.created_ts),
            snapshot=value,
        )


def strange_events(connection: Connection) -> Iterator[str]:
    """Those that the archiver could not write, or would write where no file of an archive lies; one at a time."""
    for row in connection.execute(_PENDING):
        pending = _PendingRow(*row)
        if flaw := _flaw_of(pending):
            yield f"event {pending.seq} cannot be written: {flaw:.200}"


def _flaw_of(pending: _PendingRow) -> str | None:
    try:
        event = pending.event()
        if event.kind is EventKind.ADOPTION:
            source = event.snapshot["source"]
            return None if source is None or is_slug(source) else f"{source!r} is no slug"
        paths = batch_files([event], "", FORMAT_VERSION)
        commit_text([event])
    except Exception as failed:  # noqa: BLE001  # a stranger's JSON may fail in any way, and all of them are his
        return f"{type(failed).__name__} {failed!s:.100}"
    return next((f"{path!r} is no path of an archive" for path in paths if not _is_fit(path)), None)


def _is_fit(path: str) -> bool:
    if not is_own(path) or _UNPLAIN & set(path.split("/")) or "\0" in path:
        return False
    return not path.startswith(f"{ATTACHMENTS_FOLDER}/") or is_content_path(path)
