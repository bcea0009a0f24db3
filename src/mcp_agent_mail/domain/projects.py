"""Projects: one per working directory, known by its absolute path (the human key) and a slug."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    id: ProjectId
    slug: str
    human_key: str
    created_ts: Micros
    archived_ts: Micros | None

    @property
    def is_archived(self) -> bool:
        return self.archived_ts is not None
