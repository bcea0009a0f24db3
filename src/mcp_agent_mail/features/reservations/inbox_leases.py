"""Inboxes that are leased: only a reservation that literally begins with `.mcp-mail/` can stop mail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import FileReservationConflict
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.pattern import covers, stored_pattern
from mcp_agent_mail.store.transaction import View

MAIL_FOLDER = ".mcp-mail/"
_MOST = 100
_MAX_STEPS = 20_000


class InboxLeased(FileReservationConflict):
    """Another agent holds the recipient's inbox for itself."""


def leased_inboxes(
    view: View, sender: Agent, recipients: Sequence[Agent], all_open: ProjectId | None = None
) -> dict[AgentId, Lease]:
    """Whose inbox another agent than the sender holds exclusively. `all_open`: a project where it is known that nobody
    does.
    """
    found: dict[AgentId, Lease] = {}
    for project_id in {agent.project_id: None for agent in recipients if agent.project_id != all_open}:
        leases = _of_mail(view, project_id, sender)
        if leases:
            here = [agent for agent in recipients if agent.project_id == project_id]
            found.update(_covered(here, leases))
    return found


def inbox_leased(recipient: str, lease: Lease) -> InboxLeased:
    """The refusal that says who holds the recipient's inbox, until when and why."""
    return InboxLeased(
        f"{lease.agent} holds {lease.path_pattern}, and with it the inbox of {recipient}, "
        f"until {iso(lease.expires_ts)}: {lease.reason or 'no reason given'}.",
        hint=f"Write to {lease.agent}, or wait until it is released.",
        data={
            "recipient": recipient,
            "holders": [
                {"agent": lease.agent, "reservation_id": lease.id, "path_pattern": lease.path_pattern},
            ],
        },
    )


def _of_mail(view: View, project_id: ProjectId, sender: Agent) -> list[Lease]:
    leases = view.leases.of_folder(project_id, sender.id, MAIL_FOLDER.rstrip("/"), _MOST)
    return [lease for lease in leases if lease.is_live(view.now) and lease.path_pattern.startswith(MAIL_FOLDER)]


def _covered(agents: Iterable[Agent], leases: Sequence[Lease]) -> Iterable[tuple[AgentId, Lease]]:
    """Patterns too hard to compare within the bound stop no mail."""
    work = WorkBudget(_MAX_STEPS)
    patterns = [stored_pattern(lease.path_pattern, ignore_case=lease.ignore_case) for lease in leases]
    try:
        for agent in agents:
            path = f"{MAIL_FOLDER}agents/{agent.name}/inbox/message.md"
            for lease, pattern in zip(leases, patterns, strict=True):
                if covers(pattern, path, work):
                    yield agent.id, lease
                    break
    except PatternsTooHard:
        return
