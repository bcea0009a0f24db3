"""Sets of characters, as sorted intervals over all of Unicode: what `?` and `[...]` stand for.

A bracket is read as Git's `wildmatch.c` reads it. No set holds `/`: no wildcard but `**` crosses folders.
With letter case ignored plain characters are compared folded, and a set holds all cases of its characters.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache

from mcp_agent_mail.core.lazy.pattern import lazy_pattern

CharSet = tuple[tuple[int, int], ...]
Atom = str | CharSet
"""One character of a name: itself, or the set it must be in."""

_LAST = 0x10FFFF
_SLASH = ord("/")
ANY: CharSet = ((1, _SLASH - 1), (_SLASH + 1, _LAST))

# The named classes are ASCII's, as in Git.
CLASSES: dict[str, CharSet] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((1, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}

# The parts of a bracket, each taken once (atomic): a second way to read it would not be Git's.
_CLASS = rf"\[:(?:{'|'.join(CLASSES)}):\]"
_ONE = r"(?!\[:[^\]]*:\])(?:\\.|[^\\])"
_ITEM = rf"(?>{_CLASS}|{_ONE}-(?:\\.|[^\]\\])|{_ONE})"
BRACKET = rf"\[(?>[!^]?){_ITEM}(?>(?:(?!\]){_ITEM})*)\]"
"""A whole bracket, as the source of a regular expression. `[]a]` and `[!]a]` hold a `]`."""

_PARTS = lazy_pattern(
    rf"\[:(?P<name>{'|'.join(CLASSES)}):\]"
    rf"|(?P<low>{_ONE})-(?P<high>\\.|[^\]\\])"
    rf"|(?P<one>{_ONE})",
    re.DOTALL,
)

# Where Unicode has characters with a lower-case form of one character; a test compares with all of Unicode.
_CASED = (
    (0x41, 0x5B),
    (0xC0, 0x600),
    (0x10A0, 0x1400),
    (0x1C80, 0x2200),
    (0x24B0, 0x24F0),
    (0x2C00, 0x2E00),
    (0xA640, 0xAC00),
    (0xFF20, 0xFF60),
    (0x10400, 0x10600),
    (0x10C80, 0x10D80),
    (0x118A0, 0x118E0),
    (0x16E40, 0x16EC0),
    (0x1E900, 0x1E944),
)


def fold(text: str) -> str:
    """`text` in the folded alphabet: character by character, so that lengths stay."""
    return text.lower() if text.isascii() else "".join(map(_fold_one, text))


def _fold_one(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


@lru_cache(maxsize=1)
def _cases() -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Every character that folding changes, with what it becomes; and the same the other way round. Both sorted."""
    folded = [(code, ord(_fold_one(chr(code)))) for first, end in _CASED for code in range(first, end)]
    changed = [(upper, lower) for upper, lower in folded if upper != lower]
    return changed, sorted((lower, upper) for upper, lower in changed)


def merged(intervals: Iterable[tuple[int, int]]) -> CharSet:
    """The intervals as one set: sorted, disjoint, none empty."""
    result: list[tuple[int, int]] = []
    for low, high in sorted(pair for pair in intervals if pair[0] <= pair[1]):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def shared(a: CharSet, b: CharSet) -> CharSet:
    """The characters in both, in one walk along both."""
    result: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low <= high:
            result.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(result)


def without(charset: CharSet, taken: CharSet) -> CharSet:
    """The characters of `charset` that are not in `taken`."""
    result: list[tuple[int, int]] = []
    for first, high in charset:
        low = first
        for start, end in taken:
            if start <= high and end >= low:
                result.append((low, start - 1))
                low = end + 1
        result.append((low, high))
    return merged(result)


def _closed(charset: CharSet) -> CharSet:
    """The set with every other case of its characters.

    Such sets stay so when they are negated and intersected: where two have a character in common, they have
    its folded form in common.
    """
    changed, back = _cases()
    lower = [(after, after) for low, high in charset for _, after in _between(changed, low, high)]
    either = merged((*charset, *lower))
    upper = [(before, before) for low, high in either for _, before in _between(back, low, high)]
    return merged((*either, *upper))


def _between(pairs: list[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    return pairs[bisect_left(pairs, (low, 0)) : bisect_left(pairs, (high + 1, 0))]


def read_bracket(bracket: str, *, ignore_case: bool) -> Atom:
    """The set that one readable bracket stands for; may be empty, and is a character where it holds just one."""
    negated = bracket[1] in "!^"
    intervals: list[tuple[int, int]] = []
    for part in _PARTS.finditer(bracket[2 if negated else 1 : -1]):
        if name := part["name"]:
            intervals += CLASSES[name]
        else:
            first, last = (part["one"], part["one"]) if part["one"] else (part["low"], part["high"])
            intervals.append((ord(first[-1]), ord(last[-1])))
    charset = merged(intervals)
    if ignore_case:
        charset = _closed(charset)
    charset = without(ANY, charset) if negated else shared(ANY, charset)
    return _as_character(charset, ignore_case=ignore_case) or charset


def _as_character(charset: CharSet, *, ignore_case: bool) -> str:
    """The one character of the set, folded where case is ignored; empty where there are others."""
    few = [chr(code) for low, high in charset for code in range(low, min(high, low + 4) + 1)]
    kinds = {fold(character) if ignore_case else character for character in few}
    return kinds.pop() if len(kinds) == 1 else ""


def holds(atom: Atom, character: str) -> bool:
    """Whether the character is the atom or in its set. Where letter case is ignored, both were folded before."""
    if isinstance(atom, str):
        return atom == character
    code = ord(character)
    return any(low <= code <= high for low, high in atom)


def atoms_meet(a: Atom, b: Atom) -> bool:
    """Whether one character fits both."""
    if isinstance(a, str):
        return holds(b, a)
    if isinstance(b, str):
        return holds(a, b)
    return bool(shared(a, b))


def less_dot(atom: Atom) -> CharSet:
    """The atom without the character `.`; nothing where it was only that."""
    if isinstance(atom, str):
        return () if atom == "." else ((ord(atom), ord(atom)),)
    return without(atom, ((46, 46),))
