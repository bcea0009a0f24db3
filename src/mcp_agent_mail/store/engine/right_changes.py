"""Whose rights a transaction changes, as SQLite itself sees it: a token that is replaced, an agent that retires, comes
back or moves, a project that is archived or comes back.

Temporary triggers on the writing connection, as those of `mail_changes`. Nothing is made, and nothing costs, before
somebody watches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.store.engine.mail_changes import NotedChanges

_WATCH = (
    "CREATE TEMP TABLE IF NOT EXISTS right_changes (agent_id INTEGER PRIMARY KEY) STRICT",
    """
    CREATE TEMP TRIGGER IF NOT EXISTS agent_changed
    AFTER UPDATE OF token_hash, retired_ts, project_id, name_key ON main.agents
    WHEN old.token_hash IS NOT new.token_hash OR old.retired_ts IS NOT new.retired_ts
        OR old.project_id IS NOT new.project_id OR old.name_key IS NOT new.name_key BEGIN
        INSERT INTO right_changes (agent_id) VALUES (new.id) ON CONFLICT DO NOTHING;
    END
    """,
    """
    CREATE TEMP TRIGGER IF NOT EXISTS project_changed AFTER UPDATE OF archived_ts ON main.projects
    WHEN old.archived_ts IS NOT new.archived_ts BEGIN
        INSERT INTO right_changes (agent_id) SELECT id FROM agents WHERE project_id = new.id ON CONFLICT DO NOTHING;
    END
    """,
)
_TAKE = "DELETE FROM temp.right_changes RETURNING agent_id"


class RightChanges(NotedChanges[AgentId]):
    """Of agents, each given once."""

    _begin = _WATCH
    _take = _TAKE

    def _to_change(self, row: Sequence[Any]) -> AgentId:  # Any: SQLite's rows are untyped
        return AgentId(row[0])
