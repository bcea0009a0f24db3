"""What lies beside a database at the named instants of whoever writes there."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.store.engine.sqlite.database_files import is_of_database


class NamesBeside:
    """A fault hook that notes names."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self.seen: set[str] = set()

    def __call__(self, _point: FailPoint | None = None) -> None:
        self.seen |= {path.name for path in self._database.parent.iterdir()}

    def strangers(self) -> list[str]:
        """What nobody would know as the database's, up to now."""
        self()
        return [name for name in self.seen if not is_of_database(name, self._database.name)]
