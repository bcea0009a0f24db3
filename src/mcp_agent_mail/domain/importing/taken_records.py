"""What one unit of work has taken over: by it a store that is read again is known."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.importing.records import SourceKind

TAKEN_KINDS = (
    SourceKind.PROJECT,
    SourceKind.AGENT,
    SourceKind.MESSAGE,
    SourceKind.LEASE,
    SourceKind.LINK,
    SourceKind.PRODUCT,
)
"""Kinds whose records have keys of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRecord:
    """A record of a source is this here. `project_id`: whose archive tells of it."""

    kind: SourceKind
    key: str
    number: int
    project_id: ProjectId


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportUnit:
    """What a unit has taken over, as the archive of one project tells it."""

    id: int
    project_id: ProjectId
    system: str
    store_id: str
    imported_ts: Micros
    taken: tuple[TakenRecord, ...]
