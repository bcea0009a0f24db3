"""Who stands against what an agent wants, and the two reads of it: a look ahead at conflicts, and the list of leases.

The decision is made in the unit of work or, for a large call, prepared before it. The store's index finds the few
leases that can overlap a path, so that one grant costs the same beside ten leases and beside ten thousand. A call for
which they are many is compared on a thread of its own first (`offload.py`); the unit then looks only at what was
granted since. Either way the answer rests on the leases as they are in the unit of work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from mcp_agent_mail.core.ids import AgentId, LeaseId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.keys import IndexProbe
from mcp_agent_mail.domain.reservations import (
    HOLDERS_SHOWN,
    PathConflict,
    Patterns,
    RequestedPath,
    WaitingCall,
    holders_of,
)
from mcp_agent_mail.store.leases import ConflictFilter
from mcp_agent_mail.store.transaction import View

MAX_STEPS = 10_000
"""Of all comparisons inside one unit: 2.5 ms."""
MAX_CANDIDATES = 200
MAX_PROBES = 4_000
MAX_WANTED = 50
MAX_HOLDERS = 1_000
"""Shown of one call, all its paths together."""


class NeedsPrecheck(Exception):  # Not an error of the caller's: the call takes the other way.
    """Comparing this call with all leases would hold up the writer: it is to be compared on a thread before its unit of
    work.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Precheck:
    """Who stood against each wanted path among the leases up to this fencing number; `is_cut` where there were more."""

    fencing: int
    against: tuple[tuple[LeaseId, ...], ...]
    is_cut: tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHolders:
    """Live holders of each wanted path, longest first; `expired` are leases met that nobody has ended yet."""

    holders: list[list[Lease]]
    expired: list[Lease]


def shown_per_path(count: int) -> int:
    """How many holders of one path an answer shows: the fewer the more paths a call has, so that no answer grows
    without bound.
    """
    return max(2, min(HOLDERS_SHOWN, MAX_HOLDERS // max(1, count)))


def others_leases(project_id: ProjectId, agent_id: AgentId, *, exclusive: bool) -> ConflictFilter:
    """Which leases can stand against what an agent wants, exclusively or shared. All paths of a call are either."""
    return ConflictFilter(project_id=project_id, kind=LeaseKind.FILE, agent_id=agent_id, with_shared=exclusive)


def find_holders(
    view: View,
    others: ConflictFilter,
    wanted: Sequence[RequestedPath],
    patterns: Patterns,
    precheck: Precheck | None = None,
) -> FoundHolders:
    """Who stands against each of the wanted paths now. Raises NeedsPrecheck when that cannot be found within the bounds
    of a unit of work.
    """
    try:
        if precheck is not None:
            return _confirm(view, others, wanted, patterns, precheck)
        return _sort_out(view, others, wanted, _candidates(view, others, wanted), patterns)
    except PatternsTooHard as too_hard:
        raise NeedsPrecheck from too_hard


def _sort_out(
    view: View,
    others: ConflictFilter,
    wanted: Sequence[RequestedPath],
    candidates: Iterable[Lease],
    patterns: Patterns,
) -> FoundHolders:
    live: list[Lease] = []
    expired: list[Lease] = []
    for lease in candidates:
        (live if lease.is_live(view.now) else expired).append(lease)
    work = WorkBudget(MAX_STEPS)
    shown = shown_per_path(len(wanted))
    holders = [list(islice(holders_of(one, others.agent_id, live, patterns, work), shown)) for one in wanted]
    return FoundHolders(holders=holders, expired=expired)


def _candidates(view: View, others: ConflictFilter, wanted: Sequence[RequestedPath]) -> list[Lease]:
    """By id; of all the wanted paths together."""
    if len(wanted) > MAX_WANTED:
        raise NeedsPrecheck
    limit = MAX_CANDIDATES + 1
    found: dict[LeaseId, Lease] = {}
    for leases in _lists(view, others, [one.probe for one in wanted], limit):
        found.update((lease.id, lease) for lease in leases)
        if len(found) > MAX_CANDIDATES:
            raise NeedsPrecheck
    return [found[lease_id] for lease_id in sorted(found)]


def _lists(view: View, others: ConflictFilter, probes: Sequence[IndexProbe], limit: int) -> Iterator[list[Lease]]:
    """One path is probed with its folders and how its names end; a pattern that stands for many, with folders alone."""
    anchors = {probe.at for probe in probes}
    above: set[str] = set()
    tails: set[str] = set()
    for probe in probes:
        if probe.tails is None:
            anchors.update(probe.above)
        else:
            above.update(probe.above)
            tails |= probe.tails
    above -= anchors
    if len(above) * len(tails) > MAX_PROBES:
        raise NeedsPrecheck
    yield view.leases.at_anchors(others, anchors, limit)
    if above:
        yield view.leases.at_keys(others, above, tails, limit)
    for folder in sorted({probe.at for probe in probes}):
        yield view.leases.below(others, folder, limit)


def _confirm(
    view: View, others: ConflictFilter, wanted: Sequence[RequestedPath], patterns: Patterns, precheck: Precheck
) -> FoundHolders:
    """What was foreseen, less what has ended since, and what was granted since."""
    newer = view.leases.granted_after(others.project_id, LeaseKind.FILE, precheck.fencing, MAX_CANDIDATES + 1)
    if len(newer) > MAX_CANDIDATES:
        raise NeedsPrecheck
    fresh = _sort_out(view, others, wanted, newer, patterns)
    ids = {lease_id for against in precheck.against for lease_id in against}
    known = [lease for lease in view.leases.find_many(ids) if lease.fencing <= precheck.fencing]
    live = {lease.id: lease for lease in known if lease.is_live(view.now)}
    holders = []
    for against, is_cut, newly in zip(precheck.against, precheck.is_cut, fresh.holders, strict=True):
        standing = [live[lease_id] for lease_id in against if lease_id in live]
        if is_cut and not standing:
            raise NeedsPrecheck
        holders.append([*standing, *newly][: shown_per_path(len(wanted))])
    expired = [lease for lease in known if lease.released_ts is None and lease.id not in live]
    return FoundHolders(holders=holders, expired=[*fresh.expired, *expired])


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictPreview:
    """What an exclusive claim would meet right now."""

    conflicts: tuple[PathConflict, ...]
    free: tuple[str, ...]


def preview_conflicts(
    wanted: Sequence[RequestedPath],
    holders: Sequence[Sequence[Lease]],
    waited_for: Mapping[int, tuple[WaitingCall, ...]],
) -> ConflictPreview:
    """Each path is in conflict (held by others, or waited for by those before) or free, in the order of `wanted`."""
    conflicts: list[PathConflict] = []
    free: list[str] = []
    for number, (one, held) in enumerate(zip(wanted, holders, strict=True)):
        waiting = waited_for.get(number, ())
        if held or waiting:
            conflicts.append(PathConflict(path=one.given, holders=tuple(held), waiting=waiting))
        else:
            free.append(one.given)
    return ConflictPreview(conflicts=tuple(conflicts), free=tuple(free))


def list_leases(view: View, project_id: ProjectId, *, active_only: bool, limit: int, after_id: int) -> list[Lease]:
    """File reservations of the project with ids above `after_id`, oldest first; live ones, or all there ever were."""
    if active_only:
        return view.leases.live(project_id, LeaseKind.FILE, view.now, after_id=after_id, limit=limit)
    return view.leases.list_(project_id, LeaseKind.FILE, after_id=after_id, limit=limit)
