"""Giving back and prolonging one's own reservations; whatever is passed over is named, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKind
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import parse_pattern, stored_pattern
from mcp_agent_mail.domain.reservations import MAX_LIVE_LEASES, LeaseRefusal, Patterns, RequestedPath
from mcp_agent_mail.features.identity.actor import Actor, require_actor
from mcp_agent_mail.features.projects.lookup import require_writable
from mcp_agent_mail.features.reservations.conflicts import NeedsPrecheck, find_holders, others_leases
from mcp_agent_mail.features.reservations.grant import require_able_to_hold, require_room
from mcp_agent_mail.features.reservations.lease_guidance import LeaseGuidance
from mcp_agent_mail.features.reservations.requests import LeaseSelector
from mcp_agent_mail.store.lease_events import end_leases, record_event
from mcp_agent_mail.store.transaction import Tx

RENEWABLE_S = 3_600
"""So long after its expiry a lease can still be renewed, if nobody else holds what it covers."""

MAX_AHEAD_S = 366 * 86_400
"""No renewal reaches further into the future."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedLeases:
    """What a release ended and what it passed over. `at` is when; None when nothing was released.

    `by_empty_list`: all were meant, as a list was given that names nothing.
    """

    holder: Actor
    leases: list[Lease]
    refused: list[LeaseRefusal]
    at: Micros | None
    by_empty_list: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewedLeases:
    """What a renewal did: each lease with the expiry that it had before."""

    holder: Actor
    leases: list[tuple[Lease, Micros]]
    refused: list[LeaseRefusal]
    by_empty_list: bool = False


def release(tx: Tx, caller: Caller, named: LeaseSelector) -> ReleasedLeases:
    """End those of the agent's own leases that are meant; what cannot be is named with why. A repeat is safe."""
    holder = require_actor(tx, caller, named.project_key, named.agent_name)
    require_writable(holder.project)
    now = tx.now
    own = tx.leases.of_agent(holder.agent.id, limit=2 * MAX_LIVE_LEASES)
    held = [lease for lease in own if lease.kind is LeaseKind.FILE]
    meant = _choose(tx, holder, named, held, instead="release that one by its id, and reserve the narrower path")
    ended = end_leases(tx, meant.leases, EndedBy.RELEASE, acting=holder.agent)
    released = [lease for lease in ended if lease.ended_by is EndedBy.RELEASE]
    for lease in ended:
        if lease.ended_by is not EndedBy.RELEASE:
            meant.refuse(f"it expired at {iso(lease.expires_ts)}", lease)
    at = now if released else None
    return ReleasedLeases(
        holder=holder, leases=released, refused=meant.refused, at=at, by_empty_list=named.is_empty_list
    )


def renew(tx: Tx, caller: Caller, named: LeaseSelector, extend_s: int, patterns: Patterns) -> RenewedLeases:
    """Prolong live leases by `extend_s`, grant lapsed ones anew where nobody stands against it. A repeat adds again."""
    holder = require_actor(tx, caller, named.project_key, named.agent_name)
    require_able_to_hold(holder)
    now = tx.now
    own = tx.leases.of_agent(holder.agent.id, limit=2 * MAX_LIVE_LEASES)
    live = [lease for lease in own if lease.kind is LeaseKind.FILE and lease.is_live(now)]
    held = {lease.path_pattern for lease in live}
    lapsed = [lease for lease in _lapsed(tx, holder, own) if lease.path_pattern not in held]
    meant = _choose(tx, holder, named, [*live, *lapsed], instead="renew that one by its id")
    renewed: list[tuple[Lease, Micros]] = []
    for lease in meant.leases:
        until = max(lease.expires_ts, min(max(now, lease.expires_ts) + extend_s * SECOND, now + MAX_AHEAD_S * SECOND))
        if lease.is_live(now):
            longer = tx.leases.prolong(lease, Micros(until))
            record_event(tx, longer, holder.project, acting=holder.agent)
            renewed.append((longer, lease.expires_ts))
        elif (reason := _conflict_of(tx, holder, lease, patterns)) is not None:
            meant.refuse(reason, lease)
        else:
            renewed.append((_revive(tx, holder, lease, Micros(until)), lease.expires_ts))
    return RenewedLeases(holder=holder, leases=renewed, refused=meant.refused, by_empty_list=named.is_empty_list)


