"""What callers ask of reservations, parsed."""

from __future__ import annotations

from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.lazy.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReserveRequest:
    project_key: str
    agent_name: str
    paths: tuple[str, ...]
    ttl_seconds: int
    exclusive: bool
    reason: str
    wait_seconds: int = 0
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSelector:
    """Which of an agent's own leases are meant: what both name when both are given, all of them when neither is."""

    project_key: str
    agent_name: str
    paths: tuple[str, ...] | None = None
    ids: tuple[LeaseId, ...] | None = None

    @property
    def is_empty_list(self) -> bool:
        """A list is given, and names nothing: all are meant, which its caller may not expect."""
        return not self.paths and not self.ids and (self.paths, self.ids) != (None, None)
