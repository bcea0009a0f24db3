"""Mail in lists: a row for each message, with why it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.messages import Addressee, MessageHead, RecipientKind, attachments_of
from mcp_agent_mail.domain.search.query import Phrase
from mcp_agent_mail.features.oversight.service import OversightMail
from mcp_agent_mail.store.mail.all_mail import HumanMail, HumanReason

SHOWN_ADDRESSEES = 3
_REASONS = {RecipientKind.TO: "to you", RecipientKind.CC: "cc to you", RecipientKind.BCC: "blind copy to you"}
_NO_ONE: Sequence[Addressee] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MailRow:
    """A message as a row. `addressed` are the first of those it is to, `more` the number of the others.

    `is_unread` and `owes_ack` are the person's own, who is `Human`; None where it did not come to one.
    `snippet` is of what a search found, whose `phrases` are marked.
    """

    id: MessageId
    project: str
    project_name: str
    sender: str
    addressed: Sequence[str]
    more: int
    subject: str
    importance: str
    asks_ack: bool
    thread_id: str | None
    topic: str | None
    created_ts: Micros
    attachments: int
    is_system: bool
    is_unread: bool | None = None
    owes_ack: bool | None = None
    reason: str = ""
    states: Sequence[str] = ()
    snippet: str = ""
    phrases: Sequence[Phrase] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MailList:
    """`next_href` leads to older mail; None where there is none."""

    rows: Sequence[MailRow]
    next_href: str | None = None


def mail_row(
    head: MessageHead,
    addressees: Sequence[Addressee] = _NO_ONE,
    person: tuple[Micros | None, Micros | None] | None = None,
    *,
    reason: str = "",
    project_name: str = "",
) -> MailRow:
    """`person` is when the person read and acknowledged it, where it came to one. `project_name` is
    empty where the page alone knows it.
    """
    names = [shown_name(one.name, one.project_id, one.project_slug, head.project_id) for one in addressees]
    states = sorted({_state(one) for one in addressees if one.state != "delivered"})
    return MailRow(
        id=head.id,
        project=head.project_slug,
        project_name=project_name,
        sender=head.sender_name,
        addressed=names[:SHOWN_ADDRESSEES],
        more=max(0, len(names) - SHOWN_ADDRESSEES),
        subject=head.subject,
        importance=str(head.importance),
        asks_ack=bool(head.ack_required),
        thread_id=head.thread_id,
        topic=head.topic,
        created_ts=head.created_ts,
        attachments=len(attachments_of(head)),
        is_system=bool(head.is_system),
        is_unread=None if person is None else person[0] is None,
        owes_ack=None if person is None else bool(head.ack_required) and person[1] is None,
        reason=reason,
        states=states,
    )


def _state(one: Addressee) -> str:
    """What a later message replaced has left the inbox as what is withdrawn has, and is no slip of its sender."""
    return "superseded" if one.state == "withdrawn" and one.is_superseded else one.state


def reason_word(reason: HumanReason | None) -> str:
    """Why a row is there, for the person; empty where that is not known."""
    if reason is None:
        return ""
    return "answers you" if reason.is_answer else _REASONS[reason.kind]


def person_row(one: HumanMail, reason: HumanReason | None) -> MailRow:
    """Mail to `Human`, whose row says why it came."""
    return mail_row(one.head, person=(one.read_ts, one.ack_ts), reason=reason_word(reason))


def mail_rows(found: OversightMail) -> list[MailRow]:
    """Newest first, as they were found."""
    rows = [
        mail_row(
            head,
            found.addressees.get(head.id, _NO_ONE),
            found.person.get(head.id),
            reason=reason_word(found.reasons.get(head.id)),
            project_name=found.projects[head.project_id].name,
        )
        for head in found.heads
    ]
    return [replace(row, project=found.places.get(row.id, row.project)) for row in rows]
