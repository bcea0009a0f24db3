"""What the use cases of projects return."""

from __future__ import annotations

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.project_identity import Identity, WorkspaceFacts
from mcp_agent_mail.domain.projects import Alias, Project


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIdentity:
    """What a directory is and what says so. `rival` is the project that the same identity ties to, when it is another:
    a directory that was ensured on its own stays its own project until it is adopted.
    """

    project: Project
    facts: WorkspaceFacts
    identity: Identity
    uid: str
    rival: Project | None
    aliases: tuple[Alias, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProject:
    """`doubt`: whether the project, made now, is the one that was meant. `identity` where it was asked for."""

    project: Project
    doubt: str = ""
    identity: KnownIdentity | None = None
