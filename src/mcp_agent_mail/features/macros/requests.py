"""What callers ask of macros, parsed."""

from __future__ import annotations

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.contacts.targets import Profile
from mcp_agent_mail.features.summaries.service import DigestOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    """What an agent says of itself. Without a name it is the agent whose token came along, else a new one."""

    name: str | None
    program: str
    model: str
    task_description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    human_key: str
    newcomer: Newcomer
    paths: tuple[str, ...]
    reason: str
    ttl_seconds: int
    inbox_limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    """Without `register` the agent must be there, and is left as it is."""

    project_key: str
    thread_id: str
    newcomer: Newcomer
    register: bool
    wishes: DigestOptions
    inbox_limit: int
    include_inbox_bodies: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WelcomeMessage:
    subject: str | None
    body_md: str | None
    thread_id: str | None

    @property
    def is_wanted(self) -> bool:
        return self.subject is not None or self.body_md is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandshakeRequest:
    """`requester` and `target` may be left unsaid where one agent alone can be meant."""

    project_key: str
    requester: str | None
    target: str | None
    to_project: str | None
    register: Profile | None
    unless_near: bool
    reason: str
    ttl_s: int
    auto_accept: bool
    welcome: WelcomeMessage
