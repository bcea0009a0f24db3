"""File reservations: a row for each with what is known of its holder's work, and the folders that they lie in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.names import HUMAN
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.staleness import Sighting, StalenessRules, stale_from
from mcp_agent_mail.features.reservations.staleness import Assessment
from mcp_agent_mail.web.refusals import in_time

MOST_DEPTH = 12
"""Folders below that are shown as one."""

_OF_WORK = {
    "agent_recently_active": "Its holder called lately.",
    "mail_activity_recent": "Its holder sent or read mail lately.",
    "filesystem_activity_recent": "Files under it were written lately.",
    "git_activity_recent": "Files under it were committed lately.",
}
"""What speaks against a release, for people. A judgement has a word for each."""
_OF_IDLENESS = {
    "agent_inactive": "Its holder made no call for {time}.",
    "no_recent_mail_activity": "Its holder neither sent nor read mail for {time}.",
    "no_recent_filesystem_activity": "No file under it was written for {time}.",
    "no_recent_git_activity": "No file under it was committed for {time}.",
    "path_pattern_unmatched": "No file fits its path, so files and commits tell nothing.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRow:
    """What was last seen of one kind of work: None for never. `is_known` is False where the look did not come
    to its end, or nobody has looked lately.
    """

    label: str
    last_ts: Micros | None
    is_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseView:
    """`state` is `live`, `expired` or how it ended. `is_abandoned`: the evidence says that its holder left it.

    `against` are the numbers of leases that overlap it though one of the two is exclusive.
    """

    id: LeaseId
    agent: str
    path_pattern: str
    exclusive: bool
    reason: str
    branch: str
    created_ts: Micros
    expires_ts: Micros
    ended_ts: Micros | None
    state: str
    is_abandoned: bool
    reasons: Sequence[str]
    evidence: Sequence[EvidenceRow]
    fencing: int
    against: Sequence[LeaseId] = ()

    @property
    def is_live(self) -> bool:
        return self.state == "live"

    @property
    def is_in_use(self) -> bool:
        """Whether a release is refused while this is so. What nobody could find out yet says neither; a person who
        holds files is never idle.
        """
        return self.agent == HUMAN or any(one in _OF_WORK for one in self.reasons)

    @property
    def told(self) -> Sequence[str]:
        """The reasons as sentences: first what tells of work."""
        found = sorted(self.reasons, key=lambda one: one not in _OF_WORK)
        return ([_PERSON] if self.agent == HUMAN else []) + [_told(one) for one in found]


_PERSON = "A person holds it, who makes no calls and is never taken for gone."


def _told(reason: str) -> str:
    word, _, after = reason.partition(">")
    known = _OF_WORK.get(word) or _OF_IDLENESS[word]
    return known.format(time=in_time(int(after.removesuffix("s")))) if after else known


def releasable_from(one: Assessment, rules: StalenessRules, now: Micros) -> Micros:
    """From when its release is no longer refused if nothing happens until then: its end at the latest."""
    idle_ts = None if one.lease.agent == HUMAN else stale_from(one.evidence, rules, now)
    return one.lease.expires_ts if idle_ts is None else min(idle_ts, one.lease.expires_ts)


def lease_view(one: Assessment, now: Micros, against: Collection[LeaseId] = ()) -> LeaseView:
    """As it is at `now`: what nobody has ended yet may have expired."""
    lease, evidence = one.lease, one.evidence
    return LeaseView(
        id=lease.id,
        agent=lease.agent,
        path_pattern=lease.path_pattern,
        exclusive=lease.exclusive,
        reason=lease.reason,
        branch=lease.branch or "",
        created_ts=lease.created_ts,
        expires_ts=lease.expires_ts,
        ended_ts=lease.released_ts,
        state=lease_state(lease, now),
        is_abandoned=one.is_stale and lease.is_live(now),
        reasons=one.judgement.reasons,
        evidence=[
            EvidenceRow(label="last call", last_ts=evidence.agent_ts),
            EvidenceRow(label="last mail", last_ts=evidence.mail_ts),
            _sighted("last write to its files", evidence.workspace.filesystem),
            _sighted("last commit of its files", evidence.workspace.git),
        ],
        fencing=lease.fencing,
        against=sorted(against),
    )


def lease_state(lease: Lease, now: Micros) -> str:
    """`live`, `expired` or, once it was ended, how."""
    if lease.is_live(now):
        return "live"
    return "expired" if lease.ended_by is None else str(lease.ended_by)


def _sighted(label: str, sighting: Sighting) -> EvidenceRow:
    return EvidenceRow(label=label, last_ts=sighting.last_ts, is_known=sighting.is_known)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathNode:
    """A folder, or the last part of a pattern: `leases` are those of exactly this path. A folder that has one folder
    alone is shown with it in one line.
    """

    label: str
    leases: Sequence[LeaseView]
    nodes: Sequence[PathNode]


@dataclass(slots=True)
class _Folder:
    leases: list[LeaseView] = field(default_factory=list)
    inner: dict[str, _Folder] = field(default_factory=dict)


def path_tree(rows: Iterable[LeaseView]) -> list[PathNode]:
    """The patterns as a tree, folders in the order of their names."""
    root = _Folder()
    for row in rows:
        at = root
        *folders, last = row.path_pattern.split("/", MOST_DEPTH)
        for folder in (*folders, last) if last else folders:
            at = at.inner.setdefault(folder, _Folder())
        at.leases.append(row)
    return _nodes(root)


def _nodes(folder: _Folder) -> list[PathNode]:
    nodes = []
    for name, inner in sorted(folder.inner.items()):
        label, at = name, inner
        while not at.leases and len(at.inner) == 1:
            ((more, at),) = at.inner.items()
            label = f"{label}/{more}"
        nodes.append(PathNode(label=label, leases=at.leases, nodes=_nodes(at)))
    return nodes
