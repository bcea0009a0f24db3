"""What the archive is told of a message whose acknowledgements do not come."""

from __future__ import annotations

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.archive_format.overdue_notices import overdue_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.store.transaction import Tx


def record_overdue(tx: Tx, message_id: MessageId) -> None:
    """Queue the notice, which is noted, for the archive of the sender's project."""
    noted = tx.overdue.find_noted(message_id)
    assert noted is not None, message_id
    event = NewEvent(
        project_id=noted.project_id,
        kind=EventKind.OVERDUE,
        agent_id=None,
        message_id=message_id,
        snapshot=overdue_snapshot(noted),
    )
    tx.outbox.add(event, tx.now)
