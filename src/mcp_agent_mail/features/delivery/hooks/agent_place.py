"""What an agent's client has to be told when its session begins, or has lost what it knew: who it is, and where it
stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.hooks.announcements import Announcement
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.presence import PresenceOf
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.store.mail.inboxes import InboxCounts, InboxPage, MailFilter
from mcp_agent_mail.store.transaction import View

MAX_LISTED = 10
"""Of peers, of leases, and of mail that is still to be acknowledged."""

MAX_PEERS_LOOKED_AT = 200
UP_S = 3_600
"""Whoever has called within it is up; so is whoever listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlace:
    """`peers` are the names of those who are up, those who listen first. Each `*_more` is what the list has no room
    for.
    """

    peers: Sequence[str]
    peers_more: int
    leases: Sequence[Lease]
    leases_more: int
    to_acknowledge: Sequence[Announcement]
    to_acknowledge_more: int


def reprime(
    view: View, actor: Actor, counts: InboxCounts, told: Sequence[Announcement], presence_of: PresenceOf
) -> AgentPlace:
    """`told` is what the same answer tells of: what is to be acknowledged is listed without it."""
    agent = actor.agent
    up = _who_is_up(view, actor, presence_of)
    leases = view.leases.live_of_agent(agent.id, LeaseKind.FILE, view.now, MAX_LISTED)
    known = {one.id for one in told}
    page = InboxPage(limit=MAX_LISTED + len(known), keep=MailFilter.UNACKNOWLEDGED, oldest_first=True)
    asked = [entry.head.id for entry in view.inboxes.page(agent.id, page) if entry.head.id not in known][:MAX_LISTED]
    others = counts.ack_pending - sum(one.ack_required for one in told)
    return AgentPlace(
        peers=up[:MAX_LISTED],
        peers_more=max(0, len(up) - MAX_LISTED),
        leases=leases,
        leases_more=max(0, view.leases.count_of_agent(agent.id, LeaseKind.FILE, view.now) - len(leases)),
        to_acknowledge=view.announcements.mail(agent.id, asked),
        to_acknowledge_more=max(0, others - len(asked)),
    )


def _who_is_up(view: View, actor: Actor, presence_of: PresenceOf) -> list[str]:
    since = Micros(view.now - UP_S * SECOND)
    others = [one for one in view.agents.list_(actor.project.id, limit=MAX_PEERS_LOOKED_AT) if one.id != actor.agent.id]
    listening = [one.name for one in others if presence_of(one.id).is_listening]
    lately = [one.name for one in others if one.last_active_ts >= since and one.name not in listening]
    return [*listening, *lately]
