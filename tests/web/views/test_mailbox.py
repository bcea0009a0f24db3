from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.domain.messages import Importance, InboxEntry, MessageHead
from mcp_agent_mail.web.views.mailbox import inbox_rows


def test_a_row_has_the_agents_own_state() -> None:
    head = MessageHead(
        id=MessageId(1), project_id=ProjectId(1), project_slug="app", sender_name="BlueLake", thread_id=None,
        topic=None, subject="Plan", importance=Importance.NORMAL, ack_required=True, created_ts=Micros(1),
        reply_to=None, is_system=False, body_bytes=1, attachments=None, valid_until=None, supersedes=None,
    )  # fmt: skip
    entry = InboxEntry(
        head=head, kind="bcc", delivery_seq=1, delivered_ts=Micros(1), read_ts=None, ack_ts=None, expired_ts=None,
        withdrawn_ts=Micros(2), withdrawn_reason=None, superseded_by=None, newer_from_sender=0, since_ts=Micros(1),
    )  # fmt: skip

    (row,) = inbox_rows([entry])

    assert (row.is_unread, row.owes_ack, row.reason, row.states) == (True, True, "blind copy", ["withdrawn"])
