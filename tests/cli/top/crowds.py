"""More agents, leases and projects than a look shows, written into the database of a store that no server has."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_NUMBERS = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
_AGENTS = f"""
INSERT INTO agents (project_id, kind, name, name_key, program, model, task_description,
                    inception_ts, last_active_ts, profiled_ts)
{_NUMBERS} SELECT 1, 'agent', 'Agent' || i, 'agent' || i, 'tester', 'none', '', 1, 1, 1 FROM n
"""
_LEASES = f"""
INSERT INTO leases (project_id, agent_id, kind, path_pattern, is_folder, ignore_case, anchor, tail, exclusive, reason,
                    created_ts, expires_ts, fencing)
{_NUMBERS} SELECT 1, (SELECT id FROM agents WHERE name = 'BlueLake'), 'file', i || '.py', 0, 0, i || '.py', '', 1, '',
                  1, 9e15, 1000 + i FROM n
"""
_PROJECTS = f"""
INSERT INTO projects (slug, human_key, plain_slug, created_ts)
{_NUMBERS} SELECT 'p' || i, '/code/p' || i, 'p' || i, 1 FROM n
"""


def add_agents(database: Path, count: int) -> None:
    """To the first project, active before all others."""
    _add(database, _AGENTS, count)


def add_leases(database: Path, count: int) -> None:
    """Of BlueLake in the first project, for ever."""
    _add(database, _LEASES, count)


def add_projects(database: Path, count: int) -> None:
    """Without anything in them."""
    _add(database, _PROJECTS, count)


def _add(database: Path, sql: str, count: int) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(sql, (count,))
