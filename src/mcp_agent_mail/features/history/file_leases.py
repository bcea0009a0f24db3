"""Who held leases that cover a path, now and formerly."""

from __future__ import annotations

from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.keys import PathProbe, probe_below, probe_of_path
from mcp_agent_mail.domain.patterns.pattern import Pattern, covers, overlap, parse_pattern
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.reservations import Patterns
from mcp_agent_mail.features.history.results import HeldLease
from mcp_agent_mail.store.transaction import View

MAX_STEPS = 20_000_000
"""Of comparing: some ten seconds."""
_PAGE = 500
_ABOVE_ALL = 2**62


def read_leases_of_file(view: View, project: Project, path: str, limit: int) -> list[HeldLease]:
    """The newest `limit` leases, ended ones too, that cover the path, newest first. The path is taken letter by letter;
    with a `/` at its end it means all that lies below.

    Raises UnreadablePattern for what is no path of the project, PatternsTooHard beyond the bound.
    """
    wanted = _Wanted(parse_pattern(path, project_root=project.human_key))
    patterns, work = Patterns(), WorkBudget(MAX_STEPS)
    found: list[HeldLease] = []
    before_id = _ABOVE_ALL
    while page := view.leases.past(project.id, wanted.probe, before_id=before_id, limit=_PAGE):
        for lease in page:
            if wanted.is_covered_by(patterns.of(lease), work):
                found.append(_held(view, lease))
                if len(found) == limit:
                    return found
        before_id = page[-1].id
    return found


def _held(view: View, lease: Lease) -> HeldLease:
    if not lease.is_live(view.now):
        return HeldLease(lease=lease, is_live=False)
    holder = view.agents.find(lease.agent_id)
    assert holder is not None, lease.agent_id
    return HeldLease(
        lease=lease, is_live=True, agent_ts=holder.last_active_ts, mail_ts=view.holders.last_mail_ts(holder.id)
    )


class _Wanted:
    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self._is_folder = pattern.text.endswith("/")

    @property
    def probe(self) -> PathProbe:
        if self._pattern.is_virtual or self._is_folder:
            return probe_below(self._pattern)
        return probe_of_path(self._pattern.text.strip("/"))

    def is_covered_by(self, lease: Pattern, work: WorkBudget) -> bool:
        if self._pattern.is_virtual or self._is_folder:
            return overlap(self._pattern, lease, work)
        return covers(lease, self._pattern.text.strip("/"), work)
