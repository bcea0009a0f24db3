"""What was taken over from another system, in the archive's file format: a file for each unit of an import, which says
by which key of the source a thing is known again. What the things are their own files say.
"""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION, block_folder
from mcp_agent_mail.domain.importing.taken_records import ImportUnit

IMPORTS_FOLDER = "imports"

Snapshot = dict[str, Any]  # JSON: the keys stand in the functions below


def import_snapshot(unit: ImportUnit) -> Snapshot:
    """For the archive of the unit's project."""
    return {
        "id": unit.id,
        "project_id": unit.project_id,
        "system": unit.system,
        "store_id": unit.store_id,
        "imported_ts": unit.imported_ts,
        "taken": [[one.kind.value, one.key, one.number] for one in unit.taken],
    }


def import_path(unit_id: int) -> str:
    """The same in every version of the format: older archives have none."""
    return f"{IMPORTS_FOLDER}/{block_folder(unit_id, FORMAT_VERSION)}/{unit_id}.json"


def import_file(snapshot: Snapshot) -> tuple[str, bytes]:
    """Path and content."""
    shown = {
        "id": snapshot["id"],
        "project_id": snapshot["project_id"],
        "system": snapshot["system"],
        "store_id": snapshot["store_id"],
        "imported_ts": iso(snapshot["imported_ts"]),
        "taken": [{"kind": kind, "key": key, "number": number} for kind, key, number in snapshot["taken"]],
    }
    return import_path(snapshot["id"]), document(shown)
