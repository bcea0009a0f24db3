"""What becomes of a grant whose answer nobody heard: it is as if the call had not been made.

The answer was given up (the call was cancelled) or could not be written (its connection broke). Meanwhile the
agent may have been told of the same lease by other calls: by a repeat with the same key, by reserving the path
again. So a lease counts its promises, and ends with the last one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKeys, LeaseKind
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import stored_pattern
from mcp_agent_mail.store.lease_events import end_leases, record_event
from mcp_agent_mail.store.transaction import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredLease:
    """One lease as a call told of it. `before` is how its holder had it before; None where the call granted it."""

    lease: Lease
    before: Lease | None = None


def take_back(tx: Tx, told: Iterable[AnsweredLease], acting: Agent) -> bool:
    """Undo leases whose answer nobody heard: each loses a promise, one without any ends, one that was only prolonged is
    as before. False when any of them is not held any more as it was told of.
    """
    now = tx.now
    stands = True
    for one in told:
        lease = tx.leases.count_off(one.lease.id)
        if not lease.is_live(now):
            stands = False
        elif lease.promises <= 0:
            end_leases(tx, [lease], EndedBy.RELEASE, acting=acting)
            stands = False
        elif one.before is not None and _may_restore(tx, lease, one.lease, one.before):
            _restore(tx, lease, one.before, acting)
            stands = False
    return stands


def _may_restore(tx: Tx, lease: Lease, told: Lease, before: Lease) -> bool:
    """Nothing has happened to it since, and nobody was granted what it reached beyond what it reaches now."""
    if lease != replace(told, promises=before.promises):
        return False
    is_wider = before.exclusive > lease.exclusive or before.is_folder > lease.is_folder
    return not (is_wider and tx.leases.granted_after(lease.project_id, lease.kind, lease.fencing, 1))


def _restore(tx: Tx, lease: Lease, before: Lease, acting: Agent) -> None:
    """It is its holder's as it was before the call."""
    if lease.fencing == before.fencing:
        back = tx.leases.shorten(lease, before)
    else:
        tx.leases.regrant(
            lease,
            before.expires_ts,
            exclusive=before.exclusive,
            is_folder=before.is_folder,
            keys=_keys_of(before),
            reason=before.reason,
        )
        back = tx.leases.count_off(lease.id)
    project = tx.projects.find(lease.project_id)
    assert project is not None, lease
    record_event(tx, back, project, acting=acting)


def _keys_of(lease: Lease) -> LeaseKeys:
    if lease.kind is LeaseKind.SLOT:
        return LeaseKeys(anchor=lease.path_pattern)
    return keys_of(stored_pattern(lease.path_pattern, is_folder=lease.is_folder, ignore_case=lease.ignore_case))
