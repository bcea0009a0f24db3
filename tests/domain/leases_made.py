"""Leases for tests of what is decided about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, LeaseId, ProjectId
from mcp_agent_mail.domain.leases import Lease, LeaseKind

AT = Micros(1_800_000_000_000_000)
MYSELF, ANOTHER = AgentId(1), AgentId(2)

_LEASE = Lease(
    id=LeaseId(1_007),
    project_id=ProjectId(1),
    agent_id=ANOTHER,
    agent="RedStone",
    kind=LeaseKind.FILE,
    path_pattern="src/**",
    is_folder=False,
    ignore_case=False,
    exclusive=True,
    reason="why",
    branch=None,
    created_ts=AT,
    expires_ts=Micros(AT + 1),
    released_ts=None,
    ended_by=None,
    evidence=None,
    fencing=3,
)


def make_lease(text: str = "src/**", **more: Any) -> Lease:
    """RedStone's, exclusive and live at AT unless said otherwise."""
    return replace(_LEASE, path_pattern=text, **more)
