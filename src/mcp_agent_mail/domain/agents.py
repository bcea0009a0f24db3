"""Agents: the identities that send and receive mail within one project."""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass

SCRATCH_PROGRAM = "am setup"
"""What the agents are registered as with which `am setup` tries clients out: nobody means one of them."""


class AgentKind(StrEnum):
    """`human` and `system` exist once in every project and are no one's to register."""

    AGENT = "agent"
    HUMAN = "human"
    SYSTEM = "system"


class ContactPolicy(StrEnum):
    OPEN = "open"
    AUTO = "auto"
    CONTACTS_ONLY = "contacts_only"
    BLOCK_ALL = "block_all"


class AttachmentsPolicy(StrEnum):
    AUTO = "auto"
    INLINE = "inline"
    FILE = "file"


class AgentStatus(StrEnum):
    READY = "ready"
    BUSY = "busy"
    DO_NOT_DISTURB = "do_not_disturb"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A stored agent. `profiled_ts` is the last change of its profile (the time its profile file shows as activity).

    `open_unread_count` is what others may know of `unread_count`: without blind copies and private mail.
    `retired_by_operator`: no call and no mail at a door brings it back.
    """

    id: AgentId
    project_id: ProjectId
    kind: AgentKind
    name: str
    program: str
    model: str
    task_description: str
    inception_ts: Micros
    last_active_ts: Micros
    profiled_ts: Micros
    contact_policy: ContactPolicy
    attachments_policy: AttachmentsPolicy
    status: AgentStatus
    status_note: str | None
    status_ts: Micros | None
    retired_ts: Micros | None
    unread_count: int
    open_unread_count: int
    retired_by_operator: bool = False

    @property
    def is_retired(self) -> bool:
        return self.retired_ts is not None

    @property
    def may_be_meant(self) -> bool:
        """Whether whoever mistakes a name may mean this one."""
        return self.kind is not AgentKind.SYSTEM and self.program != SCRATCH_PROGRAM


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgent:
    """An agent about to be stored. `token_hash` is None for `Human` and `System`, who have no token."""

    project_id: ProjectId
    kind: AgentKind
    name: str
    program: str
    model: str
    task_description: str
    attachments_policy: AttachmentsPolicy
    token_hash: bytes | None
