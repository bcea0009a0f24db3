"""What archives still have to be told that waits for its turn beside the outbox: aliases that change often, and what
was there before archives kept it.
"""

from __future__ import annotations

from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.store.engine.port import Connection

_NOTE = "INSERT INTO stale_aliases (project_id) VALUES (?) ON CONFLICT DO NOTHING"
_DROP = "DELETE FROM stale_aliases WHERE project_id = ?"
_PROJECTS = "SELECT project_id FROM stale_aliases ORDER BY project_id LIMIT ?"
_NOTICES = "SELECT message_id FROM unqueued_notices ORDER BY message_id LIMIT ?"
_DROP_NOTICE = "DELETE FROM unqueued_notices WHERE message_id = ?"


class Backfill:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def note_aliases(self, project_id: ProjectId) -> None:
        """The project's own file lacks an alias from now on."""
        self._connection.execute(_NOTE, (project_id,))

    def drop_aliases(self, project_id: ProjectId) -> None:
        """The project's own file has just been queued with all of them."""
        self._connection.execute(_DROP, (project_id,))

    def stale_projects(self, limit: int) -> list[ProjectId]:
        return [ProjectId(number) for (number,) in self._connection.execute(_PROJECTS, (limit,))]

    def unqueued_notices(self, limit: int) -> list[MessageId]:
        """Messages whose notice no event has told of."""
        return [MessageId(number) for (number,) in self._connection.execute(_NOTICES, (limit,))]

    def drop_notice(self, message_id: MessageId) -> None:
        self._connection.execute(_DROP_NOTICE, (message_id,))
