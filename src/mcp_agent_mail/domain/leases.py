"""Leases: what an agent holds for a while. File reservations and build slots are the same primitive.

A lease is over at the instant it expires, whether or not anybody has written that down yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, LeaseId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass


class LeaseKind(StrEnum):
    FILE = "file"
    SLOT = "slot"


class EndedBy(StrEnum):
    """How a lease came to its end. IDLE: the sweeper, with evidence. FORCE: another agent, with evidence."""

    RELEASE = "release"
    EXPIRY = "expiry"
    IDLE = "idle"
    FORCE = "force"
    RETIREMENT = "retirement"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseKeys:
    """What a lease is looked up by, in small ASCII letters: see `domain/patterns/keys`. Two leases whose keys
    cannot meet never overlap; of a slot `anchor` is its name.
    """

    anchor: str
    tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLease:
    """A lease about to be granted: of files by a normalised pattern, of a build slot by its name."""

    project_id: ProjectId
    agent_id: AgentId
    agent: str
    kind: LeaseKind
    path_pattern: str
    keys: LeaseKeys
    exclusive: bool
    reason: str
    expires_ts: Micros
    is_folder: bool = False
    ignore_case: bool = False
    branch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """`fencing` rises with every grant of the store: of two holders, one after the other, the later has the higher.

    `released_ts` is when it ended, by whatever way; None while nobody has ended it, expired or not.
    `evidence` is plain JSON: what an end by IDLE or FORCE rests on. `promises` counts how often its holder was told
    that it holds it, less the answers that nobody heard: one without any is nobody's.
    """

    id: LeaseId
    project_id: ProjectId
    agent_id: AgentId
    agent: str
    kind: LeaseKind
    path_pattern: str
    is_folder: bool
    ignore_case: bool
    exclusive: bool
    reason: str
    branch: str | None
    created_ts: Micros
    expires_ts: Micros
    released_ts: Micros | None
    ended_by: EndedBy | None
    evidence: Mapping[str, Any] | None
    fencing: int
    promises: int = 1

    def is_live(self, now: Micros) -> bool:
        return self.released_ts is None and now < self.expires_ts
