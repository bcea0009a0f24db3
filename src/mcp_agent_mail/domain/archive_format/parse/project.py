"""`archive.json`: whose archive it is."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedAlias, ArchivedProject
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.layout import archive_file
from mcp_agent_mail.domain.archive_format.parse.fields import Fields, Unfit, read_object, require_same
from mcp_agent_mail.domain.projects import AliasKind, Project


def parse_project(content: bytes, version: int) -> ArchivedProject:
    """Raises ValueError."""
    fields = read_object(content)
    project = fields.fields("project")
    archived = ArchivedProject(
        version=fields.number("format"),
        store_id=fields.text("store_id"),
        project=Project(
            id=ProjectId(project.number("id")),
            slug=project.text("slug"),
            human_key=project.text("human_key"),
            created_ts=project.time("created_at"),
            archived_ts=project.time_or_none("archived_at"),
        ),
        aliases=tuple(_alias(item) for item in _aliases(project)),
    )
    if archived.version != version:
        raise Unfit(f"format is {archived.version} in an archive of version {version}")
    require_same(content, fields, project_file(archived), document)
    return archived


def _aliases(project: Fields) -> list[Fields]:
    if not project.has("aliases"):
        return []
    aliases = project.items("aliases")
    if not aliases:
        raise Unfit("aliases cannot be empty")
    return aliases


def _alias(item: Fields) -> ArchivedAlias:
    return ArchivedAlias(
        name=item.text("alias"),
        kind=item.choice("kind", AliasKind),
        created_ts=item.time("created_ts") if item.has("created_ts") else None,
    )


def project_file(archived: ArchivedProject) -> bytes:
    """What rendering makes of the same values."""
    project = archived.project
    snapshot: dict[str, Any] = {
        "id": project.id,
        "slug": project.slug,
        "human_key": project.human_key,
        "created_ts": project.created_ts,
        "archived_ts": project.archived_ts,
    }
    if archived.aliases:
        snapshot["aliases"] = [_alias_entry(alias) for alias in archived.aliases]
    return archive_file(snapshot, archived.store_id, archived.version)


def _alias_entry(alias: ArchivedAlias) -> dict[str, Any]:
    when = {} if alias.created_ts is None else {"created_ts": iso(alias.created_ts)}
    return {"alias": alias.name, "kind": alias.kind.value, **when}
