"""Whose rights a transaction changes, as SQLite itself sees it: a token that is replaced, an agent that retires, comes
back or moves, a project that is archived or comes back. And which contacts, leases, held copies and agents it changes,
for a person who watches: that an agent was active, or a lease was promised once more, is no news.

Temporary triggers on the writing connection, as those of `mail_changes`. Nothing is made, and nothing costs, before
somebody watches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.copy_changes import OversightChange, OversightChangeKind
from mcp_agent_mail.store.engine.sqlite.mail_changes import NotedChanges

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


_NOTE = "INSERT INTO oversight_changes (kind, number, project_id)"
_OF_CONTACT = f"""
    {_NOTE} SELECT 'contact', new.id, project_id FROM agents WHERE id = new.target_id ON CONFLICT DO NOTHING;
"""
_OF_LEASE = f"{_NOTE} VALUES ('lease', new.id, new.project_id) ON CONFLICT DO NOTHING;"
_OF_HELD = f"""
    {_NOTE} SELECT 'held', new.message_id, project_id FROM agents WHERE id = new.agent_id ON CONFLICT DO NOTHING;
"""
_OF_AGENT = f"{_NOTE} VALUES ('agent', new.id, new.project_id) ON CONFLICT DO NOTHING;"
_WATCH_OVERSIGHT = (
    """
    CREATE TEMP TABLE IF NOT EXISTS oversight_changes (
        kind TEXT NOT NULL, number INTEGER NOT NULL, project_id INTEGER NOT NULL,
        PRIMARY KEY (kind, number, project_id)
    ) STRICT, WITHOUT ROWID
    """,
    f"CREATE TEMP TRIGGER IF NOT EXISTS contact_made AFTER INSERT ON main.contacts BEGIN {_OF_CONTACT} END",
    f"CREATE TEMP TRIGGER IF NOT EXISTS contact_changed AFTER UPDATE ON main.contacts BEGIN {_OF_CONTACT} END",
    f"CREATE TEMP TRIGGER IF NOT EXISTS lease_made AFTER INSERT ON main.leases BEGIN {_OF_LEASE} END",
    f"""
    CREATE TEMP TRIGGER IF NOT EXISTS lease_changed AFTER UPDATE OF released_ts, expires_ts ON main.leases
    BEGIN {_OF_LEASE} END
    """,
    f"""
    CREATE TEMP TRIGGER IF NOT EXISTS copy_held AFTER INSERT ON main.recipients
    WHEN new.delivery_seq IS NULL BEGIN {_OF_HELD} END
    """,
    f"""
    CREATE TEMP TRIGGER IF NOT EXISTS held_copy_changed
    AFTER UPDATE OF delivery_seq, refused_ts, expired_ts, withdrawn_ts ON main.recipients
    WHEN old.delivery_seq IS NULL BEGIN {_OF_HELD} END
    """,
    f"CREATE TEMP TRIGGER IF NOT EXISTS agent_made AFTER INSERT ON main.agents BEGIN {_OF_AGENT} END",
    f"""
    CREATE TEMP TRIGGER IF NOT EXISTS agent_told AFTER UPDATE OF task_description, status, retired_ts ON main.agents
    WHEN old.task_description IS NOT new.task_description OR old.status IS NOT new.status
        OR old.retired_ts IS NOT new.retired_ts BEGIN {_OF_AGENT} END
    """,
)
_TAKE_OVERSIGHT = "DELETE FROM temp.oversight_changes RETURNING kind, number, project_id"


class OversightChanges(NotedChanges[OversightChange]):
    """Each given once."""

    _begin = _WATCH_OVERSIGHT
    _take = _TAKE_OVERSIGHT

    def _to_change(self, row: Sequence[Any]) -> OversightChange:  # Any: SQLite's rows are untyped
        kind, number, project_id = row
        return OversightChange(OversightChangeKind(kind), number, ProjectId(project_id))
