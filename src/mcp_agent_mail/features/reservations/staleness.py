"""What is known of a holder's work: gathered off the request path, laid beside a lease, judged in `domain/staleness`.

Reads never look at the disk: they show what the sweeper, or whoever forced a release, last saw there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros, iso, iso_or_none
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.ids import AgentId, LeaseId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.staleness import (
    NOT_LOOKED,
    UNKNOWN,
    Evidence,
    Judgement,
    StalenessRules,
    WorkspaceActivity,
    is_agent_idle,
    is_to_come,
    judge,
)
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.store.transaction import View
from mcp_agent_mail.workspace.facts import Workspaces

MAX_REMEMBERED = 10_000
_LOOK_WITHIN_S = 20.0
"""A search for files and commits is bounded, and takes up to half of it."""
_SILENT = WorkspaceActivity(filesystem=UNKNOWN, git=UNKNOWN, is_matched=True)
SEEN_LATELY_S = 300
_NEVER_HEARD = Micros(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A lease, what is known of work on it, and what follows."""

    lease: Lease
    evidence: Evidence
    judgement: Judgement

    @property
    def is_stale(self) -> bool:
        return self.lease.released_ts is None and self.judgement.is_stale


class Staleness:
    """What tells whether a lease was left. `look` asks the workspace and is for whoever may wait for the disk; `assess`
    goes by what was seen, and is for reads and units of work.
    """

    def __init__(
        self, activity: Activity, workspaces: Workspaces, *, rules: StalenessRules, watched_since: Micros
    ) -> None:
        self.rules = rules
        self._watched_since = self._heard_ts = watched_since
        self._activity = activity
        self._workspaces = workspaces
        self._seen: OrderedDict[LeaseId, tuple[Micros, WorkspaceActivity]] = OrderedDict()

    def watch_from(self, now: Micros) -> None:
        """Nobody could be heard until now: the machine slept, or its clock was set."""
        self._watched_since = now

    def hear(self, now: Micros) -> None:
        """Notice a clock that was set back: the latest calls would then lie in the future, so everybody is watched anew
        from `now`.
        """
        if is_to_come(self._heard_ts, now):
            self.watch_from(now)
        self._heard_ts = now

    async def look(
        self, project: Project, lease: Lease, now: Micros, *, anew: bool, within_s: float = _LOOK_WITHIN_S
    ) -> WorkspaceActivity:
        """What the workspace tells of the lease's pattern; in a thread, and remembered for the reads.

        A directory that does not answer tells nothing: its leases are not judged stale, and end when they expire.
        """
        find = partial(
            self._workspaces.activity, project.human_key, lease.path_pattern, ignore_case=lease.ignore_case, anew=anew
        )
        try:
            seen = await self._workspaces.looks.look(project.human_key, find, within_s=within_s)
        except Unavailable:
            seen = _SILENT
        self._seen.pop(lease.id, None)
        self._seen[lease.id] = (now, seen)
        while len(self._seen) > MAX_REMEMBERED:
            self._seen.popitem(last=False)
        return seen

    def is_idle(self, agent: Agent, now: Micros) -> bool:
        """Whether the agent has made no call for the time of the rules; mail and files are not asked. `Human` is never
        idle, since it makes no calls.
        """
        self.hear(now)
        newest = self.newest(agent, now)
        return agent.kind is AgentKind.AGENT and is_agent_idle(
            newest.last_active_ts, self._watched_since, self.rules, now
        )

    def newest(self, agent: Agent, now: Micros) -> Agent:
        """The agent with its latest call, also one that is not written yet. Ask after the store was read, so that no
        call between the two is missed.

        A time that a clock which was ahead has written does not hide a call that came since.
        """
        if is_to_come(agent.last_active_ts, now):
            (heard,) = self._activity.with_activity([replace(agent, last_active_ts=_NEVER_HEARD)])
            return agent if heard.last_active_ts == _NEVER_HEARD else heard
        return self._activity.with_activity([agent])[0]

    def seen_at(self, lease: Lease) -> Micros:
        """When `look` last looked; 0 is never."""
        return self._seen.get(lease.id, (Micros(0), NOT_LOOKED))[0]

    def assess(
        self, view: View, leases: Sequence[Lease], seen: dict[LeaseId, WorkspaceActivity] | None = None
    ) -> list[Assessment]:
        """Calls and mail as of now, the workspace as `seen`, else as remembered. Short; in a unit of work too."""
        now = view.now
        self.hear(now)
        holders: dict[AgentId, tuple[Agent, Micros | None]] = {}
        for agent_id in {lease.agent_id for lease in leases}:
            agent = view.agents.find(agent_id)
            assert agent is not None, agent_id
            holders[agent_id] = (self.newest(agent, now), view.holders.last_mail_ts(agent_id))
        return [self._assess_one(lease, *holders[lease.agent_id], now, seen) for lease in leases]

    def _assess_one(
        self,
        lease: Lease,
        agent: Agent,
        mail_ts: Micros | None,
        now: Micros,
        seen: dict[LeaseId, WorkspaceActivity] | None,
    ) -> Assessment:
        workspace = self._remembered(lease, now) if seen is None else seen.get(lease.id, NOT_LOOKED)
        evidence = Evidence(
            agent_ts=agent.last_active_ts, watched_since=self._watched_since, mail_ts=mail_ts, workspace=workspace
        )
        return Assessment(lease=lease, evidence=evidence, judgement=judge(evidence, self.rules, now))

    def _remembered(self, lease: Lease, now: Micros) -> WorkspaceActivity:
        """What was seen longer ago says nothing about the time since."""
        at, seen = self._seen.get(lease.id, (now, NOT_LOOKED))
        return seen if abs(now - at) <= min(self.rules.grace_s, SEEN_LATELY_S) * SECOND else NOT_LOOKED


def show_evidence(assessment: Assessment) -> dict[str, Any]:
    """The keys that a Lease carries on the wire, and that the archive keeps of an end."""
    evidence = assessment.evidence
    return {
        "stale": assessment.is_stale,
        "stale_reasons": list(assessment.judgement.reasons),
        "last_agent_activity_ts": iso(evidence.agent_ts),
        "last_mail_activity_ts": iso_or_none(evidence.mail_ts),
        "last_filesystem_activity_ts": iso_or_none(evidence.workspace.filesystem.last_ts),
        "last_git_activity_ts": iso_or_none(evidence.workspace.git.last_ts),
    }
