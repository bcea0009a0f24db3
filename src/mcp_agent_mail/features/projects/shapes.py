"""A project as every answer shows it. Keys are a wire contract."""

from __future__ import annotations

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.projects import Project


def show_project(project: Project) -> JsonObject:
    """A project as tools and resources give it; `archived_at` is there only while it is archived."""
    wire: JsonObject = {
        "id": project.id,
        "slug": project.slug,
        "human_key": project.human_key,
        "created_at": iso(project.created_ts),
    }
    if project.is_archived:
        wire["archived_at"] = iso_or_none(project.archived_ts)
    return wire
