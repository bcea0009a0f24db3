"""Keys of leases: what the few that a pattern can overlap are found by, among ten thousand.

Two keys stand beside each lease of files. Its `anchor` is the folder that all of its pattern lies in
or is: patterns overlap only when one anchor is the other or a folder above. Its `tail` is what every
file name that the pattern matches ends in. Both may fall short (an anchor too high, a tail too short
or empty), which costs a comparison and no more; both are in small ASCII letters and stop at any other,
so that they hold whatever a repository thinks of letter case.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.leases import LeaseKeys
from mcp_agent_mail.domain.patterns.charsets import fold
from mcp_agent_mail.domain.patterns.pattern import Pattern, anchor

TAIL_LENGTH = 16
_SPECIAL = frozenset("*?[]\\")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexProbe:
    """Which leases a pattern can overlap: those at an anchor of `above` whose tail is one of `tails`
    (None: whatever their tail), and all those at the anchor `at` or below it.
    """

    above: tuple[str, ...]
    at: str
    tails: frozenset[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PathProbe:
    """Where in the index a lease stands that may cover a path: at one of `anchors`; or, where everything below a folder
    is meant, below `folder`, which is empty for the root and None otherwise.
    """

    anchors: tuple[str, ...]
    folder: str | None = None


def probe_of_path(path: str) -> PathProbe:
    """Of one path from the root, taken letter by letter."""
    names = _ascii_names(path)
    return PathProbe(anchors=tuple("/".join(names[:count]) for count in range(len(names) + 1)))


def probe_below(pattern: Pattern) -> PathProbe:
    """Of all that a pattern stands for."""
    probe = probe_of(pattern)
    return PathProbe(anchors=(*probe.above, probe.at), folder=probe.at)


def keys_of(pattern: Pattern) -> LeaseKeys:
    return LeaseKeys(anchor=_anchor(pattern), tail=_tail(pattern))


def probe_of(pattern: Pattern) -> IndexProbe:
    """Where in the index a lease must stand to overlap the pattern: above its anchor, at it, or below it."""
    at = _anchor(pattern)
    names = at.split("/") if at else []
    above = tuple("/".join(names[:count]) for count in range(len(names)))
    is_one_path = pattern.is_literal and not pattern.is_folder and pattern.plain is not None
    return IndexProbe(above=above, at=at, tails=frozenset(_tails(pattern.plain or "")) if is_one_path else None)


def _anchor(pattern: Pattern) -> str:
    return "/".join(_ascii_names(anchor(pattern)))


def _ascii_names(path: str) -> list[str]:
    """The names of a path, in small letters, before the first that is not in ASCII."""
    return list(takewhile(str.isascii, fold(path).split("/")))


def _tail(pattern: Pattern) -> str:
    """Of a pattern that stands for a folder too the names below it may end in anything. One with two
    readings has folders that its anchor does not show.
    """
    if pattern.plain is not None or pattern.is_virtual or pattern.is_folder or len(pattern.folders) > 1:
        return ""
    end = fold(pattern.text.rpartition("/")[2])
    length = 0
    while length < min(len(end), TAIL_LENGTH) and end[-1 - length].isascii() and end[-1 - length] not in _SPECIAL:
        length += 1
    return end[len(end) - length :]


def _tails(path: str) -> Iterator[str]:
    """What a pattern may end in that matches this path, or one of the folders it lies in."""
    yield ""
    for name in fold(path).strip("/").split("/"):
        for length in range(1, min(len(name), TAIL_LENGTH) + 1):
            end = name[len(name) - length :]
            if not end.isascii():
                break
            yield end
