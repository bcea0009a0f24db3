"""Which of a commit's paths other agents hold: patterns against paths, read only where they come near each other."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.guard.decision import GuardedLease, HeldPath, same_agent
from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.charsets import fold
from mcp_agent_mail.domain.patterns.pattern import Pattern, covers, stored_pattern
from mcp_agent_mail.domain.patterns.syntax import UnreadablePattern

_WILDCARD = re.compile(r"[*?\[\\]")


def held_paths(
    paths: Iterable[str], agent: str | None, holdings: Iterable[GuardedLease], now: Micros, work: WorkBudget
) -> list[HeldPath]:
    """The paths covered by another agent's exclusive lease that has not expired, in the order given.

    Paths are relative to the project's root. Raises PatternsTooHard when `work` is spent.
    """
    others, own = _Index(work), _Index(work)
    for holding in holdings:
        if now < holding.expires_ts:
            if same_agent(agent, holding.agent):
                own.add(holding)
            elif holding.exclusive:
                others.add(holding)
    found = []
    for path in paths:
        over = others.first_over(path)
        if over is not None:
            found.append(HeldPath(path=path, holding=over, is_own_too=own.first_over(path) is not None))
    return found


def places_of(path: str) -> list[str]:
    """The path, the folders it lies in, and the root: wherever a pattern that covers it can begin."""
    places = ["", path]
    at = path.find("/")
    while at >= 0:
        places.append(path[:at])
        at = path.find("/", at + 1)
    return places


class Neighbourhood:
    """Where patterns must begin to cover one of some paths: a cheap look that tells most leases apart."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._exact = {place for path in paths for place in places_of(path)}
        self._folded = {fold(place) for place in self._exact}

    def has(self, pattern_text: str, *, ignore_case: bool) -> bool:
        start = literal_start(pattern_text)
        return fold(start) in self._folded if ignore_case else start in self._exact


def literal_start(pattern_text: str) -> str:
    """The folders (or the whole path) that a stored pattern begins with before its first wildcard.

    Everything the pattern covers is that, or lies below it: reading the text is ten times as cheap as
    reading the pattern, and most patterns are about other folders.
    """
    text = pattern_text.strip("/")
    wildcard = _WILDCARD.search(text)
    return text if wildcard is None else text[: max(text.rfind("/", 0, wildcard.start()), 0)]


def literal_end(pattern_text: str) -> str:
    """Up to three letters that the last name of all that a stored pattern matches ends in; none if unsure."""
    text = pattern_text.strip("/")
    if "[" in text or "\\" in text:
        return ""
    last = max(text.rfind("*"), text.rfind("?"))
    return "" if last < 0 else text[max(last, text.rfind("/")) + 1 :][-_END_LENGTH:]


_END_LENGTH = 3

_Places = dict[str, dict[str, list[GuardedLease]]]
"""Leases by where their patterns begin, then by how they end."""


class _Index:
    """Leases by where they begin and end; a pattern is read once, when a path comes near it."""

    def __init__(self, work: WorkBudget) -> None:
        self._work = work
        self._exact: _Places = {}
        self._folded: _Places = {}
        self._read: dict[int, Pattern | None] = {}

    def add(self, holding: GuardedLease) -> None:
        start, end = literal_start(holding.path_pattern), literal_end(holding.path_pattern)
        if holding.ignore_case:
            self._folded.setdefault(fold(start), {}).setdefault(fold(end), []).append(holding)
        else:
            self._exact.setdefault(start, {}).setdefault(end, []).append(holding)

    def first_over(self, path: str) -> GuardedLease | None:
        """The oldest lease that covers `path`."""
        near = [*_near(self._exact, path), *_near(self._folded, fold(path) if self._folded else "")]
        covering = [holding for holding in near if self._covers(holding, path)]
        return min(covering, key=lambda holding: holding.id, default=None)

    def _covers(self, holding: GuardedLease, path: str) -> bool:
        if holding.id not in self._read:
            self._work.spend(_READING_STEPS)
            self._read[holding.id] = _pattern_of(holding)
        pattern = self._read[holding.id]
        return pattern is not None and covers(pattern, path, self._work)


_READING_STEPS = 40
"""What reading a pattern costs, against a step of matching."""


def _pattern_of(holding: GuardedLease) -> Pattern | None:
    try:
        return stored_pattern(holding.path_pattern, is_folder=holding.is_folder, ignore_case=holding.ignore_case)
    except UnreadablePattern:
        # No grant makes one; a snapshot that somebody edited must not stop every commit.
        return None


def _near(leases: _Places, path: str) -> list[GuardedLease]:
    """Every lease that can cover `path`: a pattern covers what it matches, and all below."""
    if not leases:
        return []
    places = places_of(path)
    names = {place[place.rfind("/") + 1 :] for place in places}
    ends = {name[-length:] if length else "" for name in names for length in range(_END_LENGTH + 1)}
    return [holding for place in places if place in leases for end in ends for holding in leases[place].get(end, ())]
