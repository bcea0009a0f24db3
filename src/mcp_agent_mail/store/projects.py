"""Projects and their aliases at rest: the directories, former slugs and ties that lead to a project."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, ProjectId
from mcp_agent_mail.domain.projects import Alias, AliasKind, Project, StoredAlias
from mcp_agent_mail.store.engine.port import Connection

_NAMES = ("id", "slug", "human_key", "created_ts", "archived_ts")
_COLUMNS = ", ".join(_NAMES)
PROJECT_COLUMNS = ", ".join(f"p.{name}" for name in _NAMES)
"""Of `projects p`, in a statement that finds more with it."""
_BY_ID = f"SELECT {_COLUMNS} FROM projects WHERE id = ?"
_BY_SLUG = f"SELECT {_COLUMNS} FROM projects WHERE slug = ?"
_BY_HUMAN_KEY = f"SELECT {_COLUMNS} FROM projects WHERE human_key = ?"
_BY_PLAIN_SLUG = f"SELECT {_COLUMNS} FROM projects WHERE plain_slug = ? ORDER BY id LIMIT ?"
_PAGE = f"""
    SELECT {_COLUMNS} FROM projects
    WHERE id > ? AND (? OR archived_ts IS NULL)
    ORDER BY id LIMIT ?
"""
_NEWEST = f"SELECT {_COLUMNS} FROM projects WHERE id < ? AND (? OR archived_ts IS NULL) ORDER BY id DESC LIMIT ?"
_ADD = f"""
    INSERT INTO projects (slug, human_key, plain_slug, created_ts) VALUES (?, ?, ?, ?)
    RETURNING {_COLUMNS}
"""
_SET_ARCHIVED = f"UPDATE projects SET archived_ts = ? WHERE id = ? RETURNING {_COLUMNS}"

ProjectRow = tuple[ProjectId, str, str, Micros, Micros | None]


def to_project(row: ProjectRow) -> Project:
    """From a row of `PROJECT_COLUMNS`."""
    number, slug, human_key, created_ts, archived_ts = row
    return Project(id=number, slug=slug, human_key=human_key, created_ts=created_ts, archived_ts=archived_ts)


class Projects:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _find(self, sql: str, key: str | int) -> Project | None:
        row = self._connection.execute(sql, (key,)).fetchone()
        return None if row is None else to_project(row)

    def find(self, project_id: ProjectId) -> Project | None:
        return self._find(_BY_ID, project_id)

    def find_by_slug(self, slug: str) -> Project | None:
        return self._find(_BY_SLUG, slug)

    def find_by_human_key(self, human_key: str) -> Project | None:
        """`human_key` as `domain.projects.canonical_path` writes it."""
        return self._find(_BY_HUMAN_KEY, human_key)

    def find_by_plain_slug(self, plain_slug: str, limit: int = 10) -> list[Project]:
        """Oldest first. More than one: the plain slug is no key any more."""
        return [to_project(row) for row in self._connection.execute(_BY_PLAIN_SLUG, (plain_slug, limit))]

    def list_(self, *, include_archived: bool = False, limit: int, after_id: int = 0) -> list[Project]:
        """The projects with ids above `after_id`, oldest first."""
        rows = self._connection.execute(_PAGE, (after_id, include_archived, limit))
        return [to_project(row) for row in rows]

    def newest(self, limit: int, *, before: ProjectId | None = None, include_archived: bool = False) -> list[Project]:
        """The projects created last, with ids below `before`, newest first: candidates for "did you mean"."""
        rows = self._connection.execute(_NEWEST, (before or MOST_NUMBER, include_archived, limit))
        return [to_project(row) for row in rows]

    def add(self, *, slug: str, human_key: str, plain_slug: str, now: Micros) -> Project:
        """Store a new project. Look for the human key first, in the same unit: a second one of it is an
        IntegrityError.
        """
        row = self._connection.execute(_ADD, (slug, human_key, plain_slug, now)).fetchone()
        return to_project(row)

    def set_archived(self, project_id: ProjectId, at: Micros | None) -> Project:
        """Archive the project at `at`, or bring it back with None."""
        return to_project(self._connection.execute(_SET_ARCHIVED, (at, project_id)).fetchone())


MAX_PATHS = 1_000
"""Of one project. Beyond, the oldest goes: its directory is tied again when it is next ensured."""

_FIND = "SELECT project_id FROM project_aliases WHERE alias = ?"
_ADD_ALIAS = """
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
_ARCHIVED = """
    SELECT alias, kind, created_ts FROM project_aliases WHERE project_id = ? ORDER BY kind, created_ts, alias
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
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, alias: str) -> ProjectId | None:
        """The project that the alias leads to."""
        row = self._connection.execute(_FIND, (alias,)).fetchone()
        return None if row is None else ProjectId(row[0])

    def add(self, project_id: ProjectId, alias: str, kind: AliasKind, now: Micros) -> bool:
        """Store the alias; False when somebody has it already, this project or another."""
        added = self._connection.execute(_ADD_ALIAS, (alias, project_id, kind.value, now)).rowcount == 1
        if added and kind is AliasKind.PATH:
            outdated = self._connection.execute(_OLDEST_PATHS, (project_id, MAX_PATHS)).fetchall()
            self._connection.executemany(_REMOVE, outdated)
        return added

    def retire(self, project_id: ProjectId) -> None:
        """Keep the project's uids and other ties as aliases that lead to it, but not as its own: it has become
        part of another.
        """
        self._connection.execute(_RETIRE, (project_id,))

    def list_(self, project_id: ProjectId, limit: int) -> list[Alias]:
        return _aliases(self._connection.execute(_LIST, (project_id, limit)).fetchall())

    def lasting(self, project_id: ProjectId) -> list[Alias]:
        """All but directories that were merely seen."""
        return _aliases(self._connection.execute(_LASTING, (project_id,)).fetchall())

    def archived(self, project_id: ProjectId) -> list[StoredAlias]:
        """All of them, as the project's own file has them."""
        return [
            StoredAlias(name=name, kind=AliasKind(kind), created_ts=Micros(created_ts))
            for name, kind, created_ts in self._connection.execute(_ARCHIVED, (project_id,))
        ]

    def uid(self, project_id: ProjectId) -> str | None:
        """The first uid that a file gave the project; None without one."""
        row = self._connection.execute(_UID, (project_id,)).fetchone()
        return None if row is None else str(row[0]).removeprefix("uid:")


def _aliases(rows: Sequence[tuple[str, str]]) -> list[Alias]:
    return [Alias(name=name, kind=AliasKind(kind)) for name, kind in rows]
