"""A store that is made, filled and migrated: what the recorded process does, and what must be left of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.engine.sqlite.connection import add_functions, open_writing
from mcp_agent_mail.store.engine.sqlite.migrate import Migration, shipped_migrations
from mcp_agent_mail.store.engine.sqlite.migrate import migrate as bring_up_to_date

PROJECTS = 500
_NEXT = len(shipped_migrations()) + 1
_SQL = """
CREATE TABLE added (id INTEGER PRIMARY KEY, slug TEXT NOT NULL);
INSERT INTO added SELECT id, slug FROM projects;
UPDATE projects SET plain_slug = slug;
"""


def make(path: Path) -> None:
    bring_up_to_date(path, fault_hook=no_fault)


def fill(path: Path) -> None:
    rows = [(f"slug-{number}" * 8, f"/key/{number}", f"plain-{number}", number) for number in range(PROJECTS)]
    with closing(open_writing(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT INTO projects (slug, human_key, plain_slug, created_ts) VALUES (?, ?, ?, ?)", rows
        )
        connection.execute("COMMIT")


def bring_to_next_schema(path: Path) -> None:
    bring_up_to_date(path, fault_hook=no_fault, migrations=[*shipped_migrations(), Migration(version=_NEXT, sql=_SQL)])


def faults_of_migrated(path: Path, done: set[str]) -> list[str]:
    """What is wrong after the next start, which goes on where the last one was stopped."""
    copies = sorted(path.parent.glob(f"{path.name}.before-[0-9][0-9][0-9][0-9]")) if path.exists() else []
    bring_to_next_schema(path)
    faults = [f"{file.name}: {fault}" for file in (path, *copies) if (fault := _damage(file)) != "ok"]
    wanted = PROJECTS if fill.__name__ in done else 0
    for file in (path, *copies):
        found = _count(file, "projects")
        if found not in {wanted, PROJECTS if file == path else wanted}:
            faults.append(f"{file.name}: {found} projects instead of {wanted}")
    if _count(path, "added") != _count(path, "projects"):
        faults.append("the migration was made in part")
    return faults


def _damage(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        add_functions(connection)
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def _count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        add_functions(connection)
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
