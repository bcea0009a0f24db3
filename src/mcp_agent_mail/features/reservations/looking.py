"""Looking at reservations without changing any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.reservations import PathConflict, Waiting, Wanted
from mcp_agent_mail.store.transaction import View


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAhead:
    """What an exclusive claim would meet right now."""

    conflicts: tuple[PathConflict, ...]
    free: tuple[str, ...]


def look_ahead(
    wanted: Sequence[Wanted], holders: Sequence[Sequence[Lease]], waited_for: Mapping[int, tuple[Waiting, ...]]
) -> LookAhead:
    conflicts: list[PathConflict] = []
    free: list[str] = []
    for number, (one, held) in enumerate(zip(wanted, holders, strict=True)):
        waiting = waited_for.get(number, ())
        if held or waiting:
            conflicts.append(PathConflict(path=one.given, holders=tuple(held), waiting=waiting))
        else:
            free.append(one.given)
    return LookAhead(conflicts=tuple(conflicts), free=tuple(free))


def list_leases(
    view: View, project_id: ProjectId, now: Micros, *, active_only: bool, limit: int, after_id: int
) -> list[Lease]:
    """Oldest first."""
    if active_only:
        return view.leases.live(project_id, LeaseKind.FILE, now, after_id=after_id, limit=limit)
    return view.leases.list_(project_id, LeaseKind.FILE, after_id=after_id, limit=limit)
