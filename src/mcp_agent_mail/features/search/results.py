"""What a search answers."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.search.query import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What was found, seen from `project`."""

    project: Project
    hits: list[Hit]
