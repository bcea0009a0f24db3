"""The unit of work of a reservation: who asks, who stands against it, what is granted. All of it or nothing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKind, NewLease
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.reservations import (
    MAX_LIVE_LEASES,
    PathConflict,
    PathWarning,
    Patterns,
    RequestedPath,
    TooManyLeases,
    WaitingCall,
)
from mcp_agent_mail.features.identity.actor import Actor, require_able
from mcp_agent_mail.features.reservations.conflicts import Precheck, find_holders, others_leases
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.store.lease_events import end_leases, record_event
from mcp_agent_mail.store.transaction import Tx

MAX_ENDED = 50
"""Expired leases that one unit writes down in passing; the sweeper does the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantResult:
    """What a call got, in the order it asked, and what it did not get. `before` are those of its leases that its
    agent held already, as they were.
    """

    holder: Actor
    granted: tuple[Lease, ...]
    conflicts: tuple[PathConflict, ...]
    now: Micros
    before: Mapping[LeaseId, Lease] = field(default_factory=dict)
    warnings: tuple[PathWarning, ...] = ()
    has_waited: bool = False
    """It was for all of it or nothing."""


def require_able_to_hold(holder: Actor) -> None:
    require_able(holder, "it holds nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRequest:
    """A request with its patterns read, and what else was known before the unit of work began.

    With `all_or_nothing` one conflict leaves all ungranted. `waited_for` are, by number, the wanted paths that others
    wait for and were first.
    """

    request: ReserveRequest
    wanted: Sequence[RequestedPath]
    all_or_nothing: bool = False
    waited_for: Mapping[int, tuple[WaitingCall, ...]] = field(default_factory=dict)
    precheck: Precheck | None = None
    warnings: tuple[PathWarning, ...] = ()


def decide(tx: Tx, holder: Actor, asked: GrantRequest, patterns: Patterns) -> GrantResult:
    """Grant what is free, prolong what the holder has, and name who stands against the rest. Raises NeedsPrecheck when
    the call must be compared before a unit of work.
    """
    require_able_to_hold(holder)
    now = tx.now
    others = others_leases(holder.project.id, holder.agent.id, exclusive=asked.request.exclusive)
    names = [one.pattern.text for one in asked.wanted]
    own = tx.leases.own(holder.agent.id, LeaseKind.FILE, names, now)
    found = find_holders(tx, others, asked.wanted, patterns, asked.precheck)
    if found.expired:
        end_leases(tx, found.expired[:MAX_ENDED], EndedBy.EXPIRY)
    conflicts: list[PathConflict] = []
    free: list[RequestedPath] = []
    for number, (one, holders) in enumerate(zip(asked.wanted, found.holders, strict=True)):
        # One's own lease is prolonged all the same: whoever waits for it waits for its end.
        waiting = asked.waited_for.get(number, ()) if one.pattern.text not in own else ()
        if holders or waiting:
            conflicts.append(PathConflict(path=one.given, holders=tuple(holders), waiting=waiting))
        else:
            free.append(one)
    if asked.all_or_nothing and conflicts:
        free = []
    granted = _grant(tx, holder, asked.request, free, own)
    before = {lease.id: lease for lease in own.values()}
    return GrantResult(
        holder=holder,
        granted=granted,
        conflicts=tuple(conflicts),
        now=now,
        before=before,
        warnings=asked.warnings,
        has_waited=asked.all_or_nothing,
    )


def _grant(
    tx: Tx, holder: Actor, request: ReserveRequest, free: Sequence[RequestedPath], own: dict[str, Lease]
) -> tuple[Lease, ...]:
    fresh = [one for one in free if one.pattern.text not in own]
    require_room(tx, holder.agent, len(fresh))
    if fresh:
        tx.require_room()
    until = Micros(tx.now + request.ttl_seconds * SECOND)
    added = tx.leases.add_many([_new_lease(holder, request, one, until) for one in fresh], tx.now) if fresh else []
    by_text = {lease.path_pattern: lease for lease in added}
    for one in free:
        if lease := own.get(one.pattern.text):
            by_text[one.pattern.text] = _hold_on(tx, lease, one, max(until, lease.expires_ts), request.reason)
    granted = tuple(by_text[one.pattern.text] for one in free)
    for lease in granted:
        record_event(tx, lease, holder.project, acting=holder.agent)
    return granted


def require_room(tx: Tx, agent: Agent, more: int) -> None:
    """Raise TooManyLeases when `more` live leases beside its own are too many for the agent."""
    if more and tx.leases.count_of_agent(agent.id, LeaseKind.FILE, tx.now) + more > MAX_LIVE_LEASES:
        raise TooManyLeases(
            f"{agent.name} may hold {MAX_LIVE_LEASES} reservations; {more} more are too many.",
            hint="release_file_reservations gives back what is not needed; one dir/** stands for many paths.",
            data={"limit": MAX_LIVE_LEASES, "asked": more},
        )


def _new_lease(holder: Actor, request: ReserveRequest, wanted: RequestedPath, until: Micros) -> NewLease:
    return NewLease(
        project_id=holder.project.id,
        agent_id=holder.agent.id,
        agent=holder.agent.name,
        kind=LeaseKind.FILE,
        path_pattern=wanted.pattern.text,
        keys=keys_of(wanted.pattern),
        exclusive=request.exclusive,
        reason=request.reason,
        expires_ts=until,
        is_folder=wanted.pattern.is_folder,
        ignore_case=wanted.pattern.ignore_case,
    )


def _hold_on(tx: Tx, lease: Lease, wanted: RequestedPath, until: Micros, reason: str) -> Lease:
    """The agent's own lease of this very pattern, longer. What it now reaches beyond is a grant of its own."""
    said = reason or lease.reason
    pattern = wanted.pattern
    if (lease.exclusive, lease.is_folder) == (wanted.exclusive, pattern.is_folder):
        return tx.leases.prolong(lease, until, reason=said)
    return tx.leases.regrant(
        lease,
        until,
        exclusive=wanted.exclusive,
        is_folder=pattern.is_folder,
        keys=keys_of(pattern.with_folder(pattern.is_folder)),
        reason=said,
    )
