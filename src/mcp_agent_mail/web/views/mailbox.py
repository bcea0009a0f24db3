"""What one agent has and sent, as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.attachments import Attachment
from mcp_agent_mail.domain.messages import Addressee, InboxEntry, MessageHead, RecipientKind
from mcp_agent_mail.web.views.mail import MailRow, mail_row
from mcp_agent_mail.web.views.message import AttachmentView, attachment_view


def inbox_rows(entries: Sequence[InboxEntry]) -> list[MailRow]:
    """With the agent's own state of reading: it is its inbox, not the person's."""
    return [
        replace(
            mail_row(one.head, person=(one.read_ts, one.ack_ts), reason="blind copy" if one.kind == "bcc" else ""),
            states=_states(one),
        )
        for one in entries
    ]


def _states(entry: InboxEntry) -> list[str]:
    left = "superseded" if entry.superseded_by is not None else "withdrawn"
    told = ((entry.expired_ts, "expired"), (entry.withdrawn_ts, left), (entry.ack_ts, "acknowledged"))
    return [word for ts, word in told if ts is not None]


def outbox_rows(
    heads: Sequence[MessageHead], addressees: Mapping[MessageId, Sequence[Addressee]], *, with_blind: bool
) -> list[MailRow]:
    """Blind and held copies are told of to those alone who may know of them."""
    return [
        mail_row(
            head,
            [
                one
                for one in addressees.get(head.id, ())
                if with_blind or (one.kind != RecipientKind.BCC and one.state == "delivered")
            ],
        )
        for head in heads
    ]


def carried_rows(slug: str, attachments: Sequence[Attachment]) -> list[AttachmentView]:
    """Under this project's address, as its readers see them."""
    return [attachment_view(slug, one) for one in attachments]
