"""What the server itself has to say to agents: mail from `System`, which nobody can register as or answer."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.names import SYSTEM
from mcp_agent_mail.domain.messages import Importance, Message, NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.mail.message_events import post
from mcp_agent_mail.store.transaction import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemNotice:
    """`thread_id` joins the thread that the notice is about, `reply_to` names the message. A private one is for its
    recipients' eyes alone.
    """

    subject: str
    body_md: str
    importance: Importance = Importance.NORMAL
    thread_id: str | None = None
    is_private: bool = False
    reply_to: MessageId | None = None


def post_system_mail(tx: Tx, project: Project, to: Sequence[Agent], notice: SystemNotice) -> Message:
    """Deliver `notice` to agents of `project`, past every policy. `to` is not empty and holds no retired agent."""
    sender = tx.agents.find_by_name(project.id, SYSTEM)
    assert sender is not None, f"{project.slug} has no {SYSTEM}"
    new = NewMessage(
        sender=sender,
        project=project,
        thread_id=notice.thread_id,
        topic=None,
        subject=notice.subject,
        body_md=notice.body_md,
        importance=notice.importance,
        ack_required=False,
        reply_to=notice.reply_to,
        is_system=True,
        is_private=notice.is_private,
        is_verified=True,
    )
    message, _ = post(tx, new, [NewRecipient(agent=one, project=project, kind=RecipientKind.TO) for one in to])
    return message
