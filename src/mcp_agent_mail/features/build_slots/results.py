"""What the use cases of build slots answer."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.leases import Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRequest:
    """Which agent asks, in which project, for which slot."""

    project_key: str
    agent_name: str
    slot: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquiredSlot:
    """`granted` is None when others hold the slot: `conflicts`, longest first, a bounded number of them.

    `before` is how the agent held it before this call, which only prolonged it.
    """

    granted: Lease | None
    conflicts: list[Lease]
    before: Lease | None = None

    @property
    def already_held(self) -> bool:
        return self.before is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewedSlot:
    """When the slot expires now; None when the agent does not hold it."""

    expires_ts: Micros | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedSlot:
    """When the slot was given back; None when the agent did not hold it."""

    released_ts: Micros | None