def _lapsed(tx: Tx, holder: Actor, own: Sequence[Lease]) -> list[Lease]:
    """Expired not long ago, whether or not anybody has written that down: of each pattern the latest."""
    since = Micros(tx.now - RENEWABLE_S * SECOND)
    unswept = [one for one in own if one.kind is LeaseKind.FILE and since < one.expires_ts <= tx.now]
    swept = tx.leases.lapsed(holder.agent.id, LeaseKind.FILE, since, MAX_LIVE_LEASES)
    latest: dict[str, Lease] = {}
    for lease in sorted([*unswept, *swept], key=lambda lease: lease.fencing):
        latest[lease.path_pattern] = lease
    return list(latest.values())


def _conflict_of(tx: Tx, holder: Actor, lease: Lease, patterns: Patterns) -> str | None:
    wanted = RequestedPath.of(lease.path_pattern, patterns.of(lease), exclusive=lease.exclusive)
    others = others_leases(holder.project.id, holder.agent.id, exclusive=lease.exclusive)
    expired = f"it expired at {iso(lease.expires_ts)}"
    try:
        found = find_holders(tx, others, [wanted], patterns)
    except NeedsPrecheck:
        return f"{expired}, and too many reservations would have to be compared: reserve it again"
    if not found.holders[0]:
        return None
    other = found.holders[0][0]
    return f"{expired}, and {other.agent} holds {other.path_pattern} (reservation {other.id}) now"


def _revive(tx: Tx, holder: Actor, lease: Lease, until: Micros) -> Lease:
    """The same id, but a grant of its own: others may have held what it covers in between."""
    require_room(tx, holder.agent, 1)
    pattern = stored_pattern(lease.path_pattern, is_folder=lease.is_folder, ignore_case=lease.ignore_case)
    keys = keys_of(pattern)
    back = tx.leases.regrant(
        lease, until, exclusive=lease.exclusive, is_folder=lease.is_folder, keys=keys, reason=lease.reason
    )
    record_event(tx, back, holder.project, acting=holder.agent, lapsed_ts=lease.released_ts)
    return back


@dataclass(slots=True, kw_only=True)
class _Meant:
    leases: list[Lease] = field(default_factory=list)
    refused: list[LeaseRefusal] = field(default_factory=list)

    def refuse(self, reason: str, lease: Lease) -> None:
        self.refused.append(LeaseRefusal(reason=reason, lease_id=lease.id, path=lease.path_pattern))


def _choose(tx: Tx, holder: Actor, named: LeaseSelector, own: Sequence[Lease], *, instead: str) -> _Meant:
    """Of the agent's `own` those that are named; both given, both must fit. `instead` is what to do about a path that
    only a wider lease covers.
    """
    meant = _Meant()
    texts = None if not named.paths else _normal(holder, named.paths)
    if named.ids:
        by_id = {lease.id: lease for lease in own}
        for lease_id in dict.fromkeys(named.ids):
            lease = by_id.get(lease_id)
            if lease is None:
                meant.refused.append(LeaseRefusal(reason=_why_not(tx, holder, lease_id), lease_id=lease_id))
            elif texts is not None and lease.path_pattern not in texts:
                meant.refuse(f"it is of {lease.path_pattern}, which is none of the paths named", lease)
            else:
                meant.leases.append(lease)
    elif texts is not None:
        meant.leases += [lease for lease in own if lease.path_pattern in texts]
    else:
        meant.leases += own
    if texts is not None:
        meant.refused += _unheld(texts, own, tx.now, instead)
    return meant


def _normal(holder: Actor, paths: Iterable[str]) -> dict[str, str]:
    """As they are stored, each with how it was written."""
    root = holder.project.human_key
    return {parse_pattern(path, project_root=root).text: path.strip() for path in paths}


def _unheld(texts: dict[str, str], own: Sequence[Lease], now: Micros, instead: str) -> list[LeaseRefusal]:
    held = {lease.path_pattern for lease in own}
    guidance = LeaseGuidance([lease for lease in own if lease.is_live(now)], named=texts, instead=instead)
    return [
        LeaseRefusal(reason=guidance.why_unheld(text), path=path) for text, path in texts.items() if text not in held
    ]


def _why_not(tx: Tx, holder: Actor, lease_id: LeaseId) -> str:
    lease = tx.leases.find(lease_id)
    if lease is None or lease.project_id != holder.project.id or lease.kind is not LeaseKind.FILE:
        return "no reservation of this project has this id"
    if lease.agent_id != holder.agent.id:
        return f"it is held by {lease.agent}" if lease.released_ts is None else f"it was held by {lease.agent}"
    if lease.ended_by is EndedBy.EXPIRY or lease.released_ts is None:
        return f"it expired at {iso(lease.expires_ts)}"
    return f"it ended at {iso(lease.released_ts)}, by {lease.ended_by}"
