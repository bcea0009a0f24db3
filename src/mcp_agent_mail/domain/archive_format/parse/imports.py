"""`imports/<block>/<unit>.json`: what one unit of an import has taken over into the archive's project."""

from __future__ import annotations

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedImport
from mcp_agent_mail.domain.archive_format.imports import import_file, import_snapshot
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.parse.fields import Fields, Unfit, read_object, require_same
from mcp_agent_mail.domain.importing.records import MAX_KEY, SourceKind
from mcp_agent_mail.domain.importing.taken_records import TAKEN_KINDS, ImportUnit, TakenRecord


def parse_import(path: str, content: bytes) -> ArchivedImport:
    """Raises ValueError."""
    fields = read_object(content)
    project_id = ProjectId(fields.number("project_id"))
    unit = ImportUnit(
        id=fields.number("id"),
        project_id=project_id,
        system=fields.text("system"),
        store_id=fields.text("store_id"),
        imported_ts=fields.time("imported_ts"),
        taken=tuple(_taken(one, project_id) for one in fields.items("taken")),
    )
    archived = ArchivedImport(unit=unit)
    place, rendered = import_unit_file(archived)
    require_same(content, fields, rendered, document)
    if path != place:
        raise Unfit("it does not lie where its number says")
    return archived


def import_unit_file(archived: ArchivedImport) -> tuple[str, bytes]:
    """Path and content, as rendering makes them of the same values."""
    return import_file(import_snapshot(archived.unit))


def _taken(fields: Fields, project_id: ProjectId) -> TakenRecord:
    kind, key = fields.choice("kind", SourceKind), fields.text("key")
    if kind not in TAKEN_KINDS:
        raise Unfit(f"kind cannot be {kind.value!r}")
    if not 0 < len(key) <= MAX_KEY:
        raise Unfit("key is no key")
    return TakenRecord(kind=kind, key=key, number=fields.number("number"), project_id=project_id)
