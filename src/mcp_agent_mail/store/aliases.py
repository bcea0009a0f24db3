"""Other names of projects at rest: directories that an identity ties to one, what ties them, and names of before."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.projects import Alias, AliasKind

MAX_PATHS = 1_000
"""Of one project. Beyond, the oldest goes: its directory is tied again when it is next ensured."""

_FIND = "SELECT project_id FROM project_aliases WHERE alias = ?"
_ADD = """
    INSERT INTO project_aliases (alias, project_id, kind, created_ts) VALUES (?, ?, ?, ?) ON CONFLICT (alias) DO NOTHING
"""
_OLDEST_PATHS = """
    SELECT alias FROM project_aliases WHERE project_id = ? AND kind = 'path'
    ORDER BY created_ts DESC, alias DESC LIMIT -1 OFFSET ?
"""
_REMOVE = "DELETE FROM project_aliases WHERE alias = ?"
_LIST = """
    SELECT alias, kind FROM project_aliases WHERE project_id = ? ORDER BY kind, created_ts, alias LIMIT ?
"""
_LASTING = """
    SELECT alias, kind FROM project_aliases WHERE project_id = ? AND kind IN ('former', 'tie')
    ORDER BY kind, created_ts, alias
"""
_RETIRE = "UPDATE project_aliases SET kind = 'former' WHERE project_id = ? AND kind = 'tie'"
_UID = """
    SELECT alias FROM project_aliases WHERE project_id = ? AND kind = 'tie' AND alias GLOB 'uid:*'
    ORDER BY created_ts, alias LIMIT 1
"""


class Aliases:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find(self, alias: str) -> ProjectId | None:
        """Whose alias this is."""
        row = self._connection.execute(_FIND, (alias,)).fetchone()
        return None if row is None else ProjectId(row[0])

    def add(self, project_id: ProjectId, alias: str, kind: AliasKind, now: Micros) -> bool:
        """False when somebody has it already, this project or another."""
        added = self._connection.execute(_ADD, (alias, project_id, kind.value, now)).rowcount == 1
        if added and kind is AliasKind.PATH:
            outdated = self._connection.execute(_OLDEST_PATHS, (project_id, MAX_PATHS)).fetchall()
            self._connection.executemany(_REMOVE, outdated)
        return added

    def retire(self, project_id: ProjectId) -> None:
        """What tied directories to the project still leads there, but is not its own any more."""
        self._connection.execute(_RETIRE, (project_id,))

    def list_(self, project_id: ProjectId, limit: int) -> list[Alias]:
        return _aliases(self._connection.execute(_LIST, (project_id, limit)).fetchall())

    def lasting(self, project_id: ProjectId) -> list[Alias]:
        """Those that the archive keeps: all but the directories seen."""
        return _aliases(self._connection.execute(_LASTING, (project_id,)).fetchall())

    def uid(self, project_id: ProjectId) -> str | None:
        """The first uid that a file gave the project."""
        row = self._connection.execute(_UID, (project_id,)).fetchone()
        return None if row is None else str(row[0]).removeprefix("uid:")


def _aliases(rows: Sequence[tuple[str, str]]) -> list[Alias]:
    return [Alias(name=name, kind=AliasKind(kind)) for name, kind in rows]
