"""Is a lease abandoned? Judged from evidence that others gathered; in the words of the contract.

A lease is stale when its holder made no call for a while and neither mail nor files nor commits tell of
work within the time of grace. What could not be found out in time never counts as idleness.
"""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass

AHEAD_S = 60
"""A time so far ahead of now is taken for now: two clocks differ, or one was set right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """When something was last seen: None is never. `is_known` is False when the search did not come to its end."""

    last_ts: Micros | None = None
    is_known: bool = True


NEVER = Sighting()
UNKNOWN = Sighting(is_known=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceActivity:
    """What the workspace tells of one pattern. `is_matched` is False when no file there fits it."""

    filesystem: Sighting
    git: Sighting
    is_matched: bool


NO_WORKSPACE = WorkspaceActivity(filesystem=NEVER, git=NEVER, is_matched=False)
"""A name that stands for no file, or a workspace that is not on this disk."""

NOT_LOOKED = WorkspaceActivity(filesystem=UNKNOWN, git=UNKNOWN, is_matched=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything a judgement rests on. `agent_ts`: the holder's last call, `mail_ts`: the last mail it sent or read.

    `watched_since` is when the server began to hear calls: nobody can be idle while there is nobody to call.
    """

    agent_ts: Micros
    watched_since: Micros
    mail_ts: Micros | None
    workspace: WorkspaceActivity


@dataclass(frozen=True, slots=True, kw_only=True)
class StalenessRules:
    inactivity_s: int
    grace_s: int


class Missing(StrEnum):
    """What keeps a lease from being stale."""

    AGENT_ACTIVE = "agent_inactive"
    MAIL_RECENT = "no_recent_mail_activity"
    FILES_RECENT = "no_recent_filesystem_activity"
    FILES_UNKNOWN = "filesystem_activity_unknown"
    GIT_RECENT = "no_recent_git_activity"
    GIT_UNKNOWN = "git_activity_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """`reasons` say what was found; `missing` what would still have to be so, empty when the lease is stale."""

    reasons: tuple[str, ...]
    missing: tuple[Missing, ...]

    @property
    def is_stale(self) -> bool:
        return not self.missing


def is_agent_idle(agent_ts: Micros, watched_since: Micros, rules: StalenessRules, now: Micros) -> bool:
    return not any(_is_within(ts, rules.inactivity_s, now) for ts in (agent_ts, watched_since))


def is_to_come(ts: Micros, now: Micros) -> bool:
    """Later than now by more than clocks differ: written by a clock that was ahead, it says nothing."""
    return ts > now + AHEAD_S * SECOND


def judge(evidence: Evidence, rules: StalenessRules, now: Micros) -> Judgement:
    """Pure. A time a little after `now` counts as recent, a later one (a clock that was set back) as none."""
    reasons: list[str] = []
    missing: list[Missing] = []

    def note(recent: bool, yes: str, no: str, lacks: Missing) -> None:
        reasons.append(yes if recent else no)
        if recent:
            missing.append(lacks)

    idle = is_agent_idle(evidence.agent_ts, evidence.watched_since, rules, now)
    note(not idle, "agent_recently_active", f"agent_inactive>{rules.inactivity_s}s", Missing.AGENT_ACTIVE)
    mail = _is_recent(evidence.mail_ts, rules, now)
    note(mail, "mail_activity_recent", f"no_recent_mail_activity>{rules.grace_s}s", Missing.MAIL_RECENT)
    workspace = evidence.workspace
    if not workspace.is_matched:
        reasons.append("path_pattern_unmatched")
    seen = (
        (workspace.filesystem, "filesystem", Missing.FILES_RECENT, Missing.FILES_UNKNOWN),
        (workspace.git, "git", Missing.GIT_RECENT, Missing.GIT_UNKNOWN),
    )
    for sighting, word, lacks, unknown in seen:
        recent = _is_recent(sighting.last_ts, rules, now)
        if recent or (sighting.is_known and workspace.is_matched):
            note(recent, f"{word}_activity_recent", f"no_recent_{word}_activity>{rules.grace_s}s", lacks)
        elif not sighting.is_known:
            missing.append(unknown)
    return Judgement(reasons=tuple(reasons), missing=tuple(missing))


def stale_from(evidence: Evidence, rules: StalenessRules, now: Micros) -> Micros | None:
    """The first whole second at which the lease is stale if nothing happens until then; None where something could not
    be found out, so that no time is known.
    """
    workspace = evidence.workspace
    sightings = (workspace.filesystem, workspace.git)
    if any(not one.is_known and not _is_recent(one.last_ts, rules, now) for one in sightings):
        return None
    silent_for = [(ts, rules.inactivity_s) for ts in (evidence.agent_ts, evidence.watched_since)]
    silent_for += [(ts, rules.grace_s) for ts in (evidence.mail_ts, *(one.last_ts for one in sightings)) if ts]
    ends = [ts + seconds * SECOND for ts, seconds in silent_for if not is_to_come(ts, now)]
    return Micros((max([now, *ends]) // SECOND + 1) * SECOND)


def _is_recent(last_ts: Micros | None, rules: StalenessRules, now: Micros) -> bool:
    return last_ts is not None and _is_within(last_ts, rules.grace_s, now)


def _is_within(ts: Micros, seconds: int, now: Micros) -> bool:
    return now - ts <= seconds * SECOND and not is_to_come(ts, now)
