"""What archives tell of imports, in a database that is made of them."""

from __future__ import annotations

from mcp_agent_mail.domain.importing.taken_records import ImportUnit
from mcp_agent_mail.store.engine.port import Connection

_ADD_UNIT = """
INSERT INTO import_units (id, system, store_id, imported_ts) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET system = system
WHERE system = excluded.system AND store_id = excluded.store_id AND imported_ts = excluded.imported_ts
"""
_ADD = """
INSERT INTO imported (system, store_id, kind, source_key, number, project_id, unit_id) VALUES (?, ?, ?, ?, ?, ?, ?)
"""


def add_import(connection: Connection, unit: ImportUnit) -> bool:
    """What one archive tells of a unit; others may tell the rest. False where the number is another unit's."""
    values = (unit.id, unit.system, unit.store_id, unit.imported_ts)
    if connection.execute(_ADD_UNIT, values).rowcount != 1:
        return False
    connection.executemany(
        _ADD,
        [
            (unit.system, unit.store_id, one.kind.value, one.key, one.number, unit.project_id, unit.id)
            for one in unit.taken
        ],
    )
    return True
