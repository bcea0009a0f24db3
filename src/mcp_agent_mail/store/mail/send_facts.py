"""What a send asks about its sender before it looks any closer: for nearly every one the answer is no to all of it."""

from __future__ import annotations

from typing import NamedTuple

from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.store.contacts import CONCERNS, ContactFlags
from mcp_agent_mail.store.engine.port import Connection

# The range of anchors holds the folder, all below it, and what is only spelt like it: who is told yes looks closer.
_FACTS = f"""
{CONCERNS},
       EXISTS (SELECT 1 FROM leases INDEXED BY leases_keys
               WHERE project_id = :project AND kind = 'file' AND released_ts IS NULL AND exclusive = 1
                 AND anchor >= :folder AND anchor < :folder || '0' AND agent_id <> :agent)
"""


class SendFacts(NamedTuple):
    """`may_be_held`: another agent may hold a part of the folder exclusively."""

    concerns: ContactFlags
    may_be_held: bool


class SendFactsReader:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of(self, sender_id: AgentId, project_id: ProjectId, folder: str) -> SendFacts:
        """Of a sender, and of a folder (in small letters, without a slash at its end) of a project: one statement."""
        asked = {"agent": sender_id, "project": project_id, "folder": folder}
        has_links, has_denied, may_be_held = self._connection.execute(_FACTS, asked).fetchone()
        return SendFacts(ContactFlags(bool(has_links), bool(has_denied)), bool(may_be_held))
