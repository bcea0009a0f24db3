"""Who is left out because their inbox is full, or held by another agent's lease.

How much unread mail an inbox may hold is counted for open mail, and for each sender's blind copies; off unless there
is a limit. The counter that is asked for is kept in the unit of work that delivers, so no burst slips past it. What a
recipient lets in itself (held mail that it approves), what asks for its consent, and mail from `System` always arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_agent_mail.core.errors import QuotaExceeded, listed
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.messages import NewRecipient, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.messaging.recipients import Skipped
from mcp_agent_mail.features.reservations.inbox_leases import MAIL_FOLDER, inbox_leased, leased_inboxes
from mcp_agent_mail.store.mail.send_facts import SendFacts
from mcp_agent_mail.store.transaction import View

_NAMED = 10


class InboxFull(QuotaExceeded):
    """A recipient has QUOTA_INBOX_LIMIT_COUNT unread messages."""


def require_inbox_room(view: View, sender: Actor, chosen: Sequence[NewRecipient], limit: int) -> None:
    """All or nothing: raises InboxFull when one of those who would get the mail now has no room. 0 is no limit."""
    full = [one for one in chosen if _is_full(view, sender, one, limit)]
    if full:
        names = [_shown(one, sender.project) for one in full]
        raise InboxFull(
            f"{listed(names[:_NAMED], 'and')} {'has' if len(names) == 1 else 'have'} {limit} or more unread messages; "
            "nothing was sent.",
            hint="Wait until they have read some, or leave them out.",
            data={"full": names, "limit": limit},
        )


def skip_full(view: View, sender: Actor, chosen: dict[AgentId, NewRecipient], limit: int) -> list[Skipped]:
    """Take those out of `chosen` whose inbox has no room, for a broadcast; they are given as skipped. `limit` 0 is no
    limit.
    """
    full = [agent_id for agent_id, one in chosen.items() if _is_full(view, sender, one, limit)]
    return [_skipped(_shown(chosen.pop(agent_id), sender.project), limit) for agent_id in full]


def _is_full(view: View, sender: Actor, one: NewRecipient, limit: int) -> bool:
    """Blind copies are counted apart, and of each sender: a full inbox tells nobody of those of others."""
    if limit <= 0 or one.held_code is not None:
        return False
    unread = one.agent.open_unread_count
    if unread >= limit and unread - view.unread.passed(one.agent.id).open >= limit:
        return True
    return one.kind is RecipientKind.BCC and view.unread.blind_from(sender.agent.id, one.agent.id, limit) >= limit


def _shown(one: NewRecipient, home: Project) -> str:
    return shown_name(one.agent.name, one.project.id, one.project.slug, home.id)


def _skipped(name: str, limit: int) -> Skipped:
    return Skipped(agent=name, code=InboxFull.code, reason=f"{name} has {limit} or more unread messages")


def send_facts(view: View, sender: Actor) -> SendFacts:
    """Of the sender, and of the inboxes of its project."""
    return view.send_facts.of(sender.agent.id, sender.project.id, MAIL_FOLDER.rstrip("/"))


def require_open_inboxes(view: View, sender: Actor, facts: SendFacts, chosen: Sequence[NewRecipient]) -> None:
    """Raise InboxLeased for the first of `chosen` whose inbox another agent holds."""
    leased = _leased(view, sender, facts, chosen)
    for one in chosen:
        if one.agent.id in leased:
            raise inbox_leased(one.agent.name, leased[one.agent.id])


def _leased(view: View, sender: Actor, facts: SendFacts, chosen: Iterable[NewRecipient]) -> dict[AgentId, Lease]:
    all_open = None if facts.may_be_held else sender.project.id
    return leased_inboxes(view, sender.agent, [one.agent for one in chosen], all_open)


def skip_leased(view: View, sender: Actor, facts: SendFacts, chosen: dict[AgentId, NewRecipient]) -> list[Skipped]:
    """Take those out of `chosen` whose inbox another agent holds, for a broadcast; they are given as skipped."""
    skipped = []
    for agent_id, lease in _leased(view, sender, facts, chosen.values()).items():
        name = chosen.pop(agent_id).agent.name
        error = inbox_leased(name, lease)
        skipped.append(Skipped(agent=name, code=error.code, reason=error.message))
    return skipped
