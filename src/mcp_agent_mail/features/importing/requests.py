"""What one step of an import asks."""

from __future__ import annotations

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.importing.records import SourceStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """`project`: where what has no directory goes, a path or a slug; None is the project of doors. Without `apply`
    nothing is written.
    """

    source: SourceStore
    project: str | None
    apply: bool
