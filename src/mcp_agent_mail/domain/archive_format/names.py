"""How agents are called in an archive, and which names may become part of a path there or beside it."""

from __future__ import annotations

from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.projects import is_slug

_SAFE_NAME = lazy_pattern(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class UnsafeName(ValueError):
    """A name that may not become part of a path. Names are checked when agents register: this is a bug."""


def name_in(project_id: int, name: str, of_project: int, of_slug: str) -> str:
    """How an agent is called in a project's archive: `Name`, or `Name@slug` when it is of another."""
    return name if of_project == project_id else f"{name}@{of_slug}"


def safe_name(name: str) -> str:
    """The name, which may become part of a path. Raises UnsafeName."""
    if not _SAFE_NAME.fullmatch(name):
        raise UnsafeName(f"{name!r:.100} may not become part of a path")
    return name


def safe_slug(slug: str) -> str:
    """The slug, which may become part of a path. Raises UnsafeName."""
    if not is_slug(slug):
        raise UnsafeName(f"{slug!r:.100} is no slug, and may not become part of a path")
    return slug
