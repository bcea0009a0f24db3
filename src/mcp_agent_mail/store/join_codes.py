"""Join codes at rest: hashed, each for one name."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, JoinCodeId, ProjectId
from mcp_agent_mail.domain.identity.admission import JoinCode
from mcp_agent_mail.store.engine.port import Connection

_FORGOTTEN_AT_ONCE = 100

_SELECT = """
    SELECT c.id, c.project_id, c.created_ts, c.expires_ts, c.used_ts, a.name
    FROM join_codes c LEFT JOIN agents a ON a.id = c.agent_id
"""
_FIND = f"{_SELECT} WHERE c.code_hash = ?"
_FIND_BY_ID = f"{_SELECT} WHERE c.project_id = ? AND c.id = ?"
_LIST = f"{_SELECT} WHERE c.project_id = ? ORDER BY c.id DESC LIMIT ?"
_COUNT_OPEN = "SELECT count(*) FROM join_codes WHERE project_id = ? AND used_ts IS NULL AND expires_ts > ?"
_ADD = "INSERT INTO join_codes (project_id, code_hash, created_ts, expires_ts) VALUES (?, ?, ?, ?) RETURNING id"
_USE = "UPDATE join_codes SET used_ts = ?, agent_id = ? WHERE id = ? AND used_ts IS NULL"
_REMOVE = "DELETE FROM join_codes WHERE id = ? AND used_ts IS NULL"
_FORGET = """
    DELETE FROM join_codes WHERE id IN (
        SELECT id FROM join_codes WHERE used_ts IS NULL AND expires_ts <= ? ORDER BY expires_ts, id LIMIT ?)
"""

_Row = tuple[int, int, int, int, int | None, str | None]


def _code(row: _Row) -> JoinCode:
    number, project_id, created_ts, expires_ts, used_ts, used_by = row
    return JoinCode(
        id=JoinCodeId(number),
        project_id=ProjectId(project_id),
        created_ts=Micros(created_ts),
        expires_ts=Micros(expires_ts),
        used_ts=None if used_ts is None else Micros(used_ts),
        used_by=used_by,
    )


class JoinCodes:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, code_hash: bytes) -> JoinCode | None:
        """The code with this hash. Used ones stay for good, expired ones until they are forgotten."""
        row = self._connection.execute(_FIND, (code_hash,)).fetchone()
        return None if row is None else _code(row)

    def find_by_id(self, project_id: ProjectId, code_id: int) -> JoinCode | None:
        row = self._connection.execute(_FIND_BY_ID, (project_id, code_id)).fetchone()
        return None if row is None else _code(row)

    def list_(self, project_id: ProjectId, limit: int) -> list[JoinCode]:
        """The project's codes, newest first."""
        return [_code(row) for row in self._connection.execute(_LIST, (project_id, limit))]

    def count_open(self, project_id: ProjectId, now: Micros) -> int:
        (number,) = self._connection.execute(_COUNT_OPEN, (project_id, now)).fetchone()
        return int(number)

    def add(self, project_id: ProjectId, code_hash: bytes, now: Micros, expires_ts: Micros) -> JoinCode:
        """Store a code, and forget some that expired unused, of any project, so that they do not pile up."""
        self._connection.execute(_FORGET, (now, _FORGOTTEN_AT_ONCE))
        (number,) = self._connection.execute(_ADD, (project_id, code_hash, now, expires_ts)).fetchone()
        return _code((number, project_id, now, expires_ts, None, None))

    def use(self, code_id: JoinCodeId, agent_id: AgentId, now: Micros) -> None:
        """Note who came in with the code. Look in the same unit whether it is open."""
        used = self._connection.execute(_USE, (now, agent_id, code_id)).rowcount
        assert used == 1, code_id

    def remove(self, code_id: JoinCodeId) -> None:
        """Remove a code that nobody used."""
        self._connection.execute(_REMOVE, (code_id,))
