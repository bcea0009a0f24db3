"""Windows at rest. One row per project and window; a window that has ended makes room for itself."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId, WindowId
from mcp_agent_mail.domain.identity.names import name_key
from mcp_agent_mail.domain.identity.windows import Window
from mcp_agent_mail.store.engine.port import Connection

_COLUMNS = "id, project_id, window_uuid, display_name, created_ts, last_active_ts, expired_ts"
_FIND = f"SELECT {_COLUMNS} FROM windows WHERE project_id = ? AND window_uuid = ?"
_LIVE = f"""
    SELECT {_COLUMNS} FROM windows
    WHERE project_id = ? AND expired_ts IS NULL AND last_active_ts > ?
    ORDER BY last_active_ts DESC, id DESC LIMIT ?
"""
_NAMED = f"""
    SELECT {_COLUMNS} FROM windows
    WHERE project_id = ? AND expired_ts IS NULL AND last_active_ts > ? AND name_key = ? AND id <> ?
    ORDER BY id LIMIT 1
"""
_REMOVE = "DELETE FROM windows WHERE project_id = ? AND window_uuid = ?"
_FORGET = """
    DELETE FROM windows WHERE id IN (SELECT id FROM windows WHERE project_id = ? AND last_active_ts <= ? LIMIT ?)
"""
_ADD = f"""
    INSERT INTO windows (project_id, window_uuid, display_name, name_key, created_ts, last_active_ts)
    VALUES (?, ?, ?, ?, ?, ?) RETURNING {_COLUMNS}
"""
_RENAME = f"UPDATE windows SET display_name = ?, name_key = ? WHERE id = ? RETURNING {_COLUMNS}"
_EXPIRE = f"UPDATE windows SET expired_ts = ? WHERE id = ? RETURNING {_COLUMNS}"
_TOUCH = """
    UPDATE windows SET last_active_ts = ?
    WHERE window_uuid = ? AND last_active_ts < ? AND last_active_ts > ? AND expired_ts IS NULL
"""
_FORGOTTEN_AT_ONCE = 100

_Row = tuple[int, int, str, str, int, int, int | None]


def _window(row: _Row) -> Window:
    number, project_id, uuid, display_name, created_ts, last_active_ts, expired_ts = row
    return Window(
        id=WindowId(number),
        project_id=ProjectId(project_id),
        uuid=uuid,
        display_name=display_name,
        created_ts=Micros(created_ts),
        last_active_ts=Micros(last_active_ts),
        expired_ts=None if expired_ts is None else Micros(expired_ts),
    )


class Windows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, project_id: ProjectId, uuid: str) -> Window | None:
        """The project's window of this UUID; ended ones too, until they are forgotten."""
        row = self._connection.execute(_FIND, (project_id, uuid)).fetchone()
        return None if row is None else _window(row)

    def list_live(self, project_id: ProjectId, *, since: Micros, limit: int) -> list[Window]:
        """The windows used after `since` and not ended, last used first."""
        return [_window(row) for row in self._connection.execute(_LIVE, (project_id, since, limit))]

    def find_live_by_name(self, project_id: ProjectId, name: str, *, since: Micros, but: WindowId) -> Window | None:
        row = self._connection.execute(_NAMED, (project_id, since, name_key(name), but)).fetchone()
        return None if row is None else _window(row)

    def add(self, project_id: ProjectId, uuid: str, name: str, now: Micros) -> Window:
        """Store a new window; one of the same UUID that has ended gives its place."""
        self._connection.execute(_REMOVE, (project_id, uuid))
        row = self._connection.execute(_ADD, (project_id, uuid, name, name_key(name), now, now)).fetchone()
        return _window(row)

    def forget(self, project_id: ProjectId, until: Micros) -> None:
        """Remove some windows last used at `until` or before. One call per new window keeps the table bounded."""
        self._connection.execute(_FORGET, (project_id, until, _FORGOTTEN_AT_ONCE))

    def rename(self, window_id: WindowId, name: str) -> Window:
        return _window(self._connection.execute(_RENAME, (name, name_key(name), window_id)).fetchone())

    def expire(self, window_id: WindowId, at: Micros) -> Window:
        return _window(self._connection.execute(_EXPIRE, (at, window_id)).fetchone())

    def touch_many(self, used: Iterable[tuple[str, Micros]], ttl: Micros) -> None:
        """Note when windows were last used, in every project that knows them. No time goes backwards, and no window
        that has ended comes back.
        """
        rows = [(at, uuid, at, at - ttl) for uuid, at in used]
        self._connection.executemany(_TOUCH, rows)
