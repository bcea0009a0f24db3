"""What the sender, and the overseer, are told when an acknowledgement is overdue."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from mcp_agent_mail.core.escaping import as_code
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.messages import MAX_SUBJECT, Importance, Message, RecipientKind
from mcp_agent_mail.features.identity.system_mail import SystemNotice
from mcp_agent_mail.store.mail.overdue_acks import SilentRecipient

NAMES_SHOWN = 20
_MINUTE_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class OverdueMessage:
    """A message and who has not acknowledged it: the first of `count`."""

    message: Message
    silent: Sequence[SilentRecipient]
    count: int
    blind: int


def sender_notice(late: OverdueMessage, now: Micros) -> SystemNotice:
    """For the sender, once per message: who has not acknowledged it, NAMES_SHOWN at most, and what to do next. Whole
    minutes are counted from when it was sent.
    """
    fact = (
        f"Your message {late.message.id}, {as_code(late.message.subject)}, asks for an acknowledgement. "
        f"It was sent {_age(late, now)} ago, and these have not acknowledged it:"
    )
    next_step = "Write to them again, ask somebody else, or go on without. You are told once."
    return _notice(late, [fact, "", *_names(late), "", next_step])


def overseer_notice(late: OverdueMessage, now: Micros) -> SystemNotice:
    """For Human, with high importance, where escalation is by mail: whose message it is and who has not acknowledged
    it.
    """
    message = late.message
    fact = (
        f"{message.sender_name} asked for an acknowledgement of message {message.id}, {as_code(message.subject)}, "
        f"{_age(late, now)} ago, and these have not given it:"
    )
    return _notice(late, [fact, "", *_names(late)], importance=Importance.HIGH)


def _notice(late: OverdueMessage, body: list[str], importance: Importance = Importance.NORMAL) -> SystemNotice:
    """Blind recipients are named to no one else: a notice that names one is for its recipient's eyes alone."""
    message = late.message
    return SystemNotice(
        subject=f"Not acknowledged: {message.subject}"[:MAX_SUBJECT],
        body_md="\n".join(body),
        importance=importance,
        thread_id=message.thread_id,
        is_private=message.is_private or late.blind > 0,
    )


def _age(late: OverdueMessage, now: Micros) -> str:
    return f"{max(0, now - late.message.created_ts) // (SECOND * _MINUTE_S)} minutes"


def _names(late: OverdueMessage) -> list[str]:
    home = late.message.project_id
    lines = []
    for one in late.silent:
        name = shown_name(one.name, one.project_id, one.project_slug, home)
        blind = " (blind copy)" if one.kind is RecipientKind.BCC else ""
        lines.append(f"- {name}{blind}: {'not read' if one.read_ts is None else f'read {iso(one.read_ts)}'}")
    if late.count > len(lines):
        lines.append(f"- and {late.count - len(lines)} more")
    return lines
