"""Which messages and copies a transaction changes, as SQLite itself sees it.

Temporary triggers on the writing connection, as those of `mail_changes`: whichever statement delivers, marks, ends or
withdraws. That a copy was handed over or shown changes nothing that anybody reads, and is not noted. Nor is what
happens to a held copy: its sender alone knows of it. Nothing is made, and nothing costs, before somebody watches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.copy_changes import CopyChange
from mcp_agent_mail.store.engine.sqlite.mail_changes import NotedChanges

_NOTE_COPY = """
    INSERT INTO copy_changes (message_id, thread_id, agent_id, project_id, is_open)
    VALUES (new.message_id, new.thread_id, new.agent_id, 0, new.kind <> 'bcc') ON CONFLICT DO NOTHING;
"""
_WATCH = (
    # Zero stands for none: a part of a key is never NULL.
    """
    CREATE TEMP TABLE IF NOT EXISTS copy_changes (
        message_id INTEGER NOT NULL, thread_id TEXT, agent_id INTEGER NOT NULL, project_id INTEGER NOT NULL,
        is_open INTEGER NOT NULL, PRIMARY KEY (message_id, agent_id, project_id)
    ) STRICT, WITHOUT ROWID
    """,
    f"""
    CREATE TEMP TRIGGER IF NOT EXISTS copy_made AFTER INSERT ON main.recipients
    WHEN new.delivery_seq IS NOT NULL BEGIN {_NOTE_COPY} END
    """,
    f"""
    CREATE TEMP TRIGGER IF NOT EXISTS copy_changed
    AFTER UPDATE OF delivery_seq, read_ts, ack_ts, expired_ts, withdrawn_ts, superseded_by ON main.recipients
    WHEN old.delivery_seq IS NOT NULL OR new.delivery_seq IS NOT NULL BEGIN {_NOTE_COPY} END
    """,
    """
    CREATE TEMP TRIGGER IF NOT EXISTS mail_came AFTER INSERT ON main.message_projects BEGIN
        INSERT INTO copy_changes (message_id, thread_id, agent_id, project_id, is_open)
        VALUES (new.message_id, new.thread_id, 0, new.project_id, 1) ON CONFLICT DO NOTHING;
    END
    """,
    """
    CREATE TEMP TRIGGER IF NOT EXISTS mail_left AFTER DELETE ON main.message_projects BEGIN
        INSERT INTO copy_changes (message_id, thread_id, agent_id, project_id, is_open)
        VALUES (old.message_id, old.thread_id, 0, old.project_id, 1) ON CONFLICT DO NOTHING;
    END
    """,
    """
    CREATE TEMP TRIGGER IF NOT EXISTS message_withdrawn AFTER UPDATE OF withdrawn_ts ON main.message_terms BEGIN
        INSERT INTO copy_changes (message_id, thread_id, agent_id, project_id, is_open)
        SELECT id, thread_id, 0, 0, 1 FROM messages WHERE id = new.message_id ON CONFLICT DO NOTHING;
    END
    """,
    """
    CREATE TEMP TRIGGER IF NOT EXISTS message_withdrawn_first AFTER INSERT ON main.message_terms
    WHEN new.withdrawn_ts IS NOT NULL BEGIN
        INSERT INTO copy_changes (message_id, thread_id, agent_id, project_id, is_open)
        SELECT id, thread_id, 0, 0, 1 FROM messages WHERE id = new.message_id ON CONFLICT DO NOTHING;
    END
    """,
)
_TAKE = "DELETE FROM temp.copy_changes RETURNING message_id, thread_id, agent_id, project_id, is_open"


class CopyChanges(NotedChanges[CopyChange]):
    """Of messages and their copies, each given once."""

    _begin = _WATCH
    _take = _TAKE

    def _to_change(self, row: Sequence[Any]) -> CopyChange:  # Any: SQLite's rows are untyped
        message_id, thread_id, agent_id, project_id, is_open = row
        return CopyChange(
            message_id=MessageId(message_id),
            thread_id=thread_id,
            agent_id=AgentId(agent_id) if agent_id else None,
            project_id=ProjectId(project_id) if project_id else None,
            is_open=bool(is_open),
        )
