"""File leases of another system: what is over is history, what is live is granted only where nobody here holds it."""

from __future__ import annotations

import json
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import AgentId, LeaseId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.importing.fitted_texts import fit_text, fit_time
from mcp_agent_mail.domain.importing.records import SourceKind, SourceLease
from mcp_agent_mail.domain.leases import EndedBy, LeaseKind, NewLease
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import Pattern, parse_pattern
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.reservations import MAX_LIVE_LEASES, Patterns, RequestedPath
from mcp_agent_mail.features.importing.unit_of_work import RunningUnit
from mcp_agent_mail.features.reservations.conflicts import NeedsPrecheck, find_holders, others_leases
from mcp_agent_mail.features.reservations.parameters import SECONDS
from mcp_agent_mail.store.lease_events import end_imported, record_event
from mcp_agent_mail.store.transaction import Tx

_NOBODY = AgentId(0)


def take_lease(unit: RunningUnit, source: SourceLease) -> None:
    """Once. What stands against a live one is counted as left: it can be asked for here when that is over. One that is
    known from before ends here where it has ended there since.
    """
    counts = unit.tally.of(SourceKind.LEASE)
    known = unit.find(SourceKind.LEASE, source.key)
    if known is not None:
        counts.known += 1
        _go_on(unit, LeaseId(known), source)
        return
    project, agent = unit.project(source.project_key), unit.agent(source.agent_key)
    pattern = _pattern(source, project)
    if pattern is None:
        unit.tally.leave(SourceKind.LEASE, "its pattern is none that this server can read")
        return
    is_live = _end(source, unit.view.now)[0] is None
    if is_live and project is not None and (why := _stands_against(unit, project, agent, source, pattern)):
        unit.tally.leave(SourceKind.LEASE, why)
        return
    counts.added += 1
    if is_live and fit_time(source.expires_ts) > _expiry(source, unit.view.now, is_live=True):
        unit.tally.note(f"Leases that reach further end in {SECONDS.high // 86_400} days, as all do here.")
    if unit.tx is None:
        return
    assert agent is not None, source.key
    _add(unit, unit.tx, source, agent, pattern)


def _go_on(unit: RunningUnit, lease_id: LeaseId, source: SourceLease) -> None:
    """Not where its holder has prolonged it here, beyond what it had there: then it is this server's."""
    ended_ts, ended_by = _end(source, unit.view.now)
    lease = unit.view.leases.find(lease_id)
    if lease is None or ended_ts is None or ended_by is None or not lease.is_live(unit.view.now):
        return
    if lease.expires_ts > fit_time(source.expires_ts):
        return
    unit.tally.of(SourceKind.LEASE).changed += 1
    if unit.tx is not None:
        end_imported(unit.tx, lease, ended_ts, ended_by, _evidence(unit, ended_by))


# Plain JSON.
def _evidence(unit: RunningUnit, ended_by: EndedBy | None) -> dict[str, Any] | None:
    """What an end rests on that was not the holder's own act."""
    return {"imported": f"{unit.source.system} had judged its holder gone"} if ended_by is EndedBy.IDLE else None


def _pattern(source: SourceLease, project: Project | None) -> Pattern | None:
    root = None if project is None else project.human_key
    try:
        return parse_pattern(fit_text(source.pattern), project_root=root)
    except AgentMailError:
        return None


def _end(source: SourceLease, now: Micros) -> tuple[Micros | None, EndedBy | None]:
    """When it ended, which is not before it began, and how; None for one that is live."""
    released, expires, began = source.released_ts, fit_time(source.expires_ts), fit_time(source.created_ts)
    if released is not None:
        return max(began, fit_time(released)), EndedBy.RELEASE
    if expires <= now:
        return max(began, expires), EndedBy.EXPIRY
    return (None, None) if source.stale_ts is None else (max(began, fit_time(source.stale_ts)), EndedBy.IDLE)


def _expiry(source: SourceLease, now: Micros, *, is_live: bool) -> Micros:
    """A live one ends as one that is granted here: no other holds longer."""
    expires, longest = fit_time(source.expires_ts), Micros(now + SECONDS.high * SECOND)
    return min(expires, longest) if is_live else max(expires, fit_time(source.created_ts))


def _stands_against(
    unit: RunningUnit, project: Project, agent: Agent | None, source: SourceLease, pattern: Pattern
) -> str | None:
    holder = _NOBODY if agent is None else agent.id
    if unit.view.leases.count_of_agent(holder, LeaseKind.FILE, unit.view.now) >= MAX_LIVE_LEASES:
        return f"its agent holds {MAX_LIVE_LEASES} here already"
    if unit.view.leases.own(holder, LeaseKind.FILE, [pattern.text], unit.view.now):
        return "its agent holds the same here already"
    wanted = RequestedPath.of(source.pattern, pattern, exclusive=source.exclusive)
    try:
        others = others_leases(project.id, holder, exclusive=source.exclusive)
        found = find_holders(unit.view, others, [wanted], Patterns())
    except NeedsPrecheck:
        return "too many leases here would have to be compared with it"
    return "somebody here holds what it covers" if found.holders[0] else None


def _add(unit: RunningUnit, tx: Tx, source: SourceLease, agent: Agent, pattern: Pattern) -> None:
    tx.require_room()
    released_ts, ended_by = _end(source, tx.now)
    project = unit.require_project(agent)
    lease = tx.leases.add(
        NewLease(
            project_id=project.id,
            agent_id=agent.id,
            agent=agent.name,
            kind=LeaseKind.FILE,
            path_pattern=pattern.text,
            keys=keys_of(pattern),
            exclusive=source.exclusive,
            reason=fit_text(source.reason),
            expires_ts=_expiry(source, tx.now, is_live=ended_by is None),
            is_folder=pattern.is_folder,
            ignore_case=pattern.ignore_case,
        ),
        tx.now,
    )
    evidence = _evidence(unit, ended_by)
    tx.past_times.set_lease(
        lease.id,
        fit_time(source.created_ts),
        released_ts=released_ts,
        ended_by=ended_by,
        evidence=None if evidence is None else json.dumps(evidence),
    )
    stored = tx.leases.find(lease.id)
    assert stored is not None, lease
    record_event(tx, stored, project, acting=agent)
    unit.take(SourceKind.LEASE, [source.key], lease.id, project.id)
