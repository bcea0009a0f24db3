"""An agent's profile as its archive has it: with the names that doors know it by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.layout import Snapshot, profile_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.store.agents import Agents
from mcp_agent_mail.store.doors.wire_names import WireNames

if TYPE_CHECKING:
    # The archiver renders profiles, and needs nothing else that writes.
    from mcp_agent_mail.store.transaction import Tx


def profile_of(agents: Agents, wire_names: WireNames, agent: Agent) -> Snapshot:
    """The agent as it is now."""
    aliases = wire_names.of_agent(agent.id)
    return profile_snapshot(agent, aliases, is_claimed=not aliases or agents.has_token(agent.id))


def record_profile(tx: Tx, agent: Agent, by: AgentId | None) -> None:
    """Queue it for the archive of the agent's project. `by` is who changed it, None for the server."""
    tx.outbox.add(
        NewEvent(
            project_id=agent.project_id,
            kind=EventKind.PROFILE,
            agent_id=by,
            message_id=None,
            snapshot=profile_of(tx.agents, tx.wire_names, agent),
        ),
        tx.now,
    )
