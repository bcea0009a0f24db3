"""The guard's decision: what becomes of a commit of paths that other agents hold (`domain.guard.matching` finds them).

Pure, so that the server (from its live leases) and the hook (from the snapshot on disk, while no
server answers) decide alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass


class GuardOutcome(StrEnum):
    """What the guard did; all but PASSED are recorded. FAILED: it could not find out who
    holds what, or passed with settings that it could not use.
    """

    PASSED = "passed"
    REFUSED = "refused"
    WARNED = "warned"
    BYPASSED = "bypassed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedLease:
    """A live lease, as far as the guard must know it."""

    id: int
    agent: str
    path_pattern: str
    is_folder: bool
    ignore_case: bool
    exclusive: bool
    reason: str
    expires_ts: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPath:
    """A path that another agent holds exclusively. `is_own_too`: the committer's own live lease covers it as well."""

    path: str
    holding: GuardedLease
    is_own_too: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRules:
    """How strict the committer's settings are. `is_blocking` is False in the mode `warn`."""

    is_blocking: bool
    is_bypassed: bool
    requires_name: bool


def same_agent(one: str | None, other: str) -> bool:
    """Whether both are one agent's name; letter case does not count."""
    return one is not None and one.lower() == other.lower()


def decide(held: Sequence[HeldPath], agent: str | None, rules: GuardRules) -> GuardOutcome:
    """What becomes of a commit by `agent` (None: a person) of paths of which these are held by others.

    A person is told, not stopped. A path that the committer holds too is a warning.
    """
    if rules.is_bypassed:
        return GuardOutcome.BYPASSED
    if agent is None and rules.requires_name:
        return GuardOutcome.REFUSED
    if not held:
        return GuardOutcome.PASSED
    is_refusable = agent is not None and any(not path.is_own_too for path in held)
    return GuardOutcome.REFUSED if is_refusable and rules.is_blocking else GuardOutcome.WARNED
