"""What one who waits found at its last look: enough for others to tell whether its next one would find the same."""

from __future__ import annotations

from typing import NamedTuple

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.store.feed import AgentState


class FoundLook(NamedTuple):
    """`token_hash` is of the token that proved the caller, None without one. `cursor` is how far was looked."""

    project_id: ProjectId
    token_hash: bytes | None
    cursor: int


def last_look_of(caller: Caller, mailbox: Actor, cursor: int) -> FoundLook | None:
    """None where more than the agent and its project decides on the caller: a join code ends by the clock, too."""
    if caller.join_code is not None or caller.agent_id not in {None, mailbox.agent.id}:
        return None
    return FoundLook(mailbox.project.id, caller.token_hash, cursor)


def is_unchanged(last_look: FoundLook, state: AgentState | None) -> bool:
    """Whether its agent is there as it was, the token is the agent's, and there is nothing newer to be seen."""
    if state is None or state.is_gone or state.project_id != last_look.project_id:
        return False
    return last_look.token_hash in {None, state.token_hash} and state.newest <= last_look.cursor
