"""File reservations: what an agent asks for, and which live leases of others stand against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mcp_agent_mail.core.errors import InvalidInput, QuotaExceeded
from mcp_agent_mail.core.ids import AgentId, LeaseId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.keys import IndexProbe, probe_of
from mcp_agent_mail.domain.patterns.pattern import Pattern, overlap, stored_pattern

MAX_LIVE_LEASES = 1_000
"""Of one agent, of each kind."""

HOLDERS_SHOWN = 20
"""Of one path in conflict: the ones that have held it longest."""

CHARS_REMEMBERED = 500_000
"""Of patterns that were read: 15,000 ordinary ones, in about 15 MB."""


class TooManyLeases(QuotaExceeded):
    """An agent holds as many leases as one may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedPath:
    """One path asked for: as it was written, and what it means. `exclusive` is of the whole call."""

    given: str
    pattern: Pattern
    probe: IndexProbe
    exclusive: bool

    @classmethod
    def of(cls, given: str, pattern: Pattern, *, exclusive: bool) -> RequestedPath:
        return cls(given=given, pattern=pattern, probe=probe_of(pattern), exclusive=exclusive)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathWarning:
    """Why a path, as it was written, may not protect what its agent means; `did_you_mean` is what may be meant."""

    path: str
    reason: str
    did_you_mean: tuple[str, ...] = ()


class JoinedPaths(InvalidInput):
    """One text lists several paths, and no file of that name is there."""


class Patterns:
    """The patterns of stored leases, read once: reading one costs more than most comparisons of it."""

    def __init__(self) -> None:
        self._chars = 0
        self._read: dict[tuple[str, bool, bool], Pattern] = {}

    def of(self, lease: Lease) -> Pattern:
        """The pattern of a stored lease. All that are remembered are forgotten when they have CHARS_REMEMBERED
        characters.
        """
        key = (lease.path_pattern, lease.is_folder, lease.ignore_case)
        pattern = self._read.get(key)
        if pattern is None:
            if self._chars >= CHARS_REMEMBERED:
                self._read.clear()
                self._chars = 0
            self._chars += len(lease.path_pattern)
            pattern = stored_pattern(lease.path_pattern, is_folder=lease.is_folder, ignore_case=lease.ignore_case)
            self._read[key] = pattern
        return pattern


def conflicts_with(lease: Lease, agent_id: AgentId, *, exclusive: bool) -> bool:
    """Whether the lease would keep this agent from what it overlaps: never its own, and of shared ones only for an
    exclusive wish.
    """
    return lease.agent_id != agent_id and (exclusive or lease.exclusive)


def holders_of(
    wanted: RequestedPath, agent_id: AgentId, candidates: Iterable[Lease], patterns: Patterns, work: WorkBudget
) -> Iterator[Lease]:
    """Those of `candidates` that overlap what `agent_id` wants and stand against it. Spends `work`."""
    for lease in candidates:
        if conflicts_with(lease, agent_id, exclusive=wanted.exclusive) and overlap(
            wanted.pattern, patterns.of(lease), work
        ):
            yield lease


def conflicts_among(leases: Sequence[Lease], patterns: Patterns, work: WorkBudget) -> Iterator[tuple[Lease, Lease]]:
    """The pairs of different agents' leases that overlap though one is exclusive. No grant makes such a pair; a project
    that was adopted, or an import, may bring one. Spends `work`.
    """
    for place, lease in enumerate(leases):
        for other in leases[place + 1 :]:
            if conflicts_with(other, lease.agent_id, exclusive=lease.exclusive) and overlap(
                patterns.of(lease), patterns.of(other), work
            ):
                yield lease, other


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCall:
    """Who waits for a path, and was there first."""

    agent: str
    path_pattern: str
    exclusive: bool
    reason: str
    until_ts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PathConflict:
    """A path that is not granted, and who holds what it overlaps, longest first; else who waits for it."""

    path: str
    holders: tuple[Lease, ...]
    waiting: tuple[WaitingCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRefusal:
    """A lease or path that a release or a renewal passed over, and why."""

    reason: str
    lease_id: LeaseId | None = None
    path: str | None = None
