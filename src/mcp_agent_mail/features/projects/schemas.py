"""What callers get to see of projects. Keys are a wire contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.domain.projects import Project

Wire = dict[str, Any]
"""A JSON object."""


def show_project(project: Project) -> Wire:
    """The Project shape; `archived_at` only where a project is archived."""
    wire: Wire = {
        "id": project.id,
        "slug": project.slug,
        "human_key": project.human_key,
        "created_at": iso(project.created_ts),
    }
    if project.is_archived:
        wire["archived_at"] = iso_or_none(project.archived_ts)
    return wire


def show_ensured(project: Project, archive_path: Path) -> Wire:
    return {**show_project(project), "archive_path": str(archive_path)}


def show_archiving(project: Project) -> Wire:
    return {
        "slug": project.slug,
        "human_key": project.human_key,
        "archived": project.is_archived,
        "archived_at": iso_or_none(project.archived_ts),
    }
