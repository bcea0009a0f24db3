"""How long mail is kept in the live store, and what stays of it."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from mcp_agent_mail.core.clock import SECOND, Micros, to_datetime
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.projects import Project

_DAY = 24 * 3_600 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class OldMessage:
    """A message older than the cutoff. `may_go`: everyone has read it, and acknowledged it where that was asked for;
    nothing of it is held, and Git has it. `copies` and `body_bytes` are what a purge of it costs.
    """

    id: MessageId
    created_ts: Micros
    may_go: bool
    copies: int
    body_bytes: int


def cutoff_of(now: Micros, max_age_days: int) -> Micros:
    """The time up to which mail is old; never before the epoch."""
    return Micros(max(0, now - max_age_days * _DAY))


def is_ignored(project: Project, patterns: Sequence[str]) -> bool:
    """Does one of the globs match its slug or its key, as a whole and letter by letter?"""
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in (project.slug, project.human_key))


def tombstone(now: Micros) -> str:
    """The body of a message that was purged."""
    return (
        f"*Purged on {to_datetime(now):%Y-%m-%d}: old, and read by all. The Git history of the archive has the text.*"
    )
