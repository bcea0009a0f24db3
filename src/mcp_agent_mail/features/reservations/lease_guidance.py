"""Why a path that is named holds nothing, though its agent holds something: a wider lease of its covers it, or the text
is several paths. Found inside a unit of work, so within a bound.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from mcp_agent_mail.core.errors import listed
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.likeness import most_like
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.path_expansion import listed_paths
from mcp_agent_mail.domain.patterns.pattern import anchor, covers, stored_pattern

MAX_STEPS = 10_000
"""Of one call: 3 ms."""
_STEPS_TO_READ = 50
_NEAR_AMONG = 100
_LONGEST = 200
"""Patterns that are compared by likeness, and their characters: comparing takes 2 ms then."""
_COMPARED_TEXTS = 5
_SHOWN = 3
_ALL = frozenset(("all", "*", "**", "everything", "."))
_WILDCARD = lazy_pattern(r"[*?\[\\]")


class LeaseGuidance:
    """Of one call, over the agent's `live` leases. `named` are the patterns of the call, and `instead` is what to do
    about a path that a wider lease covers.
    """

    def __init__(self, live: Sequence[Lease], *, named: Container[str], instead: str) -> None:
        self._live = live
        self._others = [lease.path_pattern for lease in live if lease.path_pattern not in named]
        self._instead = instead
        self._work = WorkBudget(MAX_STEPS)
        self._compared = 0

    def why_unheld(self, text: str) -> str:
        """For a pattern in normal form that is nobody's own. Beyond the bound no wider lease is named."""
        try:
            self._work.spend(len(text))
            if parts := listed_paths(text, lambda _: False):
                return f"it is {len(parts)} paths in one text: give a list"
            wider = self._covering(text)
        except PatternsTooHard:
            wider = None
        if wider is None:
            return f"you hold no live reservation{self._held_instead(text)}"
        return f"your reservation {wider.id} ({wider.path_pattern}) covers it: {self._instead}"

    def _held_instead(self, text: str) -> str:
        """What was meant, or for the first texts what there is. Of many texts few are compared."""
        if not self._live:
            return ""
        if text.lower() in _ALL:
            return " of exactly this pattern: leave paths out to mean all that you hold"
        self._compared += 1
        patterns = [pattern for pattern in self._others[:_NEAR_AMONG] if len(pattern) <= _LONGEST]
        if self._compared > _COMPARED_TEXTS or not patterns:
            return " of exactly this pattern"
        if close := most_like(text, patterns):
            return f" of exactly this pattern: did you mean {listed(close)}?"
        more = len(self._others) - len(patterns[:_SHOWN])
        told = [*patterns[:_SHOWN], *([f"{more} more"] if more else [])]
        return f" of exactly this pattern, but of {listed(told, 'and')}"

    def _covering(self, text: str) -> Lease | None:
        return next((lease for lease in self._live if self._covers(lease, text)), None)

    def _covers(self, lease: Lease, text: str) -> bool:
        """All of it: of a pattern with wildcards, the folder that it lies in."""
        self._work.spend(1)
        begin = _WILDCARD.split(lease.path_pattern, maxsplit=1)[0].lstrip("/")
        if not lease.ignore_case and not f"{text}/".startswith(begin):
            return False
        self._work.spend(_STEPS_TO_READ)
        wider = stored_pattern(lease.path_pattern, is_folder=lease.is_folder, ignore_case=lease.ignore_case)
        path = anchor(stored_pattern(text, ignore_case=lease.ignore_case))
        return covers(wider, path, self._work)
