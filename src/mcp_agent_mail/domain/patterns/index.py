"""Which of many live leases overlap a pattern, without comparing it with each of them.

Two necessary conditions pick the candidates; `overlap` decides. Both are laws with property tests:

- Anchors: of two overlapping patterns one's anchor begins the other's, segment by segment.
- Last names: what overlaps does so in a path, or in a folder that one of the two names; so some last name of
  one (its plain end, for a glob) ends some last name of the other, and a pattern for a whole tree fits any.

Leases with an anchor are found by it, the others (`*.py`, `**/test_*`) by their last names.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.pattern import Pattern, anchor, last_names, overlap

Key = TypeVar("Key", bound=Hashable)

_MAX_NAMES = 32
"""A lease with more last names than this is compared with every pattern that has no anchor."""


class LeaseIndex(Generic[Key]):
    """The patterns of live leases by a key of the caller's, such as the lease's id. Not for use by two threads."""

    def __init__(self, *, ignore_case: bool = False) -> None:
        self.ignore_case = ignore_case
        self._patterns: dict[Key, Pattern] = {}
        self._virtual: dict[str, dict[Key, None]] = {}
        self._anchors: _Beginnings[Key] = _Beginnings()
        self._anchored: _LastNames[Key] = _LastNames()
        self._floating: _LastNames[Key] = _LastNames()

    def __len__(self) -> int:
        return len(self._patterns)

    def __contains__(self, key: object) -> bool:
        return key in self._patterns

    def add(self, key: Key, pattern: Pattern) -> None:
        """Take a pattern in, in place of the one that has the key already."""
        self.remove(key)
        pattern = pattern.with_case(ignore_case=self.ignore_case)
        self._patterns[key] = pattern
        if pattern.is_virtual:
            self._virtual.setdefault(pattern.text, {})[key] = None
        elif at := anchor(pattern):
            self._anchors.add(f"{at}/", key)
            self._anchored.add(pattern, key)
        else:
            self._floating.add(pattern, key)

    def remove(self, key: Key) -> None:
        """Forget the pattern of this key; one that is not there is no error."""
        pattern = self._patterns.pop(key, None)
        if pattern is None:
            return
        if pattern.is_virtual:
            same = self._virtual[pattern.text]
            del same[key]
            if not same:
                del self._virtual[pattern.text]
        elif at := anchor(pattern):
            self._anchors.remove(f"{at}/", key)
            self._anchored.remove(pattern, key)
        else:
            self._floating.remove(pattern, key)

    def overlapping(self, pattern: Pattern, budget: WorkBudget) -> Iterator[Key]:
        """The keys whose patterns overlap, each once, in no order; stopping early saves the rest of the work.

        Raises PatternsTooHard when the budget is spent.
        """
        pattern = pattern.with_case(ignore_case=self.ignore_case)
        for key in self._candidates(pattern, budget):
            budget.spend(1)
            if overlap(pattern, self._patterns[key], budget):
                yield key

    def _candidates(self, pattern: Pattern, budget: WorkBudget) -> Iterator[Key]:
        if pattern.is_virtual:
            yield from self._virtual.get(pattern.text, ())
        elif at := anchor(pattern):
            yield from self._anchors.related(f"{at}/", _folder_ends(at), budget)
            yield from self._floating.related(pattern, budget)
        else:
            yield from self._anchored.related(pattern, budget)
            yield from self._floating.related(pattern, budget)


class _Beginnings(Generic[Key]):
    """Words with keys, found by what they begin with and by what begins with them."""

    def __init__(self) -> None:
        self._keys: dict[str, dict[Key, None]] = {}
        self._ordered: list[str] = []
        self._lengths: dict[int, int] = {}

    def add(self, word: str, key: Key) -> None:
        keys = self._keys.get(word)
        if keys is None:
            keys = self._keys[word] = {}
            insort(self._ordered, word)
            self._lengths[len(word)] = self._lengths.get(len(word), 0) + 1
        keys[key] = None

    def remove(self, word: str, key: Key) -> None:
        keys = self._keys[word]
        del keys[key]
        if not keys:
            del self._keys[word]
            del self._ordered[bisect_left(self._ordered, word)]
            self._lengths[len(word)] -= 1
            if not self._lengths[len(word)]:
                del self._lengths[len(word)]

    def related(self, word: str, cuts: Iterable[int], budget: WorkBudget) -> Iterator[Key]:
        """The keys of the words that `word` begins with, cut at these lengths, and of those that begin with it."""
        yield from self.shorter(word, cuts, budget)
        yield from self.longer(word)

    def shorter(self, word: str, cuts: Iterable[int], budget: WorkBudget) -> Iterator[Key]:
        for cut in cuts:
            budget.spend(1)
            if keys := self._keys.get(word[:cut]):
                yield from keys

    def longer(self, word: str) -> Iterator[Key]:
        """Of every word that begins with `word`, itself too."""
        at = bisect_left(self._ordered, word)
        while at < len(self._ordered) and self._ordered[at].startswith(word):
            yield from self._keys[self._ordered[at]]
            at += 1

    def lengths_below(self, length: int) -> list[int]:
        return [known for known in self._lengths if known < length]


class _LastNames(Generic[Key]):
    """Patterns by their last names, written backwards, so that an end is a beginning."""

    def __init__(self) -> None:
        self._words: _Beginnings[Key] = _Beginnings()
        self._trees: dict[Key, None] = {}
        self._all: dict[Key, None] = {}

    def add(self, pattern: Pattern, key: Key) -> None:
        self._all[key] = None
        words = _backwards(pattern)
        if words is None:
            self._trees[key] = None
            return
        for word in words:
            self._words.add(word, key)

    def remove(self, pattern: Pattern, key: Key) -> None:
        del self._all[key]
        words = _backwards(pattern)
        if words is None:
            del self._trees[key]
            return
        for word in words:
            self._words.remove(word, key)

    def related(self, pattern: Pattern, budget: WorkBudget) -> Iterator[Key]:
        """The keys whose last names may be the pattern's, each once."""
        budget.spend(1 + len(pattern.text) // 64)
        words = _backwards(pattern)
        if words is None:
            yield from self._all
            return
        yield from self._trees
        found: set[Key] = set()
        for word, is_open in words.items():
            at_word: Iterator[Key] = self._words.shorter(word, self._words.lengths_below(len(word)), budget)
            yield from _unseen(at_word, found)
            longer = self._words.longer(word) if is_open else self._words.shorter(word, (len(word),), budget)
            yield from _unseen(longer, found)


def _unseen(keys: Iterator[Key], found: set[Key]) -> Iterator[Key]:
    for key in keys:
        if key not in found:
            found.add(key)
            yield key


def _backwards(pattern: Pattern) -> dict[str, bool] | None:
    """The last names backwards, each with whether it is only the end of one; None where it may be any name."""
    names = last_names(pattern)
    if names is None or len(names) > _MAX_NAMES:
        return None
    return {name[::-1]: is_open for name, is_open in names.items()}


def _folder_ends(path: str) -> Iterator[int]:
    """The lengths of `a/`, `a/b/` in `a/b/c`."""
    at = path.find("/")
    while at >= 0:
        yield at + 1
        at = path.find("/", at + 1)
