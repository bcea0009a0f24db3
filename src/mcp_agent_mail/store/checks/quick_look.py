"""Is the database damaged where a look costs next to nothing? A second to say "well" would be too long."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from mcp_agent_mail.store.engine.sqlite.faults import StoreDamaged, faults_told
from mcp_agent_mail.store.engine.sqlite.schema import open_own

_WHOLE_UP_TO_BYTES = 64 * 1024 * 1024
"""What is read from its first page to its last, which takes 0.1 s. Of what is larger each table is begun."""
_PAGES = "PRAGMA quick_check(1)"
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name"


def require_undamaged(path: Path, *, whole_up_to_bytes: int = _WHOLE_UP_TO_BYTES) -> None:
    """Raise StoreDamaged where damage is seen, StoreFailed for anything else that SQLite cannot read, StoreRefused for
    what is not this program's own. Where nothing is raised, nothing is proved: `am doctor check` looks at everything.
    Beside a running server too.
    """
    with faults_told(), closing(open_own(path)) as connection:
        for (table,) in connection.execute(_TABLES).fetchall():
            connection.execute(f'SELECT * FROM "{table}" LIMIT 1').fetchall()
        if path.stat().st_size > whole_up_to_bytes:
            return
        (found,) = connection.execute(_PAGES).fetchone()
    if found != "ok":
        raise StoreDamaged(found)
